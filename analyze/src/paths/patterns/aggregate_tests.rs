//! Patterns by hand: shape, count, expectation and the summaries of delays.

use message_trace::{DataDir, MessageTrace};

use super::*;
use crate::fixture::Fixture;
use crate::naming::Naming;
use crate::options::Options;
use crate::paths::collector::PathCollector;
use crate::paths::{PathInstances, PathPattern};

const OPTIONS: fn() -> Options = || Options { clients_start_paths: false, ..Options::default() };

/// Returns the patterns of trees of messages, given with their probabilities.
fn patterns(
    trace: &MessageTrace,
    trees: &[(f64, &[(u32, u32)])],
) -> (Vec<PathPattern>, PathInstances) {
    let (options, naming) = (OPTIONS(), Naming::new(trace, &OPTIONS()));
    let directory = tempfile::tempdir().unwrap();
    let dir = DataDir::new(directory.path());
    let budget = MemoryBudget::new(options.resources.memory);
    let mut collector = PathCollector::new(&options, &budget, dir.path());
    collector.add_trees(&trace.into(), &naming, trees);
    collector.finish(&naming, None, &dir, &()).unwrap();
    (
        PathPattern::read_all(dir.patterns_path()).unwrap(),
        PathInstances::read(dir.paths_path()).unwrap(),
    )
}

/// Requests a -> b, b -> c, answered by c -> b, one after the other; b works for 5, 15, 25 before
/// its call.
fn requests() -> MessageTrace {
    let mut trace = Fixture::new();
    for request in 0..3 {
        let (time, slow) = (request * 1000, request * 10);
        let port = trace.ephemeral();
        trace.send("a", "b", time, time + 10).ports(port, 80);
        trace.send("b", "c", time + 15 + slow, time + 20 + slow).ports(port, 81);
        trace.send("c", "b", time + 50, time + 60).ports(81, port).accepting();
    }
    trace.trace()
}

#[test]
fn instances_of_one_shape_are_counted_and_their_delays_weighted() {
    let trace = requests();
    let tree = |first: u32| [(first, 0), (first + 1, 1), (first + 2, 2)];
    let trees = [(0.5, &tree(0)[..]), (0.25, &tree(3)[..]), (0.25, &tree(6)[..])];
    let (patterns, _) = patterns(&trace, &trees);
    assert_eq!(patterns.len(), 1);
    let pattern = &patterns[0];
    assert_eq!((pattern.count, pattern.expected, pattern.max_probability), (3, 1.0, 0.5));
    assert_eq!((pattern.duration.mean, pattern.total_time), (60.0, 60.0));
    let [root, ask, answer] = &pattern.hops[..] else { panic!("{:?}", pattern.hops) };
    assert_eq!((root.parent, ask.parent, answer.parent), (None, Some(0), Some(1)));
    assert_eq!([root, ask, answer].map(|hop| hop.depth), [0, 1, 2]);
    assert_eq!((root.src.as_str(), root.src_port.as_str()), ("a", "*"));
    assert_eq!((root.dst.as_str(), root.dst_port.as_str()), ("b", "80"));
    assert_eq!((answer.src_port.as_str(), answer.dst_port.as_str()), ("81", "*"));
    assert_eq!(root.node, None);
    // Node latencies 5, 15, 25 with weights 0.5, 0.25, 0.25 (WAP5 section 5.2).
    let node = ask.node.unwrap();
    assert_eq!((node.mean, node.p50, node.p99), (12.5, 5.0, 25.0));
    assert_eq!(ask.network.unwrap().mean, 5.0);
    assert_eq!((ask.untraced, ask.bytes), (None, 100.0));
}

#[test]
fn different_labels_or_trees_are_different_patterns_by_descending_total_time() {
    let trace = requests();
    let trees: [(f64, &[(u32, u32)]); 4] = [
        (1.0, &[(0, 0), (1, 1)]),
        (0.9, &[(3, 0), (4, 1), (5, 2)]),
        (0.9, &[(6, 0), (7, 1), (8, 1)]),
        (0.9, &[(0, 0), (1, 1), (2, 2)]),
    ];
    let (patterns, instances) = patterns(&trace, &trees);
    let totals: Vec<f64> = patterns.iter().map(|pattern| pattern.total_time).collect();
    assert_eq!(totals, [108.0, 54.0, 20.0]);
    assert_eq!(patterns.iter().map(|pattern| pattern.id).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(instances.iter().map(|instance| instance.pattern).collect::<Vec<_>>(), [2, 0, 1, 0]);
}

#[test]
fn the_composite_metrics() {
    let trace = requests();
    let tree = |first: u32| [(first, 0)];
    let trees = [(0.5, &tree(0)[..]), (0.6, &tree(3)[..]), (0.1, &tree(6)[..])];
    let (patterns, _) = patterns(&trace, &trees);
    assert!((patterns[0].expected_per_count() - 0.4).abs() < 1e-12);
    assert!((patterns[0].expected_per_root_count() - 1.2 / 3.0_f64.sqrt()).abs() < 1e-12);
}

#[test]
fn the_delay_of_an_untraced_node_is_its_peers_whole_wait() {
    let mut trace = Fixture::new().untraced(&["dns", "user"]);
    trace.send("user", "a", 0, 5);
    trace.send("a", "dns", 10, 0);
    trace.send("dns", "a", 0, 90).accepting();
    let trace = trace.trace();
    let (patterns, _) = patterns(&trace, &[(1.0, &[(0, 0), (1, 1), (2, 2)])]);
    let [root, ask, answer] = &patterns[0].hops[..] else { panic!() };
    assert_eq!((root.src_traced, root.dst_traced, root.network), (false, true, None));
    assert_eq!((ask.node.unwrap().mean, ask.network), (5.0, None));
    assert_eq!((answer.node, answer.network, answer.untraced.unwrap().mean), (None, None, 80.0));
    // The root's sending is not known, so it begins with its receipt.
    assert_eq!(patterns[0].duration.mean, 85.0);
}
