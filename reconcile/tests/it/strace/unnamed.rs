//! Connections without names, because strace was run without `-yy`: both ends are paired by the
//! order in which connections are made and accepted, and by the times of their bytes.

use std::fmt::Write;

use proptest::prelude::*;

use super::imported::{Imported, lines};

/// Output of strace for a server and its client, one line per call, 10 us apart.
struct Trace {
    text: String,
    time: i64,
    /// Number of decimals of a time.
    digits: usize,
    /// Whether names are shown, as with `-yy`.
    named: bool,
}

const SERVER: u32 = 10;
const CLIENT: u32 = 11;

impl Trace {
    fn new(named: bool) -> Trace {
        let mut trace = Trace { text: String::new(), time: 0, digits: 6, named };
        trace.call(SERVER, "socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3");
        let any = "{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"0.0.0.0\")}";
        trace.call(SERVER, &format!("bind(3, {any}, 16) = 0"));
        trace.call(SERVER, "listen(3, 9) = 0");
        let child = "child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f";
        trace.call(SERVER, &format!("clone({child}) = {CLIENT}"));
        trace
    }

    fn call(&mut self, thread: u32, call: &str) {
        self.time += 10;
        let (seconds, rest) = (1_700_000_000 + self.time / 1_000_000, self.time % 1_000_000);
        let mut time = format!("{seconds}.{rest:06}");
        time.truncate(if self.digits == 0 { 10 } else { 11 + self.digits });
        writeln!(self.text, "{thread} {time} {call} <0.000003>").unwrap();
    }

    /// Descriptor `fd` of the end of connection `number` at the client, or at the server.
    fn end(&self, number: usize, at_server: bool) -> String {
        let (client, server) = (format!("127.0.0.1:{}", 40_000 + number), "127.0.0.1:80");
        let fd = number + 4;
        match (self.named, at_server) {
            (false, _) => format!("{fd}"),
            (true, true) => format!("{fd}<TCP:[{server}->{client}]>"),
            (true, false) => format!("{fd}<TCP:[{client}->{server}]>"),
        }
    }

    fn connect(&mut self, number: usize) {
        let fd = number + 4;
        self.call(CLIENT, &format!("socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = {fd}"));
        let to = "{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}";
        self.call(CLIENT, &format!("connect({fd}, {to}, 16) = 0"));
    }

    /// The server accepts connection `number`, of the client or of another, by its port.
    fn accept(&mut self, number: usize) {
        let from = format!(
            "{{sa_family=AF_INET, sin_port=htons({}), sin_addr=inet_addr(\"127.0.0.1\")}}",
            40_000 + number
        );
        let end = self.end(number, true);
        self.call(SERVER, &format!("accept4(3, {from}, [16], 0) = {end}"));
    }

    fn ask(&mut self, number: usize, bytes: usize) {
        let [client, server] = [false, true].map(|at_server| self.end(number, at_server));
        self.call(CLIENT, &format!("sendto({client}, \"\"..., {bytes}, 0, NULL, 0) = {bytes}"));
        self.call(SERVER, &format!("recvfrom({server}, \"\"..., 1000, 0, NULL, NULL) = {bytes}"));
        self.call(SERVER, &format!("sendto({server}, \"\"..., 70, 0, NULL, 0) = 70"));
        self.call(CLIENT, &format!("recvfrom({client}, \"\"..., 1000, 0, NULL, NULL) = 70"));
    }

    /// Another client, which is not traced, sends a request on connection `number`.
    fn other_asks(&mut self, number: usize, bytes: usize) {
        let server = self.end(number, true);
        self.call(SERVER, &format!("recvfrom({server}, \"\"..., 1000, 0, NULL, NULL) = {bytes}"));
        self.call(SERVER, &format!("sendto({server}, \"\"..., 70, 0, NULL, 0) = 70"));
    }
}

/// The ports found for the client's connections, in the order in which they were made; `None` if
/// not found.
fn ports(imported: &Imported, connections: usize) -> Vec<Option<usize>> {
    let dump = imported.dump();
    let client = dump.split("# (").find(|log| log.starts_with("11,")).unwrap_or_default();
    (1..=connections)
        .map(|flow| {
            let names = format!("Endpoints {{ flow: {flow}, role: Connect, local: ");
            let line = client.lines().rfind(|line| line.contains(&names))?;
            let local = line.split(&names).nth(1)?.strip_prefix("Some(Inet(127.0.0.1:")?;
            let (port, _) = local.split_once(')')?;
            port.parse().ok()
        })
        .collect()
}

fn both_ends(imported: &Imported) -> (usize, usize) {
    let messages = imported.messages();
    (messages.len(), messages.iter().filter(|(.., both)| *both).count())
}

#[test]
fn connections_one_after_the_other_and_a_pool_have_both_ends() {
    for in_turn in [true, false] {
        let mut trace = Trace::new(false);
        if !in_turn {
            (0..20).for_each(|number| trace.connect(number));
            (0..20).for_each(|number| trace.accept(number));
        }
        for turn in 0..5 {
            for number in 0..20 {
                if in_turn && turn == 0 {
                    trace.connect(number);
                    trace.accept(number);
                }
                trace.ask(number, 100 + turn);
            }
        }
        let imported = lines(&trace.text);
        assert_eq!(both_ends(&imported), (200, 200), "{in_turn}");
        let expected: Vec<_> = (0..20).map(|number| Some(40_000 + number)).collect();
        assert_eq!(ports(&imported, 20), expected);
        assert_eq!(imported.summary.notes, Vec::<String>::new());
    }
}

/// strace saw nothing of other clients: the order does not hold, and a pairing is used only if it
/// is the only possible one.
#[test]
fn ambiguous_connections_are_left_out_and_reported() {
    let mut trace = Trace::new(false);
    for number in [0, 1] {
        trace.connect(number);
    }
    // The second is the other client's.
    for number in [0, 7, 1] {
        trace.accept(number);
    }
    // The connections are distinguished by their times: nothing can have come from an end that had
    // not sent.
    trace.ask(0, 100);
    trace.time += 5_000;
    trace.other_asks(7, 100);
    trace.time += 5_000;
    trace.ask(1, 100);
    let imported = lines(&trace.text);
    assert_eq!(ports(&imported, 2), [Some(40_000), Some(40_001)]);

    // No traced process connected to the server's port.
    let mut trace = Trace::new(false);
    trace.connect(0);
    trace.call(CLIENT, "sendto(4, \"\"..., 9, 0, NULL, 0) = 9");
    let imported = lines(&trace.text);
    assert_eq!(ports(&imported, 1), [None]);
    let notes = &imported.summary.notes;
    assert!(notes[0].starts_with("1 connections have no name"), "{notes:?}");
    assert!(notes[0].contains("run strace with -yy"), "{notes:?}");
    assert!(notes[4].starts_with("strace -f -ttt -T -yy -s 65535 -e trace=$CALLS"), "{notes:?}");
}

/// A trace of a running server without `-yy` at least shows its clients.
#[test]
fn connections_accepted_on_an_older_socket_are_recognised() {
    let mut trace = Trace::new(false);
    trace.text.clear();
    trace.accept(0);
    trace.other_asks(0, 100);
    let imported = lines(&trace.text);
    assert_eq!(imported.messages().len(), 2);
    let dump = imported.dump();
    assert!(
        dump.contains("role: Accept, local: None, peer: Some(Inet(127.0.0.1:40000))"),
        "{dump}"
    );
    assert!(imported.summary.notes[0].contains("-yy"), "{:?}", imported.summary.notes);
}

#[test]
fn times_of_whole_seconds_lose_no_message_and_are_reported() {
    for (digits, named) in [(0, true), (3, true), (0, false), (3, false)] {
        let mut trace = Trace { digits, ..Trace::new(named) };
        for number in 0..20 {
            trace.connect(number);
            trace.accept(number);
            (0..5).for_each(|turn| trace.ask(number, 100 + turn));
        }
        let imported = lines(&trace.text);
        assert_eq!(both_ends(&imported), (200, 200), "{digits} {named}");
        let notes = &imported.summary.notes;
        assert!(notes[0].contains("delays are not"), "{notes:?}");
        assert!(notes[4].starts_with("strace -f -ttt"), "{notes:?}");
    }
}

/// Events on the connections of a client, and of another that is not traced.
#[derive(Clone, Debug)]
enum Event {
    Opens { traced: bool },
    Asks { number: usize, bytes: usize },
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// For any events, a name that is found is the right one; and all are found if every client is
    /// traced.
    #[test]
    fn no_connection_gets_the_name_of_another(
        events in prop::collection::vec(
            prop_oneof![
                any::<bool>().prop_map(|traced| Event::Opens { traced }),
                (0usize..9, 100usize..102).prop_map(|(number, bytes)| Event::Asks { number, bytes }),
            ],
            1..40,
        ),
        alone: bool,
    ) {
        let mut trace = Trace::new(false);
        let (mut all, mut asked) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Opens { traced } if all.len() < 9 => {
                    let (number, traced) = (all.len(), traced || alone);
                    all.push(traced);
                    asked.push(false);
                    if traced {
                        trace.connect(number);
                    }
                    trace.accept(number);
                }
                Event::Asks { number, bytes } if number < all.len() => {
                    asked[number] = true;
                    if all[number] { trace.ask(number, bytes) } else { trace.other_asks(number, bytes) }
                }
                _ => {}
            }
        }
        let traced: Vec<usize> = (0..all.len()).filter(|number| all[*number]).collect();
        let imported = lines(&trace.text);
        let found = ports(&imported, traced.len());
        for (number, port) in traced.into_iter().zip(found) {
            prop_assert!(port.is_none_or(|port| port == 40_000 + number), "{number}: {port:?}");
            prop_assert!(!alone || !asked[number] || port.is_some(), "{number}");
        }
    }
}
