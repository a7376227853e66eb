//! Logs with operations: messages begin where operations begin, and each message has its recorded
//! operation.

mod random;

use message_trace::table::operations::OperationReader;
use protocols::operations::OperationEntry;
use protocols::{LogPosition, MessageRole, ProtocolOperation};
use socket_log::encode::Direction::{self, Receive, Send};
use socket_log::encode::SnippetHeader;
use socket_log::layout;
use socket_log::write::LogWriter;

use crate::common::{Outcome, System, accept, address, bind, connect, datagram, log};

const CLIENT: &str = "10.0.0.1:40000";
const SERVER: &str = "10.0.0.2:80";
const MS: u64 = 1_000_000;

/// An operation in a log: direction, ticks and offset of the beginning of its message, and its
/// name. A name that begins with a digit is a status, and the message a response. The number after
/// a `#` is the call's.
pub(crate) type ScenarioOperation<'a> = (Direction, u64, u32, &'a str);

fn entry(flow: u32, (direction, ticks, at, text): &ScenarioOperation) -> OperationEntry {
    let (name, call) = text
        .split_once('#')
        .map_or((*text, None), |(name, call)| (name, Some(call.parse().unwrap())));
    let is_status = name.starts_with(|first: char| first.is_ascii_digit());
    let [name, status] = if is_status { ["", name] } else { [name, ""] }.map(str::to_owned);
    let operation = ProtocolOperation {
        place: LogPosition { ticks: *ticks, at: *at },
        role: if is_status { MessageRole::Response } else { MessageRole::Request },
        protocol: protocols::protocol_name("http").unwrap(),
        name,
        detail: String::new(),
        is_error: status == "500",
        status,
        call,
        trace: None,
    };
    OperationEntry { flow, direction: *direction, operation }
}

impl System {
    /// Adds the log of a process of the host `one`, with the operations `recorded` of its flow 1.
    pub(crate) fn with_operations(
        &self,
        name: &str,
        log: &LogWriter,
        recorded: &[ScenarioOperation],
    ) -> &System {
        self.with_operations_of(name, log, 1, recorded)
    }

    fn with_operations_of(
        &self,
        name: &str,
        log: &LogWriter,
        flow: u32,
        recorded: &[ScenarioOperation],
    ) -> &System {
        self.add("one", name, log);
        let entries: Vec<OperationEntry> =
            recorded.iter().map(|operation| entry(flow, operation)).collect();
        if !entries.is_empty() {
            protocols::operations::write_operations(
                &socket_log::SocketLog::open(self.path("one", name)).unwrap(),
                &entries,
            )
            .unwrap();
        }
        self
    }

    /// Operations of messages: `row name status`, with `!` after an error and `#` before the number
    /// of a call.
    fn operations(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut reader = OperationReader::open(self.data().operations_path()).unwrap().unwrap();
        let text = |text: &str| if text.is_empty() { String::new() } else { format!(" {text}") };
        while reader
            .read_batch(|row| {
                let call = row.call.map_or(String::new(), |call| format!("#{call}"));
                let error = if row.is_error { "!" } else { "" };
                let (name, status) = (text(row.name), text(row.status));
                lines.push(format!("{}{name}{status}{error}{call}", row.message));
            })
            .unwrap()
        {}
        lines
    }
}

/// A client and a server with a connection between them.
pub(crate) fn ends() -> (LogWriter, LogWriter) {
    let (mut client, mut server) = (log(10, "client"), log(20, "server"));
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    accept(&mut server, 200, 1, 12, SERVER, CLIENT);
    (client, server)
}

/// Reconciles two logs with these operations.
fn reconcile_operations(
    (client, server): &(LogWriter, LogWriter),
    by_client: &[ScenarioOperation],
    by_server: &[ScenarioOperation],
) -> (Outcome, Vec<String>) {
    let system = System::new();
    let outcome = system
        .with_operations("a", client, by_client)
        .with_operations("b", server, by_server)
        .reconcile();
    (outcome, system.operations())
}

#[test]
fn requests_in_one_transfer_are_messages_whichever_end_records_them() {
    let mut ends = ends();
    ends.0.send(1_000, 1, 300).receive(2_000, 1, 50).receive(2_100, 1, 70);
    ends.1.receive(1_100, 1, 120).receive(1_200, 1, 180).send(1_500, 1, 120);
    // Of 100 bytes each; the answers of 60, the first read by two calls.
    let sent = [
        (Send, 1_000, 0, "GET /a#1"),
        (Send, 1_000, 100, "GET /b#2"),
        (Send, 1_000, 200, "GET /c#3"),
    ];
    let asked = [
        (Receive, 1_100, 0, "GET /a#1"),
        (Receive, 1_100, 100, "GET /b#2"),
        (Receive, 1_200, 80, "GET /c#3"),
    ];
    let answered = [(Send, 1_500, 0, "200#1"), (Send, 1_500, 60, "500#2")];
    let read = [(Receive, 2_000, 0, "200#1"), (Receive, 2_100, 10, "500#2")];
    let lines = [
        "client => server 100 1000 1100",
        "client => server 100 1000 1100..1200",
        "client => server 100 1000 1200",
        "server -> client 60 1500 2000..2100",
        "server -> client 60 1500 2100",
    ];
    let names = ["0 GET /a#1", "1 GET /b#2", "2 GET /c#3", "3 200#1", "4 500!#2"];
    let both = [[sent.as_slice(), &read].concat(), [asked.as_slice(), &answered].concat()];
    let [client, server] = [both[0].as_slice(), both[1].as_slice()];
    for (by_client, by_server) in [(client, server), (client, &[][..]), (&[][..], server)] {
        let (outcome, operations) = reconcile_operations(&ends, by_client, by_server);
        assert_eq!(outcome.lines(), lines);
        assert_eq!(operations, names);
        assert_eq!((outcome.counts.operations, outcome.counts.both_ends), (5, 5));
        assert!(outcome.counts.operations_without_message.is_empty());
        assert_eq!(outcome.counts.stream_bytes.matched, 420);
    }
}

#[test]
fn a_message_continues_until_the_next_begins() {
    let (mut client, mut server) = ends();
    // A head, an interjection of the other side, and a body half a second later.
    client.send(1_000, 1, 80).receive(2_000, 1, 25);
    client.send(500 * MS, 1, 400).send(700 * MS, 1, 100).send(701 * MS, 1, 90);
    server.receive(1_100, 1, 80).send(1_200, 1, 25).receive(500 * MS + 50, 1, 400);
    server.receive(700 * MS + 50, 1, 100).receive(701 * MS + 50, 1, 90);
    server.send(702 * MS, 1, 60);
    client.receive(702 * MS + 50, 1, 60);
    // One send has both answers.
    let asked = [
        (Send, 1_000, 0, "POST /up"),
        (Send, 701 * MS, 0, "GET /"),
        (Receive, 702 * MS + 50, 0, "200"),
        (Receive, 702 * MS + 50, 30, "200"),
    ];
    let answered = [
        (Receive, 1_100, 0, "POST /up"),
        (Receive, 701 * MS + 50, 0, "GET /"),
        (Send, 702 * MS, 0, "200"),
        (Send, 702 * MS, 30, "200"),
    ];
    let (outcome, operations) = reconcile_operations(&(client, server), &asked, &answered);
    let expected = [
        "client => server 580/3 1000..700000000 1100..700000050",
        "server -> client 25 1200 2000",
        "client => server 90 701000000 701000050",
        "server -> client 60 702000000 702000050",
    ];
    assert_eq!(outcome.lines(), expected);
    assert_eq!(operations, ["0 POST /up", "2 GET /", "3 200", "3 200"]);
}

#[test]
fn after_the_last_operation_turns_separate_messages() {
    // A WebSocket after its upgrade: its frames have no operations.
    let (mut client, mut server) = ends();
    client.send(1_000, 1, 90).send(1_010, 1, 10);
    server.receive(1_100, 1, 100).send(1_200, 1, 60);
    client.receive(1_300, 1, 60);
    for frame in 0..3 {
        let at = MS * (frame + 1);
        client.send(at, 1, 7);
        server.receive(at + 100, 1, 7).send(at + 200, 1, 9);
        client.receive(at + 300, 1, 9);
    }
    let asked = [(Send, 1_000, 0, "GET /socket")];
    let (outcome, operations) =
        reconcile_operations(&(client, server), &asked, &[(Send, 1_200, 0, "101")]);
    let lines = outcome.lines();
    assert_eq!(lines.len(), 8);
    assert_eq!(
        lines[..3],
        [
            "client => server 100/2 1000..1010 1100",
            "server -> client 60 1200 1300",
            "client => server 7 1000000 1000100"
        ]
    );
    assert_eq!(operations, ["0 GET /socket", "1 101"]);
}

#[test]
fn streams_of_one_connection_are_messages_each() {
    // Three calls on one connection: heads of two in one transfer, bodies between others, and
    // answers in another order.
    let (mut client, mut server) = ends();
    client.send(1_000, 1, 24 + 40 + 30).send(1_010, 1, 200).send(1_020, 1, 50 + 100);
    server.receive(1_100, 1, 444).send(1_200, 1, 35 + 500).send(1_210, 1, 20).send(
        1_220,
        1,
        35 + 35,
    );
    client.receive(1_300, 1, 300).receive(1_310, 1, 325);
    let asked =
        [(Send, 1_000, 24, "Get#1"), (Send, 1_000, 64, "List#3"), (Send, 1_020, 0, "Put#5")];
    let answered =
        [(Send, 1_200, 0, "200#3"), (Send, 1_220, 0, "200#5"), (Send, 1_220, 35, "200#1")];
    let (outcome, operations) = reconcile_operations(&(client, server), &asked, &answered);
    let expected = [
        // The preface of the connection.
        "client => server 24 1000 1100",
        "client => server 40 1000 1100",
        "client => server 230/2 1000..1010 1100",
        "client => server 150 1020 1100",
        "server -> client 555/2 1200..1210 1300..1310",
        "server -> client 35 1220 1310",
        "server -> client 35 1220 1310",
    ];
    assert_eq!(outcome.lines(), expected);
    let names = ["1 Get#1", "2 List#3", "3 Put#5", "4 200#3", "5 200#5", "6 200#1"];
    assert_eq!(operations, names);
    assert_eq!(outcome.counts.multiplexed, 0);
}

#[test]
fn one_end_alone_is_divided_by_its_own_operations() {
    let mut client = log(10, "client");
    connect(&mut client, 100, 1, 11, CLIENT, SERVER);
    client.send(1_000, 1, 200).receive(2_000, 1, 100).receive(2_050, 1, 10);
    let asked = [(Send, 1_000, 0, "a#1"), (Send, 1_000, 150, "b#2")];
    let answered = [(Receive, 2_000, 0, "200#1"), (Receive, 2_000, 90, "404#2")];
    let system = System::new();
    let all = [asked.as_slice(), &answered].concat();
    let outcome = system.with_operations("a", &client, &all).reconcile();
    let expected = [
        "client => 10.0.0.2:80 150 1000 -",
        "client => 10.0.0.2:80 50 1000 -",
        "10.0.0.2:80 -> client 90 - 2000",
        "10.0.0.2:80 -> client 20/2 - 2000..2050",
    ];
    assert_eq!(outcome.lines(), expected);
    assert_eq!(system.operations(), ["0 a#1", "1 b#2", "2 200#1", "3 404#2"]);
}

#[test]
fn each_end_fills_in_for_the_other() {
    let (mut client, mut server) = ends();
    client.send(1_000, 1, 100);
    server.receive(1_100, 1, 100);
    // The client was recorded from the middle of the connection on, and knows the call only.
    let (_, operations) = reconcile_operations(
        &(client.clone(), server.clone()),
        &[(Send, 1_000, 0, "#7")],
        &[(Receive, 1_100, 0, "Get")],
    );
    assert_eq!(operations, ["0 Get#7"]);
    let (_, operations) = reconcile_operations(
        &(client, server),
        &[(Send, 1_000, 0, "a#7")],
        &[(Receive, 1_100, 0, "b#8")],
    );
    assert_eq!(operations, ["0 a#7"], "the sender's log comes first");
}

#[test]
fn operations_without_a_message_are_counted_by_cause() {
    let (mut client, server) = ends();
    client.send(1_000, 1, 100);
    let system = System::new();
    // At no call, past the end of one, on no flow.
    let asked = [(Send, 999, 0, "a"), (Send, 1_000, 0, "b"), (Send, 1_000, 100, "c#3")];
    system.with_operations("a", &client, &asked).with_operations_of(
        "b",
        &server,
        9,
        &[(Send, 5, 0, "d")],
    );
    // A process that talks to itself.
    let mut alone = log(30, "alone");
    connect(&mut alone, 100, 1, 31, "10.0.0.1:41000", "10.0.0.1:90");
    accept(&mut alone, 200, 2, 32, "10.0.0.1:90", "10.0.0.1:41000");
    alone.send(1_000, 1, 100).receive(1_100, 2, 100);
    system.with_operations("c", &alone, &[(Send, 1_000, 0, "e")]);
    let outcome = system.reconcile();
    assert_eq!(system.operations(), ["0 b"]);
    let counts = &outcome.counts.operations_without_message;
    let counts: Vec<_> = counts.iter().map(|(cause, count)| (cause.as_str(), *count)).collect();
    let causes =
        [("its socket was left out", 1), ("no message begins there", 2), ("within a process", 1)];
    assert_eq!(counts, causes);
    assert_eq!(outcome.counts.operations, 1);
}

#[test]
fn damage_is_counted_and_the_rest_is_used() {
    let (mut client, server) = ends();
    client.send(1_000, 1, 100).send(2_000, 1, 100);
    let system = System::new();
    system.with_operations("a", &client, &[(Send, 1_000, 0, "a"), (Send, 2_000, 0, "b")]);
    system.add("one", "b", &server);
    let path = system.path("one", "a").with_extension(protocols::operations::EXTENSION);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    let outcome = system.reconcile();
    assert_eq!(system.operations(), ["0 a"]);
    let [damaged] = outcome.counts.damaged.as_slice() else { panic!("one file") };
    assert!(damaged.file.ends_with("a.operations") && damaged.places == 1, "{damaged:?}");
    // A file of another format has no operations.
    std::fs::write(&path, b"nothing").unwrap();
    let outcome = system.reconcile();
    assert_eq!((outcome.counts.damaged.len(), outcome.counts.operations), (1, 0));
    assert!(!system.data().operations_path().exists(), "the former table is gone");
}

#[test]
fn snippets_and_the_operation_file_give_the_same_operations() {
    let (mut client, mut server) = ends();
    let requests = [
        "GET /user/1234/cart?x=y HTTP/1.1\r\nhost: a\r\n\r\n",
        "DELETE /user/99 HTTP/1.1\r\nhost: a\r\n\r\n",
    ];
    let all = requests.concat();
    client.send(1_000, 1, all.len() as u64);
    client.snippet(&head(Send, 1_000), all.as_bytes());
    server.receive(1_100, 1, all.len() as u64).send(1_200, 1, 38);
    client.receive(1_300, 1, 38);
    client.snippet(&head(Receive, 1_300), b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n");
    let system = System::new();
    let outcome = system.add("one", "a", &client).add("one", "b", &server).reconcile();
    // Without ids, a pipeline is one message.
    let expected = [
        format!("client => server {} 1000 1100", all.len()),
        "server -> client 38 1200 1300".to_owned(),
    ];
    assert_eq!(outcome.lines(), expected);
    let names = ["0 GET /user/{}/cart", "0 DELETE /user/{}", "1 503!"];
    assert_eq!(system.operations(), names);
    // The remainder without the snippets.
    protocols::operations::replace_snippets(system.path("one", "a"), |_| false).unwrap();
    let outcome = system.reconcile();
    assert_eq!(
        (outcome.lines(), system.operations()),
        (expected.to_vec(), names.map(str::to_owned).to_vec())
    );
}

/// The snippet of a call at `ticks`.
fn head(direction: Direction, ticks: u64) -> SnippetHeader {
    SnippetHeader {
        direction,
        class: layout::snippet::HTTP1,
        flow: 1,
        ticks,
        offset: 0,
        length: 0,
        continues: false,
        cut: false,
        datagram: false,
        plain: false,
    }
}

#[test]
fn datagrams_have_operations_too() {
    let system = System::new();
    let (mut client, mut server) = (log(10, "client"), log(20, "named"));
    bind(&mut client, 100, 1, 11, "10.0.0.1:5000");
    bind(&mut server, 100, 1, 12, "10.0.0.2:53");
    let [here, there] = ["10.0.0.1:5000", "10.0.0.2:53"].map(address);
    // One call sends two datagrams.
    client.datagram(&datagram(Send, 1, 1_000, 7, &there));
    client.datagram(&datagram(Send, 1, 1_000, 8, &there));
    client.datagram(&datagram(Send, 1, 1_500, 9, &there));
    server.datagram(&datagram(Receive, 1, 1_100, 7, &here));
    server.datagram(&datagram(Receive, 1, 1_110, 8, &here));
    server.datagram(&datagram(Send, 1, 1_200, 6, &here));
    client.datagram(&datagram(Receive, 1, 1_300, 6, &there));
    let asked = [
        (Send, 1_000, 0, "A example#1"),
        (Send, 1_000, 0, "AAAA example#2"),
        (Receive, 1_300, 0, "0#2"),
    ];
    let served = [(Receive, 1_110, 0, "AAAA example#2"), (Send, 1_200, 0, "0#2")];
    system.with_operations("a", &client, &asked).with_operations("b", &server, &served);
    let outcome = system.reconcile();
    let expected = [
        "client => named 100 1000 1100",
        "client => named 100 1000 1110",
        "named -> client 100 1200 1300",
        "client => named 100 1500 -",
    ];
    assert_eq!(outcome.lines(), expected);
    assert_eq!(system.operations(), ["0 A example#1", "1 AAAA example#2", "2 0#2"]);
    assert!(outcome.counts.operations_without_message.is_empty());
}
