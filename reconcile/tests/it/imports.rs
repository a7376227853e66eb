//! Tables of messages and calls, from the file to the message trace.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use importers::{
    CallImporter, Error, ImportSummary, Importer, MessageImporter, Project5Importer, TimeUnit,
};
use message_trace::table::export::{TableFormat, export_table};
use message_trace::{
    DataDir, DataPath, EndPair, Endpoint, EndpointId, FlowId, Message, MessageId, MessageTrace,
    Node, NodeEnd, NodeId, NodeList, Progress, TransportProtocol,
};
use proptest::prelude::*;
use reconcile::Reconciliation;
use tempfile::TempDir;

struct Silent;

impl Progress for Silent {
    fn begin_step(&self, _: &str, _: u64) {}
    fn advance_step(&self, _: u64) {}
}

/// A data directory and files to import next to it.
struct Fixture {
    directory: TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { directory: tempfile::tempdir().unwrap() }
    }

    fn data(&self) -> DataDir {
        DataDir::new(self.directory.path().join("data"))
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn import(&self, importer: &dyn Importer, files: &[PathBuf]) -> Result<ImportSummary, Error> {
        importer.import_files(files, &self.data(), &Silent)
    }

    fn trace(&self) -> MessageTrace {
        let default = reconcile::Options::default();
        // Nothing in memory: the result must be the same.
        reconcile::reconcile(
            &self.data(),
            &reconcile::Options { memory: 0, ..default.clone() },
            &Silent,
        )
        .unwrap();
        let from_files = fs::read(self.data().messages_path()).unwrap();
        reconcile::reconcile(&self.data(), &default, &Silent).unwrap();
        assert!(
            fs::read(self.data().messages_path()).unwrap() == from_files,
            "the same with any memory"
        );
        MessageTrace::read(self.data().messages_path(), self.data().nodes_path()).unwrap()
    }

    /// Describes the messages: nodes, own times, common times, flow, direction, call.
    fn describe_messages(&self) -> Vec<String> {
        let trace = self.trace();
        let name = |id| trace.nodes.get(id).map(|node| node.command.as_str()).unwrap();
        let time = |time: Option<i64>| time.map_or("-".to_owned(), |time| time.to_string());
        let row = |(row, m): (usize, Message)| {
            format!(
                "{}>{} {},{} {},{} {},{} {}/{} {}",
                name(m.src),
                name(m.dst),
                time(m.send_first),
                time(m.send_last),
                time(m.recv_first),
                time(m.recv_last),
                time(m.send_ts),
                time(m.recv_ts),
                m.flow.number(),
                m.direction,
                trace.call_id(MessageId::from_index(row)).unwrap_or("-"),
            )
        };
        trace.messages().enumerate().map(row).collect()
    }
}

fn calls() -> CallImporter {
    CallImporter { name: None, unit: TimeUnit::Nanoseconds }
}

fn messages() -> MessageImporter {
    MessageImporter { name: None, unit: TimeUnit::Nanoseconds, nodes: None }
}

fn project5() -> Project5Importer {
    Project5Importer { name: None, unit: TimeUnit::Seconds }
}

const CALLS: &str = "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv,caller_thread,callee_thread,req_bytes,resp_bytes\n\
    7,client,web,10,20,80,90,,3,100,200\n8,web,db,30,,,70,worker,,,\n";

#[test]
fn a_call_is_two_messages_paired_by_its_id() {
    let fixture = Fixture::new();
    let summary = fixture.import(&calls(), &[fixture.file("calls.csv", CALLS)]).unwrap();
    assert_eq!((summary.read, summary.made, summary.skipped.total()), (2, 4, 0));
    assert_eq!(
        fixture.describe_messages(),
        [
            "client>web 10,10 20,20 10,20 0/0 7",
            "web>db 30,30 -,- 30,- 1/0 8",
            "db>web -,- 70,70 -,70 1/1 8",
            "web>client 80,80 90,90 80,90 0/1 7",
        ]
    );
    let trace = fixture.trace();
    let threads_and_bytes = |row| {
        let m = trace.message(MessageId::from_index(row));
        (m.src_tid, m.dst_tid, m.bytes)
    };
    assert_eq!(threads_and_bytes(0), (None, Some(3), 100));
    assert_eq!(threads_and_bytes(3), (Some(3), None, 200));
    assert_eq!(threads_and_bytes(1), (Some(-1), None, 0));
    let traced =
        |command: &str| trace.nodes.0.iter().find(|node| node.command == command).unwrap().traced;
    assert!(traced("client") && traced("web") && !traced("db"), "db read no time");
}

#[test]
fn own_times_are_the_hosts_and_common_times_stay_as_they_are() {
    let fixture = Fixture::new();
    let table = "dst, src ,send_ts,recv_last,src_host\nb,a,5,9,h\na,b,10,,h\nb,a,,30,\n";
    fixture.import(&messages(), &[fixture.file("m.csv", table)]).unwrap();
    let data = fixture.data();
    let imported = MessageTrace::read(
        data.import_named("m").messages_path(),
        data.import_named("m").nodes_path(),
    )
    .unwrap();
    let times = |row| {
        let m = imported.message(MessageId::from_index(row));
        (m.send_first, m.send_ts, m.recv_first, m.recv_last, m.recv_ts)
    };
    assert_eq!(
        times(0),
        (Some(5), Some(5), Some(9), Some(9), None),
        "recv_last is still the host's own"
    );
    assert_eq!(times(1), (Some(10), Some(10), None, None, None));
    let nodes: Vec<_> =
        imported.nodes.0.iter().map(|node| (node.host.as_str(), node.command.as_str())).collect();
    assert_eq!(nodes, [("h", "a"), ("b", "b"), ("h", "b"), ("a", "a")]);
}

#[test]
fn the_first_sender_is_the_connecting_side() {
    let fixture = Fixture::new();
    let table = "send_ts,recv_ts,src,dst\n1,2,a,b\n3,4,b,a\n5,,b,c\n,7,c,b\n8,9,a,b\n";
    fixture.import(&messages(), &[fixture.file("m.csv", table)]).unwrap();
    assert_eq!(
        fixture.describe_messages(),
        [
            "a>b 1,1 2,2 1,2 0/0 -",
            "b>a 3,3 4,4 3,4 0/1 -",
            "b>c 5,5 -,- 5,- 1/0 -",
            "c>b -,- 7,7 -,7 1/1 -",
            "a>b 8,8 9,9 8,9 0/0 -",
        ]
    );
}

#[test]
fn a_time_of_project_5_stands_for_both_ends() {
    let fixture = Fixture::new();
    let trace = "timestamp operation sender rcvr ID\n# a comment\n\
        1.000000500 RET_SENT b a id37\n1.0 CALL_SENT a b id37\n1.000001  Message\tb c\n";
    let summary = fixture.import(&project5(), &[fixture.file("p5.txt", trace)]).unwrap();
    assert_eq!((summary.read, summary.made, summary.skipped.total()), (3, 3, 0));
    assert_eq!(
        fixture.describe_messages(),
        [
            "a>b 1000000000,1000000000 1000000000,1000000000 1000000000,1000000000 0/0 id37",
            "b>a 1000000500,1000000500 1000000500,1000000500 1000000500,1000000500 0/1 id37",
            "b>c 1000001000,1000001000 1000001000,1000001000 1000001000,1000001000 1/0 -",
        ]
    );
}

#[test]
fn invalid_rows_are_skipped_with_their_place_and_the_rest_is_kept() {
    let fixture = Fixture::new();
    let table = format!(
        "{CALLS}\n9,web,db,soon,,,\n10,,db,1,2,3,4\n11,web,db,1,2,3,4,,,-5\n12,web,db,1,2\n"
    );
    let summary = fixture.import(&calls(), &[fixture.file("calls.csv", table)]).unwrap();
    assert_eq!((summary.read, summary.made, summary.skipped.total()), (6, 5, 4));
    let first: Vec<String> = summary.skipped.first.iter().map(ToString::to_string).collect();
    for (place, (line, words)) in [
        ("calls.csv:5: column 't_call_send': 'soon' is not a time", "must be a number"),
        ("calls.csv:6: column 'caller': ''", "must have one"),
        ("calls.csv:7: column 'req_bytes': '-5'", "not a number of bytes"),
        ("calls.csv:8: it has neither t_ret_send", "t_ret_recv"),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(first[place].contains(line) && first[place].contains(words), "{}", first[place]);
    }
}

#[test]
fn a_file_of_another_kind_is_reported_and_replaces_nothing() {
    let fixture = Fixture::new();
    fixture.import(&calls(), &[fixture.file("x.csv", CALLS)]).unwrap();
    let before = fixture.describe_messages();
    for (table, words) in [
        ("a,b\n1,2\n", vec!["x.csv:1", "no column 'call_id'", "call_id,caller,callee,t_call_send"]),
        ("call_id,caller,callee\n1,a,b\n", vec!["x.csv:1", "no column with times"]),
        ("call_id,caller,callee,caller\n", vec!["x.csv:1", "two columns 'caller'"]),
        ("", vec!["x.csv:1", "no header"]),
        (
            "call_id,caller,callee,t_call_send\n1,a,b,x\n",
            vec!["x.csv", "nothing in it", "x.csv:2", "'x' is not a time"],
        ),
    ] {
        let error =
            fixture.import(&calls(), &[fixture.file("x.csv", table)]).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{error}");
        }
        assert_eq!(fixture.describe_messages(), before);
    }
    let error = fixture
        .import(&calls(), &[fixture.directory.path().join("none.csv")])
        .unwrap_err()
        .to_string();
    assert!(error.contains("none.csv") && error.contains("No such file"), "{error}");
    let left: Vec<_> = fs::read_dir(fixture.data().imports_dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["x"], "an import that fails leaves nothing");
}

#[test]
fn an_import_of_the_same_name_is_replaced_and_others_are_added() {
    let fixture = Fixture::new();
    let first = fixture.import(&calls(), &[fixture.file("x.csv", CALLS)]).unwrap();
    let again = fixture.import(&calls(), &[fixture.file("x.csv.other", CALLS)]).unwrap();
    assert_eq!((first.replaced, again.replaced), (false, true));
    assert_eq!(fixture.trace().len(), 4);
    let named = CallImporter { name: Some("second".into()), ..calls() };
    fixture.import(&named, &[fixture.file("x.csv", CALLS)]).unwrap();
    let trace = fixture.trace();
    assert_eq!(trace.len(), 8);
    assert_eq!(trace.nodes.len(), 3, "the same nodes in both");
    let mut flows: Vec<i64> = trace.messages().map(|message| message.flow.number()).collect();
    flows.sort_unstable();
    flows.dedup();
    assert_eq!(flows, [0, 1, 2, 3], "and flows of their own");
    let found = Reconciliation::read(&fixture.data()).unwrap();
    assert_eq!(
        found.imported.into_iter().collect::<Vec<_>>(),
        [("second".to_owned(), 4), ("x".to_owned(), 4)]
    );
}

#[test]
fn several_files_are_one_import() {
    let fixture = Fixture::new();
    let more = CALLS.replace("\n7,", "\n17,").replace("\n8,", "\n18,");
    let files = [fixture.file("a.csv", CALLS), fixture.file("b.csv", more)];
    let summary = fixture.import(&calls(), &files).unwrap();
    assert_eq!((summary.files, summary.read, summary.made), (2, 4, 8));
    assert_eq!(summary.written, [fixture.data().imports_dir().join("a")]);
    assert_eq!(fixture.trace().len(), 8);
}

#[test]
fn a_file_that_was_cut_off_is_kept_as_far_as_it_goes() {
    let fixture = Fixture::new();
    let rows: String = (0..20_000)
        .map(|id| format!("{id},a,b,{},{},{},{}\n", id, id + 1, id + 2, id * 3 % 7))
        .collect();
    let table =
        format!("call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv\n{rows}");
    let mut packed = zstd::encode_all(table.as_bytes(), 3).unwrap();
    assert_eq!(
        fixture.import(&calls(), &[fixture.file("c.csv.zst", &packed)]).unwrap().made,
        40_000
    );
    packed.truncate(packed.len() * 3 / 4);
    let summary = fixture.import(&calls(), &[fixture.file("c.csv.zst", packed)]).unwrap();
    assert!(
        summary.made > 1000 && summary.made < 40_000 && summary.skipped.total() == 1,
        "{summary:?}"
    );
    let skip = summary.skipped.first[0].to_string();
    assert!(skip.contains("c.csv.zst:") && skip.contains("cut off"), "{skip}");
    assert_eq!(fixture.trace().len() as u64, summary.made);
}

fn exported(table: impl Into<DataPath>, name: &str) -> Vec<u8> {
    let mut output = Vec::new();
    export_table(table, TableFormat::Csv, &mut output, Path::new(name)).unwrap();
    output
}

/// A text that is not a number and keeps its form in a table.
fn text() -> impl Strategy<Value = String> {
    "[a-c]([a-z0-9/:@#\", é\n]{0,6}[a-c])?"
}

/// The times of one end: none, or first, last and common.
fn end() -> impl Strategy<Value = Option<(i64, i64, i64)>> {
    proptest::option::of((-9_000i64..i64::MAX / 2, 0i64..1000, -500i64..500).prop_map(
        |(first, more, clock)| {
            let last = first.saturating_add(more).min(i64::MAX / 2);
            (first, last, first.saturating_add(clock).min(i64::MAX / 2))
        },
    ))
}

fn any_trace() -> impl Strategy<Value = MessageTrace> {
    let nodes = proptest::collection::vec(
        (text(), proptest::option::of(0i32..99), text(), any::<bool>()),
        1..5,
    );
    let endpoints = proptest::collection::vec(
        prop_oneof![text(), Just("10.0.0.1:80".to_owned()), Just("unix:/a,b".to_owned())],
        1..4,
    );
    let row = (
        end(),
        end(),
        (any::<u16>(), any::<u16>(), any::<u16>(), any::<u16>()),
        proptest::option::of(-3i32..1000),
        (0i64..6, 0i8..2, 0usize..6, 0i64..1 << 40, 0i32..9),
        proptest::option::of(text()),
    );
    (nodes, endpoints, proptest::collection::vec(row, 1..30)).prop_map(
        |(nodes, endpoints, rows)| {
            let mut trace = MessageTrace::default();
            for (number, (host, pid, command, traced)) in nodes.into_iter().enumerate() {
                // The number makes each of them a different node, and a node with own times was
                // traced.
                let start = Some(number as i64);
                trace.add_node(Node { host, pid, start, command, traced, ..Node::default() });
            }
            let endpoints: Vec<EndpointId> = endpoints
                .iter()
                .map(|text| trace.intern(&text.parse::<Endpoint>().unwrap()))
                .collect();
            for (sent, received, places, tid, rest, call) in rows {
                if sent.is_none() && received.is_none() {
                    continue;
                }
                let node = |place: u16| NodeId::from_index(usize::from(place) % trace.nodes.len());
                let endpoint = |place: u16| endpoints[usize::from(place) % endpoints.len()];
                let end = |node, endpoint, tid| NodeEnd { node, endpoint, tid };
                let ends = EndPair {
                    src: end(node(places.0), endpoint(places.2), tid),
                    dst: end(node(places.1), endpoint(places.3), tid.map(|tid| tid + 1)),
                    protocol: TransportProtocol::ALL[rest.2],
                };
                let message = Message {
                    send_first: sent.map(|time| time.0),
                    send_last: sent.map(|time| time.1),
                    send_ts: sent.map(|time| time.2),
                    recv_first: received.map(|time| time.0),
                    recv_last: received.map(|time| time.1),
                    recv_ts: received.map(|time| time.2),
                    bytes: rest.3,
                    parts: rest.4,
                    ..Message::between_ends(ends, FlowId::from_number(rest.0), rest.1)
                };
                if sent.is_some() {
                    Arc::make_mut(&mut trace.nodes).0[message.src.index()].traced = true;
                }
                if received.is_some() {
                    Arc::make_mut(&mut trace.nodes).0[message.dst.index()].traced = true;
                }
                trace.push(&message, call.as_deref());
            }
            trace.sort_messages();
            trace
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_trace_that_is_exported_and_imported_is_the_same_trace(trace in any_trace().prop_filter("empty", |trace| !trace.is_empty())) {
        let fixture = Fixture::new();
        let place = |name: &str| fixture.directory.path().join(name);
        let (before, nodes_before) = (place("m.parquet"), place("n.parquet"));
        trace.write(&before, &nodes_before).unwrap();
        let (table, nodes) = (exported(&before, "m"), exported(&nodes_before, "n"));
        let importer = MessageImporter { nodes: Some(fixture.file("nodes.csv", &nodes)), ..messages() };
        let summary = fixture.import(&importer, &[fixture.file("messages.csv", &table)]).unwrap();
        prop_assert_eq!(summary.skipped.total(), 0, "{:?}", summary);
        fixture.trace();
        let counts = Reconciliation::read(&fixture.data()).unwrap();
        let makings = trace.messages().filter(Message::is_connect);
        prop_assert_eq!(counts.connects, makings.count() as u64);
        prop_assert_eq!(counts.total_messages() + counts.connects, trace.len() as u64);
        prop_assert_eq!(String::from_utf8(exported(fixture.data().nodes_path(), "n")), String::from_utf8(nodes));
        prop_assert_eq!(String::from_utf8(exported(fixture.data().messages_path(), "m")), String::from_utf8(table));
    }
}

#[test]
fn nodes_missing_from_the_table_of_nodes_are_reported() {
    let fixture = Fixture::new();
    let mut nodes = NodeList::default();
    nodes.push(Node { host: "h".into(), command: "a".into(), ..Node::default() });
    let path = fixture.directory.path().join("n.parquet");
    nodes.write(&path).unwrap();
    let nodes = fixture.file("nodes.csv", exported(&path, "n"));
    let importer = MessageImporter { nodes: Some(nodes), ..messages() };
    let table = fixture.file("m.csv", "src,dst,send_ts\n0,0,1\n0,1,2\n");
    let summary = fixture.import(&importer, std::slice::from_ref(&table)).unwrap();
    assert_eq!((summary.made, summary.skipped.total()), (1, 1));
    assert!(
        summary.skipped.first[0]
            .to_string()
            .contains("m.csv:3: column 'dst': '1' is not in the table of nodes")
    );
    let wrong = fixture.file("nodes.csv", "id,host,pid,start,command\n0,h,many,,a\n");
    let error = fixture
        .import(&MessageImporter { nodes: Some(wrong), ..messages() }, &[table])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("nodes.csv:2: column 'pid': 'many' is not a number of a process"),
        "{error}"
    );
}
