//! Tables give the same trace in any order of their rows and files, and the connecting side is
//! known by ports and times.

use std::fs;
use std::path::{Path, PathBuf};

use importers::{CallImporter, Importer, MessageImporter, Project5Importer, TimeUnit};
use message_trace::table::export::{TableFormat, export_table};
use message_trace::{DataDir, DataPath, FROM_CONNECTING, MessageTrace};
use proptest::prelude::*;
use proptest::sample::select;

/// The data directory of an import of tables with these rows, reconciled.
struct TableImportCase {
    directory: tempfile::TempDir,
    notes: Vec<String>,
}

impl TableImportCase {
    fn new(importer: &dyn Importer, header: &str, files: &[Vec<String>]) -> TableImportCase {
        let directory = tempfile::tempdir().unwrap();
        let mut imported = TableImportCase { directory, notes: Vec::new() };
        let write = |(place, rows): (usize, &Vec<String>)| {
            let path = imported.directory.path().join(format!("{place}.csv"));
            let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
            fs::write(&path, format!("{header}{rows}")).unwrap();
            path
        };
        let files: Vec<PathBuf> = files.iter().enumerate().map(write).collect();
        imported.notes = importer.import_files(&files, &imported.data(), &()).unwrap().notes;
        reconcile::reconcile(&imported.data(), &reconcile::Options::default(), &()).unwrap();
        imported
    }

    fn data(&self) -> DataDir {
        DataDir::new(self.directory.path().join("data"))
    }

    /// Messages, nodes and clocks as written.
    fn tables(&self) -> [String; 3] {
        let data = self.data();
        let table = |path: DataPath| {
            let mut text = Vec::new();
            export_table(path, TableFormat::Csv, &mut text, Path::new("x")).unwrap();
            String::from_utf8(text).unwrap()
        };
        let clocks = data.clocks_path().read_to_string().unwrap();
        [table(data.messages_path()), table(data.nodes_path()), clocks]
    }

    /// Callers and callees, by the directions of the messages, with the flow; each once.
    fn call_directions(&self) -> Vec<(String, String, i64)> {
        let data = self.data();
        let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
        let name = |id| trace.nodes.get(id).unwrap().command.clone();
        let pairs = trace.messages().map(|m| match m.direction == FROM_CONNECTING {
            true => (name(m.src), name(m.dst), m.flow.number()),
            false => (name(m.dst), name(m.src), m.flow.number()),
        });
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort();
        pairs.dedup();
        pairs
    }
}

fn messages() -> MessageImporter {
    MessageImporter { name: Some("x".to_owned()), unit: TimeUnit::Nanoseconds, nodes: None }
}

fn calls() -> CallImporter {
    CallImporter { name: Some("x".to_owned()), unit: TimeUnit::Nanoseconds }
}

fn project5() -> Project5Importer {
    Project5Importer { name: Some("x".to_owned()), unit: TimeUnit::Nanoseconds }
}

const WITH_ENDPOINTS: &str = "src,dst,src_endpoint,dst_endpoint,send_ts,recv_ts\n";

/// Requests on separate connections from web to a service of db, every third time another one, and
/// their answers.
fn requests(count: u64) -> Vec<String> {
    let request = |number: u64| {
        let at = 1_000 * number;
        let web = format!("10.0.0.1:{}", 40_000 + number);
        let db = ["10.0.0.2:50051", "10.0.0.2:5432", "10.0.0.2:50051"][number as usize % 3];
        let [sent, received, answered, got] = [at, at + 10, at + 20, at + 30];
        [
            format!("web,db,{web},{db},{sent},{received}"),
            format!("db,web,{db},{web},{answered},{got}"),
        ]
    };
    (0..count).flat_map(request).collect()
}

#[test]
fn ports_determine_the_connecting_side_and_the_connections() {
    let mut rows = requests(9);
    for reversed in [false, true] {
        if reversed {
            rows.reverse();
        }
        let imported =
            TableImportCase::new(&messages(), WITH_ENDPOINTS, std::slice::from_ref(&rows));
        let expected: Vec<_> =
            (0..9).map(|flow| ("web".to_owned(), "db".to_owned(), flow)).collect();
        assert_eq!(imported.call_directions(), expected, "reversed: {reversed}");
    }
}

#[test]
fn remaining_answers_of_a_lost_beginning_do_not_make_a_server_a_client() {
    // Captured from the middle on: the first message is an answer.
    let rows = requests(3)[1..].to_vec();
    let imported = TableImportCase::new(&messages(), WITH_ENDPOINTS, &[rows]);
    assert!(
        imported
            .call_directions()
            .iter()
            .all(|(client, server, _)| client == "web" && server == "db")
    );
}

#[test]
fn a_socket_that_sends_requests_to_several_servers_is_no_server() {
    let rows = ["10.0.0.2:53", "10.0.0.3:53", "10.0.0.4:53"].map(|server| {
        let node = server.trim_end_matches(":53");
        format!("{node},app,{server},10.0.0.1:45000,10,20")
    });
    let imported = TableImportCase::new(&messages(), WITH_ENDPOINTS, &[rows.to_vec()]);
    assert!(
        imported.call_directions().iter().all(|(client, ..)| client == "app"),
        "{:?}",
        imported.call_directions()
    );
}

#[test]
fn without_ports_the_earliest_message_determines_the_connecting_side_in_any_row() {
    let answer = "b,a,30,40".to_owned();
    let rows = [answer.clone(), "a,b,10,20".to_owned(), "a,b,50,60".to_owned(), answer];
    let asked = |header, rows: &[String]| {
        TableImportCase::new(&messages(), header, &[rows.to_vec()]).call_directions()
    };
    let expected = [("a".to_owned(), "b".to_owned(), 0)];
    for header in ["src,dst,send_ts,recv_ts\n", "src,dst,send_first,recv_first\n"] {
        assert_eq!(asked(header, &rows), expected, "{header}");
    }
    // With clocks that are far apart, each end by itself has both messages.
    let apart = ["b,a,900030,40".to_owned(), "a,b,10,900020".to_owned()];
    assert_eq!(asked("src,dst,send_first,recv_first\n", &apart), expected);
    // A flow named by the table, without a direction.
    let flows = ["b,a,40,5".to_owned(), "b,a,10,6".to_owned(), "a,b,30,5".to_owned()];
    let expected = [("a".to_owned(), "b".to_owned(), 5), ("b".to_owned(), "a".to_owned(), 6)];
    assert_eq!(asked("src,dst,send_ts,flow\n", &flows), expected);
}

#[test]
fn one_file_for_each_node_of_project_5_is_one_trace() {
    // As each node's file has the messages that it sent, the answers of c come in the first file.
    let mut files = vec![Vec::new(); 3];
    for call in 0..20 {
        let at = 1_000 * call;
        files[2].push(format!("{} MESSAGE client a", at + 1));
        files[1].push(format!("{} MESSAGE a c", at + 10));
        files[0].push(format!("{} MESSAGE c a", at + 20));
        files[1].push(format!("{} MESSAGE a client", at + 30));
    }
    let imported = TableImportCase::new(&project5(), "", &files);
    let asked: Vec<_> =
        imported.call_directions().into_iter().map(|(from, to, _)| (from, to)).collect();
    let expected = [("a", "c"), ("client", "a")].map(|(from, to)| (from.into(), to.into()));
    assert_eq!(asked, expected);
}

/// Rows of two sniffers for the same calls of a to b: the one near a, and one near b with a clock
/// that is 50 ms ahead. With `both`, a row has the times of both ends.
fn sniffed(both: bool) -> [Vec<String>; 2] {
    let mut files = [Vec::new(), Vec::new()];
    for call in 0..20_u64 {
        let sent = 1_000_000_000 + 7_000_000 * call;
        let (bytes, answer) = (100 + call % 3, 900 + call % 5);
        let ends = ["a,b,10.0.0.1:40001,10.0.0.2:80", "b,a,10.0.0.2:80,10.0.0.1:40001"];
        let times = [[sent, sent + 300_000], [sent + 900_000, sent + 1_200_000]];
        for (direction, bytes) in [(0, bytes), (1, answer)] {
            let [from, to] = times[direction];
            // The sniffer near a has a's end of each message, the other one b's.
            let own = |is_sender: bool, ahead: u64| match (both, is_sender) {
                (true, _) => format!("{},{}", from + ahead, to + ahead),
                (false, true) => format!("{},", from + ahead),
                (false, false) => format!(",{}", to + ahead),
            };
            let of_a = own(direction == 0, 0);
            let of_b = own(direction == 1, 50_000_000);
            files[0].push(format!("{},{bytes},{of_a}", ends[direction]));
            files[1].push(format!("{},{bytes},{of_b}", ends[direction]));
        }
    }
    files
}

const SNIFFED: &str = "src,dst,src_endpoint,dst_endpoint,bytes,send_first,recv_last\n";

#[test]
fn a_message_seen_by_two_sniffers_has_the_times_of_both() {
    for both in [true, false] {
        let mut files = sniffed(both);
        for _ in 0..2 {
            files.reverse();
            let imported = TableImportCase::new(&messages(), SNIFFED, &files);
            let trace =
                MessageTrace::read(imported.data().messages_path(), imported.data().nodes_path())
                    .unwrap();
            assert_eq!(trace.len(), 40, "both: {both}");
            assert!(trace.messages().all(|m| m.send_first.is_some() && m.recv_last.is_some()));
            // Each takes 300 us, by the one clock or by the two that are compared.
            let takes: Vec<i64> =
                trace.messages().map(|m| m.recv_ts.unwrap() - m.send_ts.unwrap()).collect();
            assert!(takes.iter().all(|ns| (ns - 300_000).abs() < 1_000), "{takes:?}");
        }
    }
}

#[test]
fn calls_with_equal_ids_in_two_files_are_one_and_others_are_reported() {
    let header = "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv\n";
    let rows = |id: &str, ahead: u64, caller: bool| -> Vec<String> {
        let row = |call: u64| {
            let at = 1_000_000_000 + 7_000_000 * call + ahead;
            match caller {
                true => format!("{id}{call},a,b,{at},,,{}", at + 900_000),
                false => format!("{id}{call},a,b,,{},{},", at + 100_000, at + 500_000),
            }
        };
        (0..30).map(row).collect()
    };
    for (id, made, note) in [("x", 60, "count once: 60"), ("y", 120, "count twice: 60")] {
        let files = [rows("x", 0, true), rows(id, 0, false)];
        let imported = TableImportCase::new(&calls(), header, &files);
        let trace =
            MessageTrace::read(imported.data().messages_path(), imported.data().nodes_path())
                .unwrap();
        assert_eq!(trace.len(), made);
        assert!(imported.notes.iter().any(|of| of.contains(note)), "{:?}", imported.notes);
        if id == "x" {
            assert!(trace.messages().all(|m| m.send_first.is_some() && m.recv_last.is_some()));
        }
    }
}

/// Ids decide if there are no endpoints. Without either, the messages may be different ones.
#[test]
fn messages_of_two_files_without_endpoints_count_once_only_if_their_ids_are_equal() {
    let files = |row: fn(u64, [&str; 2], u64) -> String| -> [Vec<String>; 2] {
        [0, 50_000].map(|ahead| {
            let both = |call: u64| {
                let at = 1_000_000_000 + 7_000_000 * call + ahead;
                [row(call, ["a", "b"], at), row(call, ["b", "a"], at + 1_000_000)]
            };
            (0..30).flat_map(both).collect()
        })
    };
    let rows = files(|call, [from, to], at| format!("{from},{to},{},{at}", 100 + call % 3));
    let lines = files(|call, [from, to], at| format!("{at} MESSAGE {from} {to} id{call}"));
    let (messages, project5) = (messages(), project5());
    let messages: (&dyn Importer, _, _) = (&messages, "src,dst,bytes,send_first\n", rows);
    let project5: (&dyn Importer, _, _) = (&project5, "", lines);
    for ((importer, header, mut files), made, note) in
        [(messages, 120, "count twice: 60"), (project5, 60, "count once: 60")]
    {
        for _ in 0..2 {
            files.reverse();
            let imported = TableImportCase::new(importer, header, &files);
            let trace =
                MessageTrace::read(imported.data().messages_path(), imported.data().nodes_path())
                    .unwrap();
            assert_eq!(trace.len(), made, "{header}");
            assert!(imported.notes.iter().any(|of| of.contains(note)), "{:?}", imported.notes);
        }
    }
}

#[test]
fn files_with_different_messages_lose_none() {
    let [rows, _] = sniffed(true);
    // Before and after a moment; every other row; and with other sizes.
    let halves: Vec<Vec<String>> = rows.chunks(20).map(<[String]>::to_vec).collect();
    let turns = [0, 1].map(|turn| rows.chunks(4).map(|of| of[2 * turn..][..2].to_vec()).collect());
    let turns: [Vec<Vec<String>>; 2] = turns;
    let turns = turns.map(|rows| rows.concat());
    let larger = |row: &String| {
        let mut fields: Vec<&str> = row.split(',').collect();
        let bytes = format!("7{}", fields[4]);
        fields[4] = &bytes;
        fields.join(",")
    };
    let other: Vec<String> = rows.iter().map(larger).collect();
    for (files, messages_expected) in
        [(halves, 40), (turns.to_vec(), 40), (vec![rows.clone(), other], 80)]
    {
        let imported = TableImportCase::new(&messages(), SNIFFED, &files);
        let trace =
            MessageTrace::read(imported.data().messages_path(), imported.data().nodes_path())
                .unwrap();
        assert_eq!(trace.len(), messages_expected);
    }
}

/// Rows of a table with these values.
fn rows_of(columns: Vec<BoxedStrategy<String>>) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(columns.prop_map(|fields| fields.join(",")), 1..20)
}

fn any_of(values: &'static [&'static str]) -> BoxedStrategy<String> {
    select(values).prop_map(str::to_owned).boxed()
}

fn time() -> BoxedStrategy<String> {
    // Hosts have clocks that are apart, and times of few values are often equal.
    prop_oneof![
        1 => Just(String::new()),
        8 => (1..12_u64, select(vec![0, 70_000])).prop_map(|(at, off)| (10 * at + off).to_string()),
    ]
    .boxed()
}

/// Rows, and the same in another order, distributed over three files.
fn shuffled(
    rows: impl Strategy<Value = Vec<String>>,
) -> impl Strategy<Value = (Vec<String>, Vec<Vec<String>>)> {
    let both = rows.prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle()));
    both.prop_map(|(rows, other)| {
        let files = other.chunks(other.len().div_ceil(3)).map(<[String]>::to_vec).collect();
        (rows, files)
    })
}

const NODES: &[&str] = &["a", "b", "c"];
const ENDPOINTS: &[&str] =
    &["", "10.0.0.1:80", "10.0.0.1:40001", "10.0.0.2:40001", "10.0.0.2:99", "unix:/x", "end"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_of_messages_in_any_order_are_one_trace((rows, files) in shuffled(rows_of(vec![
        any_of(NODES),
        any_of(NODES),
        any_of(ENDPOINTS),
        any_of(ENDPOINTS),
        any_of(&["", "1", "worker", "other"]),
        any_of(&["", "", "3", "5"]),
        any_of(&["", "", "0", "1"]),
        any_of(&["tcp", "udp", ""]),
        any_of(&["", "10"]),
        time(),
        time(),
        any_of(&["", "7"]),
        any_of(&["1", "2"]),
    ]))) {
        let header = "src,dst,src_endpoint,dst_endpoint,src_tid,flow,direction,protocol,bytes,\
            send_first,recv_last,send_ts,recv_ts\n";
        let one = TableImportCase::new(&messages(), header, &[rows]);
        let other = TableImportCase::new(&messages(), header, &files);
        prop_assert_eq!(one.tables(), other.tables());
    }

    #[test]
    fn rows_of_messages_on_their_own_clocks_in_any_order_are_one_trace(
        (rows, files) in shuffled(rows_of(vec![
            any_of(NODES), any_of(NODES), any_of(&["1", "2", "90000"]), time(),
        ]))
    ) {
        let header = "src,dst,send_first,recv_last\n";
        let one = TableImportCase::new(&messages(), header, &[rows]);
        let other = TableImportCase::new(&messages(), header, &files);
        prop_assert_eq!(one.tables(), other.tables());
    }

    #[test]
    fn rows_of_calls_in_any_order_are_one_trace((rows, files) in shuffled(rows_of(vec![
        any_of(&["x"]),
        any_of(NODES),
        any_of(NODES),
        any_of(&["1", "2"]),
        time(),
        time(),
        time(),
        any_of(&["", "worker", "other"]),
    ]))) {
        let header = "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv,\
            callee_thread\n";
        let one = TableImportCase::new(&calls(), header, &[rows]);
        let other = TableImportCase::new(&calls(), header, &files);
        prop_assert_eq!(one.tables(), other.tables());
    }

    #[test]
    fn lines_of_project_5_in_any_order_are_one_trace((rows, files) in shuffled(rows_of(vec![
        (0..9_u64, select(vec!["CALL", "RETURN", "MESSAGE"]), select(NODES), select(NODES))
            .prop_map(|(at, what, from, to)| format!("{at} {what} {from} {to} x"))
            .boxed(),
    ]))) {
        let one = TableImportCase::new(&project5(), "", &[rows]);
        let other = TableImportCase::new(&project5(), "", &files);
        prop_assert_eq!(one.tables(), other.tables());
    }
}
