//! Tests of connect times: by hand, and that the parts of a path add up to its duration.

use message_trace::MessageTrace;
use proptest::prelude::*;

use crate::fixture::{Fixture, analyzed, collected, some_trace};
use crate::paths::{ConnectTimes, PathPattern, TimedInstance, TimedInstances};

/// Two requests a -> b. For each, b calls c and then d, over a new connection each time. The begin
/// and end of each connection by b's clock are given, relative to the sending of the request.
fn requests(connects: [[Option<(i64, i64)>; 2]; 2]) -> MessageTrace {
    let mut trace = Fixture::new();
    for (request, [first, second]) in (0..).zip(connects) {
        let at = |time: i64| request * 1000 + time;
        let mut sends = |src: &str, dst: &str, sent, received, connect: Option<(i64, i64)>| {
            let sent = trace.send(src, dst, at(sent), at(received));
            if let Some((begin, end)) = connect {
                sent.connecting(at(begin), at(end));
            }
        };
        sends("a", "b", 0, 10, None);
        sends("b", "c", 50, 60, first);
        sends("c", "b", 70, 80, None);
        sends("b", "d", 120, 130, second);
        sends("d", "b", 140, 150, None);
        sends("b", "a", 160, 170, None);
    }
    trace.trace()
}

const PATHS: [(f64, &[(u32, u32)]); 2] = [
    (1.0, &[(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]),
    (1.0, &[(6, 0), (7, 1), (8, 2), (9, 3), (10, 4), (11, 5)]),
];

/// Returns the connect time and the node latency of the requests to c and d for each instance; and
/// the pattern.
fn connect_times_and_pattern(trace: &MessageTrace) -> (Vec<[Option<i64>; 4]>, PathPattern) {
    let (_directory, dir) = collected(trace, &PATHS);
    trace.write(dir.messages_path(), dir.nodes_path()).unwrap();
    let mut all = Vec::new();
    let each = |instance: &TimedInstance<'_>| {
        let [c, d] = [1, 3].map(|hop| (instance.connect_time(hop), instance.node_latency(hop)));
        all.push([c.0, c.1, d.0, d.1]);
        assert_eq!(parts(instance), instance.duration());
        Ok(())
    };
    TimedInstances::open(&dir).unwrap().read_group(0, |_| true, each).unwrap();
    let patterns = PathPattern::read_all(dir.patterns_path()).unwrap();
    assert_eq!(patterns.len(), 1, "instances with and without a connect time are of one pattern");
    (all, patterns[0].clone())
}

/// Returns the sum of all delays of an instance that is a chain.
fn parts(instance: &TimedInstance<'_>) -> i64 {
    let of = |hop| {
        let delays =
            [instance.node_latency(hop), instance.connect_time(hop), instance.network_latency(hop)];
        delays.into_iter().flatten().sum::<i64>()
    };
    (0..instance.hops.len()).map(of).sum()
}

#[test]
fn connect_time_is_not_node_latency() {
    let (all, pattern) =
        connect_times_and_pattern(&requests([[Some((15, 45)), None], [None, Some((90, 120))]]));
    assert_eq!(all[0], [Some(30), Some(10), None, Some(40)]);
    assert_eq!(all[1], [None, Some(40), Some(30), Some(10)]);
    let hop = &pattern.hops[1];
    let ConnectTimes { count, expected, share, delay } = hop.connect.unwrap();
    assert_eq!((count, expected, share, delay.mean, delay.p99), (1, 1.0, 0.5, 30.0, 30.0));
    assert_eq!((hop.node.unwrap().mean, pattern.hops[2].connect), (25.0, None));
    // Means add up to the mean of the whole.
    let mean = |hop: &crate::paths::Hop| {
        let connect = hop.connect.map_or(0.0, |connect| connect.mean_over_all());
        [hop.node, hop.network].into_iter().flatten().map(|delay| delay.mean).sum::<f64>() + connect
    };
    assert_eq!(pattern.hops.iter().map(mean).sum::<f64>(), pattern.duration.mean);
}

#[test]
fn a_connection_made_before_the_request_has_no_connect_time() {
    // One connection was opened long before; the other was begun before the request came, and
    // completed after.
    let (all, pattern) =
        connect_times_and_pattern(&requests([[Some((-500, -400)), None], [Some((5, 45)), None]]));
    assert_eq!(all, [[None, Some(40), None, Some(40)]; 2]);
    assert_eq!(pattern.hops[1].connect, None);
}

#[test]
fn a_connection_made_during_an_earlier_call_counts_only_after_it() {
    // d is connected to while c works; the second time that is over before c responds.
    let (all, _) =
        connect_times_and_pattern(&requests([[None, Some((55, 100))], [None, Some((55, 75))]]));
    assert_eq!(all[0], [None, Some(40), Some(20), Some(20)]);
    assert_eq!(all[1], [None, Some(40), None, Some(40)]);
    // A connection begun before the request came is not the request's, however late it was
    // complete.
    let (all, _) = connect_times_and_pattern(&requests([[None, Some((5, 100))], [None, None]]));
    assert_eq!(all[0], [None, Some(40), None, Some(40)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn node_latency_and_connect_time_add_up_to_the_time_between_receipt_and_sending(trace in some_trace()) {
        let (_directory, dir) = analyzed(&trace);
        let timed = TimedInstances::open(&dir).unwrap();
        for group in 0..timed.group_count() {
            let mut wrong = Vec::new();
            let each = |instance: &TimedInstance<'_>| {
                for (place, hop) in instance.hops.iter().enumerate() {
                    let cause = hop.parent.map(|parent| &instance.hops[parent as usize]);
                    let between = cause.and_then(|cause| Some(hop.sent? - cause.received?));
                    let parts = instance.node_latency(place).map(|node| node + hop.connecting);
                    let is_whole = hop.connecting == 0 || (1..=between.unwrap_or(0)).contains(&hop.connecting);
                    if parts != between || !is_whole {
                        wrong.push(*hop);
                    }
                }
                Ok(())
            };
            timed.read_group(group, |_| true, each).unwrap();
            prop_assert_eq!(wrong, Vec::new());
        }
    }
}
