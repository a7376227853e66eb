//! The nesting algorithm on handwritten traces: which call is nested in which, and the resulting
//! links.

use std::collections::BTreeSet;

use message_trace::{MessageId, MessageTrace, NodeId, NodeList};
use proptest::prelude::*;

use super::NestingAlgorithm;
use crate::calls::{CallId, Calls, CandidateParents, LikelyParents};
use crate::fixture::Fixture;
use crate::infer::{Inference, InferenceInput, Links};
use crate::naming::Naming;
use crate::options::{NestingOptions, Options};

const MS: i64 = 1_000_000;

/// A call from one node to another, by the milliseconds of the call and the return: messages take
/// no time.
type Call<'a> = (&'a str, &'a str, i64, i64);

fn trace(calls: &[Call<'_>]) -> MessageTrace {
    let mut fixture = Fixture::new();
    for (flow, (from, to, call, back)) in calls.iter().enumerate() {
        fixture.send(from, to, call * MS, call * MS).on(flow as i64);
        fixture.send(to, from, back * MS, back * MS).accepting().ports(80, 40_000).on(flow as i64);
    }
    fixture.trace()
}

fn options(nesting: NestingOptions) -> Options {
    Options { clients_start_paths: false, nesting, ..Options::default() }
}

fn infer(trace: &MessageTrace, nesting: NestingOptions) -> Links {
    let options = options(nesting);
    NestingAlgorithm.infer_links(&InferenceInput::without_progress(
        trace,
        &Naming::new(trace, &options),
        &options,
    ))
}

/// The parent of each of `calls`, by their places.
fn parents(calls: &[Call<'_>], nesting: NestingOptions) -> Vec<Option<usize>> {
    let trace = trace(calls);
    let links = infer(&trace, nesting);
    let found = Calls::from_trace(&trace);
    let parents =
        LikelyParents::from_links(&found, &links, &CandidateParents::from_links(&found, &links));
    // A call's flow is its place.
    let place = |call: CallId| trace.flow(found.request(call).unwrap()).number() as usize;
    let mut of = vec![None; calls.len()];
    for call in found.iter() {
        of[place(call)] = parents.of_call(call).and_then(|parent| parent.call).map(place);
    }
    of
}

#[test]
fn figure_3_both_calls_are_nested_in_the_first() {
    let calls = [("a", "b", 1, 11), ("b", "c", 3, 5), ("b", "d", 7, 9)];
    assert_eq!(parents(&calls, NestingOptions::default()), [None, Some(0), Some(0)]);
    // The links lead from the message that b received last: that of the second call from the return
    // of the first one.
    let trace = trace(&calls);
    let links = infer(&trace, NestingOptions::default());
    let found: Vec<Vec<(usize, f64)>> = (0..6).map(|row| links.parent_rows(row)).collect();
    // Calls to c and d (rows 1 and 3), their returns (2 and 4), and the last return. The first has
    // no cause.
    assert_eq!(found[0], []);
    (1..6).for_each(|row| assert_eq!(found[row], [(row - 1, 1.0)]));
    assert_eq!(links.spontaneous_probability(MessageId::from_index(0)), 1.0);
}

#[test]
fn figure_5_each_child_goes_to_the_parent_whose_delay_is_the_most_common() {
    // Of the delays 70 and 100, and 40 and 70, the medium one occurs twice.
    let calls =
        [("a", "b", 0, 500), ("a", "b", 30, 530), ("b", "c", 70, 300), ("b", "c", 100, 330)];
    assert_eq!(parents(&calls, NestingOptions::default()), [None, None, Some(0), Some(1)]);
}

#[test]
fn the_overlapping_child_penalty_spreads_children_over_parents() {
    // All delays are in one bin: only the penalty keeps the second child from the first parent.
    let calls =
        [("a", "b", 0, 5000), ("a", "b", 1, 5000), ("b", "c", 1000, 4000), ("b", "c", 1001, 4001)];
    assert_eq!(parents(&calls, NestingOptions::default()), [None, None, Some(0), Some(1)]);
    let none = NestingOptions { penalties: [0.0; 3], ..NestingOptions::default() };
    assert_eq!(parents(&calls, none), [None, None, Some(0), Some(0)]);
    // In sequence they may be of one parent; the other two penalties distinguish them all the same.
    let calls =
        [("a", "b", 0, 5000), ("a", "b", 1, 5000), ("b", "c", 1000, 1001), ("b", "c", 1002, 1003)];
    assert_eq!(parents(&calls, NestingOptions::default())[2..], [Some(0), Some(0)]);
    for penalties in [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
        let options = NestingOptions { penalties, ..NestingOptions::default() };
        assert_eq!(parents(&calls, options)[2..], [Some(0), Some(1)]);
    }
}

#[test]
fn messages_without_a_counterpart_have_neither_parents_nor_children() {
    let mut fixture = Fixture::new();
    fixture.send("a", "b", 0, 0).on(0);
    fixture.send("b", "c", 10, 10).on(1);
    fixture.send("c", "b", 20, 20).accepting().ports(80, 40_000).on(1);
    let trace = fixture.trace();
    let links = infer(&trace, NestingOptions::default());
    assert_eq!(
        [0, 1].map(MessageId::from_index).map(|message| links.spontaneous_probability(message)),
        [1.0; 2]
    );
    assert_eq!(links.parent_rows(2), [(1, 1.0)]);
}

#[test]
fn the_skew_window_finds_a_parent_that_seems_to_begin_later() {
    let calls =
        [("a", "b", 20, 100), ("b", "c", 10, 90), ("a", "b", 500, 600), ("b", "c", 530, 610)];
    assert_eq!(parents(&calls, NestingOptions::default()), [None; 4]);
    let skew = |window| NestingOptions { skew_window: window * MS, ..NestingOptions::default() };
    assert_eq!(parents(&calls, skew(9)), [None; 4]);
    assert_eq!(parents(&calls, skew(10)), [None, Some(0), None, Some(2)]);
}

#[test]
fn delays_are_on_the_own_clock_or_for_untraced_nodes_on_their_peers() {
    // b's clock is a second ahead of the common one, on which its calls would begin before its
    // requests.
    let mut fixture = Fixture::new().untraced(&["x"]);
    let late = 1000 * MS;
    let at = |time: i64| time * MS;
    fixture.send("a", "b", at(0), at(1) + late).on(0);
    fixture.send("b", "c", at(2) + late, at(3)).on(1);
    fixture.send("c", "b", at(4), at(5) + late).accepting().ports(80, 40_000).on(1);
    fixture.send("b", "a", at(6) + late, at(7)).accepting().ports(80, 40_000).on(0);
    // x is between a and c, and is untraced.
    fixture.send("a", "x", at(5000), 0).on(2);
    fixture.send("x", "c", 0, at(5002)).on(3);
    fixture.send("c", "x", at(5004), 0).accepting().ports(80, 40_000).on(3);
    fixture.send("x", "a", 0, at(5006)).accepting().ports(80, 40_000).on(2);
    let trace = fixture.trace();
    let links = infer(&trace, NestingOptions::default());
    let row = |src: &str, dst: &str| {
        let name = |node: NodeId| trace.nodes.0[node.index()].command.as_str();
        trace.ids().find(|row| {
            let message = trace.message(*row);
            (name(message.src), name(message.dst)) == (src, dst)
        })
    };
    let parent = |child: MessageId| links.parents_here(child).next().map(|(parent, _)| parent);
    for [before, after] in
        [[("a", "b"), ("b", "c")], [("c", "b"), ("b", "a")], [("a", "x"), ("x", "c")]]
    {
        assert_eq!(parent(row(after.0, after.1).unwrap()), row(before.0, before.1), "{before:?}");
    }
    assert_eq!(parent(row("x", "a").unwrap()), row("c", "x"));
}

/// A system that takes 10 ms before its call at first and 60 ms later on; two requests at a time,
/// 50 ms apart.
fn phases() -> Vec<Call<'static>> {
    let mut calls = Vec::new();
    for round in 0..120 {
        let begin = round * 1000;
        let delay = if round < 100 { 10 } else { 60 };
        calls.push(("a", "b", begin, begin + 900));
        calls.push(("a", "b", begin + 50, begin + 950));
        calls.push(("b", "c", begin + delay, begin + delay + 700));
        calls.push(("b", "c", begin + delay + 50, begin + delay + 750));
    }
    calls
}

#[test]
fn in_windows_a_phase_is_scored_separately() {
    let calls = phases();
    let right = |options: NestingOptions| {
        let parents = parents(&calls, options);
        let right = |call: &usize| parents[*call] == Some(*call - 2);
        let later = (400..480).filter(|call| calls[*call].0 == "b");
        (later.clone().filter(right).count(), later.count())
    };
    // Over the whole trace, 10 ms is far more common than 60 ms.
    let (found, all) = right(NestingOptions::default());
    assert!(found <= all / 2, "{found} of {all}");
    let window = |seconds: i64| NestingOptions {
        scoreboard_window: Some(seconds * 1000 * MS),
        ..NestingOptions::default()
    };
    // Except for calls within a third of a window of the change.
    let (found, _) = right(window(15));
    assert!(found + 12 >= all, "{found} of {all}");
    // One window that contains the whole trace is equivalent to none.
    assert_eq!(parents(&calls, window(100_000)), parents(&calls, NestingOptions::default()));
}

#[test]
fn an_empty_trace_gives_no_links() {
    let nothing = MessageTrace::new(NodeList::default());
    assert_eq!(infer(&nothing, NestingOptions::default()).message_count(), 0);
}

#[test]
fn times_at_the_ends_of_the_range_do_not_overflow() {
    let mut fixture = Fixture::new();
    for (flow, [call, back]) in
        [[i64::MIN + 1, i64::MAX], [i64::MIN + 2, i64::MAX - 1], [0, 1], [i64::MAX, i64::MAX]]
            .iter()
            .enumerate()
    {
        let (from, to) = if flow % 2 == 0 { ("a", "b") } else { ("b", "c") };
        fixture.send(from, to, *call, *call).on(flow as i64);
        fixture.send(to, from, *back, *back).accepting().ports(80, 40_000).on(flow as i64);
    }
    let trace = fixture.trace();
    for window in [None, Some(1), Some(i64::MAX)] {
        let skew_window = i64::MAX;
        let wild = NestingOptions {
            skew_window,
            smoothing: 1e9,
            scoreboard_window: window,
            penalties: [9e9; 3],
        };
        assert_eq!(infer(&trace, wild).message_count(), 8);
        let whole = NestingOptions { scoreboard_window: window, ..NestingOptions::default() };
        assert_eq!(infer(&trace, whole).message_count(), 8);
    }
}

/// A message: sender, receiver, flow, whether it is a response, sending time, travel time.
type Row = (usize, usize, i64, bool, i64, i64);

fn random(rows: &[Row]) -> MessageTrace {
    let mut fixture = Fixture::new();
    for name in ["a", "b", "c"] {
        fixture.node(name);
    }
    for (src, dst, flow, back, time, took) in rows {
        let names = ["a", "b", "c"];
        let sent = fixture.send(names[*src], names[*dst], time * MS, (time + took) * MS).on(*flow);
        if *back {
            sent.accepting().ports(80, 40_000);
        }
    }
    fixture.trace()
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((0..3usize, 0..3usize, 0..9i64, any::<bool>(), 0..6i64, 0..2i64), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Nodes that also call themselves, on a clock so coarse that most events are simultaneous.
    #[test]
    fn no_message_causes_itself(rows in rows(), skew in 0..3i64, window in prop::option::of(1..4i64)) {
        let trace = random(&rows);
        let options =
            NestingOptions { skew_window: skew * MS, scoreboard_window: window.map(|it| it * MS), ..NestingOptions::default() };
        let mut links = infer(&trace, options);
        links.break_cycles(&(0..trace.len()));
        for child in trace.ids() {
            let sum: f64 = links.parents(child).map(|(_, share)| share).sum();
            prop_assert!((sum + links.spontaneous_probability(child) - 1.0).abs() < 1e-9);
            let mut seen = BTreeSet::new();
            let mut at = Some(child);
            while let Some(message) = at {
                prop_assert!(seen.insert(message));
                at = links.parents_here(message).next().map(|(parent, _)| parent);
            }
        }
    }

    /// The parent of each message, identified by the messages and not by their rows.
    #[test]
    fn the_order_of_the_rows_does_not_matter(rows in rows(), by in 0..60usize) {
        // Each message with a flow and a time of its own, so that the order of the trace does not
        // depend on the rows.
        let apart = |(at, row): (usize, &Row)| (row.0, row.1, row.2, row.3, row.4 * 100 + at as i64, row.5);
        let rows: Vec<Row> = rows.iter().enumerate().map(apart).collect();
        let mut other = rows.clone();
        other.rotate_left(by.min(rows.len()));
        let [one, two] = [rows, other].map(|rows| infer(&random(&rows), NestingOptions::default()));
        prop_assert_eq!(one, two);
    }
}

#[test]
fn a_call_begins_with_the_first_byte_of_its_request() {
    // b reads the rest of the request after it has responded.
    let mut trace = Fixture::new();
    trace.send("a", "b", 0, 50 * MS).arrives(MS).on(1);
    trace.send("b", "c", 3 * MS, 4 * MS).on(2);
    trace.send("c", "b", 5 * MS, 6 * MS).accepting().ports(80, 40_000).on(2);
    trace.send("b", "a", 9 * MS, 10 * MS).accepting().ports(80, 40_000).on(1);
    let links = infer(&trace.trace(), NestingOptions::default());
    assert_eq!(links.parent_rows(1), [(0, 1.0)]);
}
