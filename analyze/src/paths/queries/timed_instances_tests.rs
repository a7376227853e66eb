//! Reading by row groups, compared with reading whole tables.

use std::num::NonZeroUsize;

use message_trace::stats::DelaySummary;
use message_trace::table::{self, columns};
use message_trace::{MessageId, MessageTrace};
use proptest::prelude::*;

use super::*;
use crate::analyze;
use crate::fixture::{Fixture, collected};
use crate::options::{AnalysisResources, Options, WorkDivision};
use crate::paths::reference::receipt_time;
use crate::paths::{Hop, PathInstances, PathPattern};

/// Requests in both directions, over a node that was not traced, with a few that are lost.
fn some_trace() -> impl Strategy<Value = MessageTrace> {
    let message = (0usize..4, 0usize..4, 0i64..400, -20i64..60, 0u8..8, 0i64..40);
    proptest::collection::vec(message, 0..60).prop_map(|messages| {
        let mut trace = Fixture::new().untraced(&["d"]);
        for (bytes, (src, dst, send, latency, lost, early)) in (1..).zip(messages) {
            let sent = trace.send(
                ["a", "b", "c", "d"][src],
                ["a", "b", "c", "d"][dst],
                send,
                send + latency,
            );
            sent.bytes(bytes).arrives(send + latency - early);
            if lost == 0 {
                sent.lost();
            }
        }
        trace.trace()
    })
}

/// Writes the tables of an analysis, in row groups of this many rows.
fn written(trace: &MessageTrace, rows: usize) -> (tempfile::TempDir, DataDir) {
    let directory = tempfile::tempdir().unwrap();
    let dir = DataDir::new(directory.path());
    trace.write(dir.messages_path(), dir.nodes_path()).unwrap();
    let division = WorkDivision { messages: 3, partitions: 2, rows };
    let resources = AnalysisResources {
        division,
        threads: NonZeroUsize::new(2),
        ..AnalysisResources::default()
    };
    analyze(&dir, &Options { resources, clients_start_paths: false, ..Options::default() }, &())
        .unwrap();
    (directory, dir)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_instances_come_once_with_the_times_of_their_messages(
        trace in some_trace(),
        rows in 1usize..30,
        odd in any::<bool>(),
    ) {
        let (_directory, dir) = written(&trace, rows);
        let expected = PathInstances::read(dir.paths_path()).unwrap();
        let timed = TimedInstances::open(&dir).unwrap();
        let wanted = |which: &InstanceRow| !odd || which.path % 2 == 1;
        let mut next = if odd { 1 } else { 0 };
        for group in 0..timed.group_count() {
            let mut wrong = Vec::new();
            let read = timed.read_group(group, wanted, |instance| {
                let of = expected.get(next);
                let which = instance.which;
                let same = which.path == next as i64
                    && (which.pattern, which.probability) == (i64::from(of.pattern), of.probability)
                    && instance.hops.iter().map(|hop| hop.message).eq(of.messages.iter().map(|id| id.index() as i64))
                    && instance.hops.iter().map(|hop| hop.depth).eq(of.depths.iter().copied())
                    && instance.hops.iter().enumerate().all(|(place, hop)| {
                        let row = MessageId::from_index(hop.message as usize);
                        hop.sent == trace.send_ts(row)
                            && hop.received == receipt_time(&trace, of.messages, of.depths, place)
                            && hop.bytes == trace.bytes(row)
                    })
                    && instance.hops.iter().all(|hop| match hop.parent {
                        None => hop.depth == 0,
                        Some(parent) => instance.hops[parent as usize].depth + 1 == hop.depth,
                    });
                if !same {
                    wrong.push(format!("{instance:?} is not {of:?}"));
                }
                next += if odd { 2 } else { 1 };
                Ok(())
            });
            read.unwrap();
            prop_assert_eq!(wrong, Vec::<String>::new());
        }
        prop_assert!(next >= expected.len());
    }
}

#[test]
fn a_large_table_has_several_row_groups() {
    let mut trace = Fixture::new();
    for time in 0..20 {
        trace.send("a", "b", time, time + 1);
    }
    let (_directory, dir) = written(&trace.trace(), 5);
    let timed = TimedInstances::open(&dir).unwrap();
    assert_eq!(
        timed.group_count(),
        6,
        "three messages in each group, and five in the last two together"
    );
}

/// A client's request that a server forwards to a node that was not traced.
fn forwarded_instance() -> TimedInstance<'static> {
    let hop = |parent, depth, sent, received| TimedHop {
        parent,
        depth,
        message: 0,
        sent,
        received,
        bytes: 1,
        connecting: 0,
        is_error: None,
    };
    const HOPS: usize = 3;
    let hops: &'static [TimedHop; HOPS] = Box::leak(Box::new([
        hop(None, 0, None, Some(5)),
        hop(Some(0), 1, Some(10), None),
        hop(Some(1), 2, None, Some(90)),
    ]));
    TimedInstance { which: InstanceRow { path: 0, pattern: 0, probability: 1.0 }, hops }
}

#[test]
fn delays_are_defined_as_in_the_paper() {
    let instance = forwarded_instance();
    assert_eq!((instance.begin_time(), instance.duration()), (Some(5), 85));
    let delays = |hop| {
        (instance.node_latency(hop), instance.network_latency(hop), instance.untraced_latency(hop))
    };
    assert_eq!(
        [0, 1, 2].map(delays),
        [(None, None, None), (Some(5), None, None), (None, None, Some(80))]
    );
}

#[test]
fn a_message_read_to_its_end_after_its_effect_is_not_waited_for() {
    // b forwards a's request after its first byte, and reads the last one long after it has
    // responded.
    let mut trace = Fixture::new();
    trace.send("a", "b", 0, 500).arrives(10).on(1);
    trace.send("b", "c", 20, 30).on(2);
    trace.send("c", "b", 40, 50).ports(80, 40_000).accepting().on(2);
    trace.send("b", "a", 60, 70).ports(80, 40_000).accepting().on(1);
    let trees: &[(f64, &[(u32, u32)])] = &[(1.0, &[(0, 0), (1, 1), (2, 2), (3, 3)])];
    let trace = trace.trace();
    let (_directory, dir) = collected(&trace, trees);
    trace.write(dir.messages_path(), dir.nodes_path()).unwrap();
    let patterns = PathPattern::read_all(dir.patterns_path()).unwrap();
    let latencies = |of: fn(&Hop) -> &Option<DelaySummary>| {
        patterns[0]
            .hops
            .iter()
            .map(|hop| of(hop).as_ref().map(|delay| delay.mean))
            .collect::<Vec<_>>()
    };
    assert_eq!(latencies(|hop| &hop.network), [10.0; 4].map(Some));
    assert_eq!(latencies(|hop| &hop.node), [None, Some(10.0), Some(10.0), Some(10.0)]);
    assert_eq!(patterns[0].duration.mean, 70.0);
    let mut seen = 0;
    let timed = TimedInstances::open(&dir).unwrap();
    timed
        .read_group(
            0,
            |_| true,
            |instance| {
                let received: Vec<_> = instance.hops.iter().map(|hop| hop.received).collect();
                assert_eq!(received, [Some(10), Some(30), Some(50), Some(70)]);
                assert_eq!(
                    (instance.node_latency(1), instance.network_latency(0), instance.duration()),
                    (Some(10), Some(10), 70)
                );
                seen += 1;
                Ok(())
            },
        )
        .unwrap();
    assert_eq!(seen, 1);
    // A receiver that waits for the last byte waits for the network.
    let mut waits = Fixture::new();
    waits.send("a", "b", 0, 500).arrives(10);
    waits.send("b", "c", 510, 520);
    let (_directory, dir) = collected(&waits.trace(), &[(1.0, &[(0, 0), (1, 1)])]);
    let hops = &PathPattern::read_all(dir.patterns_path()).unwrap()[0].hops;
    assert_eq!(hops[0].network.as_ref().map(|delay| delay.mean), Some(500.0));
}

#[test]
fn tables_that_do_not_match_are_refused_with_their_name() {
    let mut trace = Fixture::new();
    trace.send("a", "b", 0, 10);
    trace.send("b", "c", 20, 30);
    let (_directory, dir) = written(&trace.trace(), 10);
    let read =
        || TimedInstances::open(&dir).and_then(|timed| timed.read_group(0, |_| true, |_| Ok(())));
    assert!(read().is_ok());
    let rewrite = |depth: i32, message: i64| {
        let schema = table::read_batches(dir.paths_path()).unwrap().schema();
        let arrays = vec![
            columns::int64_array([Some(0)]),
            columns::int64_array([Some(0)]),
            columns::float64_array([Some(1.0)]),
            columns::int32_array([Some(depth)]),
            columns::int64_array([Some(message)]),
            columns::int64_array([None]),
        ];
        let batch = columns::build_batch(dir.paths_path(), &schema, arrays).unwrap();
        table::write_batches(dir.paths_path(), schema, [batch]).unwrap();
        read().map_err(|error| error.to_string())
    };
    assert_eq!(rewrite(0, 1), Ok(()));
    for (depth, message, what) in
        [(1, 1, "begin with its root"), (0, 2, "no message 2"), (0, -1, "no message -1")]
    {
        let error = rewrite(depth, message).unwrap_err();
        assert!(error.contains("paths.parquet") && error.contains(what), "{error}");
    }
}
