//! Tests that the calls of windows equal those of the table of calls.

use arrow_array::Array;
use proptest::prelude::*;

use super::*;
use crate::calls::CallTable;
use crate::fixture::Fixture;
use message_trace::table::columns::BatchColumns;

/// Compared facts of a call: number, parent, probability and root, names, and its times.
type Row = (String, Option<String>, Option<u64>, String, String, [Option<i64>; 4]);

/// A client's calls, each answered soon but leading to `width` more, one because of the other.
fn directory(calls: i64, width: i64) -> (tempfile::TempDir, DataDir, MessageTrace, Links) {
    let mut fixture = Fixture::new().untraced(&["out"]);
    let mut causes = Vec::new();
    // Two calls over one connection that are answered after all others.
    for call in 0..2 {
        fixture.send("out", "b", -10 + call, -8 + call).ports(7, 82).on(-1);
        fixture
            .send("b", "out", 1000 * calls + call, 1000 * calls + 2 + call)
            .ports(82, 7)
            .on(-1)
            .accepting();
    }
    for call in 0..calls {
        let (begin, port) = (1000 * call, fixture.ephemeral());
        let flow = 10 * call;
        // The rest of it is read after the response.
        fixture.send("out", "a", begin, begin + 28).arrives(begin + 1).ports(port, 80).on(flow);
        for child in 0..width {
            let (at, port) = (begin + 10 + 40 * child, fixture.ephemeral());
            fixture.send("a", "b", at, at + 2).ports(port, 81).on(flow + 1 + child).threads(5, 6);
            fixture
                .send("b", "a", at + 20, at + 22)
                .ports(81, port)
                .on(flow + 1 + child)
                .accepting();
            causes.push((at, if child == 0 { begin + 1 } else { at - 38 }));
        }
        fixture.send("a", "out", begin + 25, begin + 26).ports(80, port).on(flow).accepting();
    }
    let trace = fixture.trace();
    let mut links = Links::spontaneous_only(trace.len());
    for row in trace.ids() {
        let sent = trace.send_ts(row);
        if let Some((_, cause)) = causes.iter().find(|(at, _)| Some(*at) == sent) {
            let parent = trace.ids().find(|row| trace.arrival_time(*row) == Some(*cause));
            links.set_parents(row, &[(parent.unwrap(), 0.75)], 0.25);
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    trace.write(data.messages_path(), data.nodes_path()).unwrap();
    links.write(data.links_path()).unwrap();
    (directory, data, trace, links)
}

fn windowed(data: &DataDir, options: &Options) -> (Vec<Row>, Vec<TraceRoot>, usize) {
    let (mut rows, mut roots, mut windows) = (Vec::new(), Vec::new(), 0);
    for_each_window::<PathError>(data, options, |window| {
        windows += 1;
        for call in window.calls() {
            let times = |seen: Option<CallMessage>| {
                seen.map_or([None, None], |seen| [seen.sent, seen.received])
            };
            let ([a, b], [c, d]) = (times(call.request), times(call.response));
            let name = |place: usize| window.parties[place].name.clone();
            rows.push((
                format!("#{}", call.number),
                call.parent.map(|parent| format!("#{}", parent.call)),
                call.probability.map(f64::to_bits),
                name(call.caller),
                name(call.callee),
                [a, b, c, d],
            ));
            roots.push(call.root);
        }
        // A process occurs once, whichever threads it has.
        for (place, party) in window.parties.iter().enumerate() {
            assert!(!window.parties[..place].contains(party), "{:?}", window.parties);
        }
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    (rows, roots, windows)
}

fn of_table(data: &DataDir, trace: &MessageTrace, links: &Links, options: &Options) -> Vec<Row> {
    let path = data.messages_path();
    let mut rows = Vec::new();
    for batch in CallTable::new(trace, links, options, path.as_ref()) {
        let batch = batch.unwrap();
        let table = BatchColumns::new(&path, &batch);
        let text = |name| table.text_column(name).unwrap();
        let plain = |name: &str| {
            let column = batch.column_by_name(name).unwrap();
            let column =
                column.as_any().downcast_ref::<arrow_array::StringArray>().unwrap().clone();
            (0..column.len())
                .map(|row| column.is_valid(row).then(|| column.value(row).to_owned()))
                .collect::<Vec<_>>()
        };
        let (ids, parents) = (plain("call_id"), plain("parent_call_id"));
        let (caller, callee) = (text("caller"), text("callee"));
        let probability = table.float64_column("probability").unwrap();
        let times = ["request_send", "request_recv", "response_send", "response_recv"]
            .map(|name| table.int64_column(name).unwrap());
        for row in 0..batch.num_rows() {
            rows.push((
                ids[row].clone().unwrap(),
                parents[row].clone(),
                probability[row].map(f64::to_bits),
                caller[row].unwrap().to_owned(),
                callee[row].unwrap().to_owned(),
                [0, 1, 2, 3].map(|column: usize| times[column][row]),
            ));
        }
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_calls_of_windows_equal_the_table(calls in 0i64..30, width in 0i64..20, stretch in 40usize..200) {
        let (_directory, data, trace, links) = directory(calls, width);
        let options = Options { stretch, ..Options::default() };
        let (rows, roots, windows) = windowed(&data, &options);
        prop_assert_eq!(&rows, &of_table(&data, &trace, &links, &options));
        prop_assert!(windows > trace.len() / (2 * stretch));
        // A call without a parent is a root itself; other calls have the root of their parent, also
        // beyond a window.
        let root_of = |id: &str| roots[rows.iter().position(|row| row.0 == id).unwrap()];
        for (row, root) in rows.iter().zip(&roots) {
            let expected = row.1.as_deref().map_or_else(|| root.call, |parent| root_of(parent).call);
            prop_assert_eq!(root.call, expected);
            prop_assert_eq!(row.1.is_none(), row.0 == format!("#{}", root.call));
        }
    }
}

#[test]
fn cycles_are_cut_and_an_endpoint_has_its_text() {
    let mut fixture = Fixture::new();
    fixture.send("a", "b", 0, 9).on(1);
    fixture.send("b", "a", 1, 8).on(2);
    let trace = fixture.trace();
    let mut links = Links::spontaneous_only(2);
    links.set_parent_rows(0, &[(1, 1.0)], 0.0);
    links.set_parent_rows(1, &[(0, 1.0)], 0.0);
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    trace.write(data.messages_path(), data.nodes_path()).unwrap();
    links.write(data.links_path()).unwrap();
    let mut seen = Vec::new();
    for_each_window::<PathError>(&data, &Options::default(), |window| {
        assert_eq!((window.len(), window.is_empty()), (2, false));
        seen.extend(window.calls().map(|call| (call.parent.map(|p| p.call), call.root.call)));
        assert_eq!(window.calls().next().unwrap().dst_endpoint, Some("10.0.0.2:80"));
        Ok(ControlFlow::Break(()))
    })
    .unwrap();
    assert_eq!(seen, [(Some(1), 1), (None, 1)]);
}

#[test]
fn each_call_records_which_side_connected() {
    let mut fixture = Fixture::new();
    fixture.send("a", "b", 0, 1).ports(40_000, 80).on(1);
    fixture.send("c", "b", 6, 7).ports(40_000, 81).on(2);
    fixture.send("b", "c", 8, 9).ports(81, 40_000).on(2).accepting();
    fixture.send("b", "c", 10, 11).ports(81, 40_000).on(2).accepting();
    let trace = fixture.trace();
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    trace.write(data.messages_path(), data.nodes_path()).unwrap();
    Links::spontaneous_only(4).write(data.links_path()).unwrap();
    let mut seen = Vec::new();
    for_each_window::<PathError>(&data, &Options::default(), |window| {
        let port =
            |endpoint: Option<&str>| endpoint.and_then(|e| Some(e.rsplit_once(':')?.1.to_owned()));
        seen.extend(window.calls().map(|call| {
            let callee = window.parties[call.callee].name.clone();
            (callee, call.from_connecting, port(call.dst_endpoint))
        }));
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    // An unasked message of an acceptor, sent after a request, is a call of its own, to a port of
    // no server.
    let of =
        |name: &str, port: &str, connected| (name.to_owned(), connected, Some(port.to_owned()));
    assert_eq!(seen, [of("b", "80", true), of("b", "81", true), of("c", "40000", false)]);
}
