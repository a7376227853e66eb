//! Patterns by roles, by hand: Figure 3 of WAP5, servers with one role in one path, and the delays
//! of pooled instances.

use message_trace::{DataDir, MessageId, MessageTrace, NodeGrain};
use out_of_core::MemoryBudget;

use super::collector::PathCollector;
use super::{PathInstances, PathPattern};
use crate::fixture::Fixture;
use crate::naming::Naming;
use crate::options::Options;

/// A path as the message numbers and depths of its tree.
type Tree = Vec<(u32, u32)>;

/// Returns the patterns of trees of messages, each with probability 1.
fn patterns(
    trace: &MessageTrace,
    trees: &[Tree],
    options: &Options,
) -> (Vec<PathPattern>, PathInstances) {
    let naming = Naming::new(trace, options);
    let directory = tempfile::tempdir().unwrap();
    let dir = DataDir::new(directory.path());
    let budget = MemoryBudget::new(options.resources.memory);
    let mut collector = PathCollector::new(options, &budget, dir.path());
    let trees: Vec<(f64, &[(u32, u32)])> =
        trees.iter().map(|tree| (1.0, tree.as_slice())).collect();
    collector.add_trees(&trace.into(), &naming, &trees);
    collector.finish(&naming, None, &dir, &()).unwrap();
    (
        PathPattern::read_all(dir.patterns_path()).unwrap(),
        PathInstances::read(dir.paths_path()).unwrap(),
    )
}

fn options(grain: NodeGrain, roles: bool) -> Options {
    Options { grain, roles, ..Options::default() }
}

/// Returns each pattern as a line.
fn lines(patterns: &[PathPattern]) -> Vec<String> {
    let hop = |hop: &super::Hop| format!("{} > {}:{}", hop.src, hop.dst, hop.dst_port);
    patterns
        .iter()
        .map(|pattern| pattern.hops.iter().map(hop).collect::<Vec<_>>().join(", "))
        .collect()
}

/// Chains of messages, one after the other. In a chain every node sends to the next; messages back
/// to an earlier node are responses. Each node works for the chain's delay before it sends on; the
/// network takes 5.
fn chains(chains: &[(&[&str], i64)]) -> (MessageTrace, Vec<Tree>) {
    let (mut trace, mut trees, mut number) = (Fixture::new(), Vec::new(), 0);
    for (place, (nodes, delay)) in (0..).zip(chains) {
        let (mut time, mut tree) = (place * 100_000, Tree::new());
        for hop in 0..nodes.len() - 1 {
            let (src, dst) = (nodes[hop], nodes[hop + 1]);
            let sent_before =
                |src, dst| nodes[..=hop].windows(2).filter(|pair| *pair == [src, dst]).count();
            let answers = sent_before(dst, src) > sent_before(src, dst);
            let sent = trace.send(src, dst, time, time + 5);
            if answers {
                sent.ports(80, 40_000).accepting();
            }
            tree.push((number, hop as u32));
            number += 1;
            time += 5 + delay;
        }
        trees.push(tree);
    }
    (trace.trace(), trees)
}

/// WAP5's Figure 3: D is the first proxy and B the second, then B the first and C the second. The
/// delays of nodes are 10 and 30.
fn figure_3() -> (MessageTrace, Vec<Tree>) {
    chains(&[
        (&["y/wget", "d/proxy", "b/proxy", "d/proxy", "y/wget"], 10),
        (&["x/wget", "b/proxy", "c/proxy", "b/proxy", "x/wget"], 30),
    ])
}

#[test]
fn figure_3_is_one_pattern_by_roles() {
    let (trace, trees) = figure_3();
    let (by_names, _) = patterns(&trace, &trees, &options(NodeGrain::Command, false));
    assert_eq!(
        lines(&by_names),
        [
            "wget > b/proxy:80, b/proxy > c/proxy:80, c/proxy > b/proxy:*, b/proxy > wget:*",
            "wget > d/proxy:80, d/proxy > b/proxy:80, b/proxy > d/proxy:*, d/proxy > wget:*",
        ]
    );
    for grain in NodeGrain::ALL {
        let (found, instances) = patterns(&trace, &trees, &options(grain, true));
        let client = if grain == NodeGrain::Host { "CLIENT" } else { "wget" };
        let once = format!(
            "{client} > proxy:80, proxy > proxy#2:80, proxy#2 > proxy:*, proxy > {client}:*"
        );
        assert_eq!(lines(&found), [once], "{grain}");
        // Both instances have their own messages, so the nodes of each are known.
        let rows = |of: &[MessageId]| of.iter().map(|message| message.index()).collect();
        let messages: Vec<(u32, Vec<usize>)> =
            instances.iter().map(|instance| (instance.pattern, rows(instance.messages))).collect();
        assert_eq!(messages, [(0, vec![0, 1, 2, 3]), (0, vec![4, 5, 6, 7])]);
        let pattern = &found[0];
        assert_eq!((pattern.count, pattern.expected, pattern.max_probability), (2, 2.0, 1.0));
        // Four hops of 5 and three nodes of 10: 50; of 30: 110.
        assert_eq!(pattern.total_time, 160.0);
        assert_eq!(
            (pattern.duration.mean, pattern.duration.p50, pattern.duration.p99),
            (80.0, 50.0, 110.0)
        );
        for hop in &pattern.hops[1..] {
            let (node, network) = (hop.node.unwrap(), hop.network.unwrap());
            assert_eq!((node.mean, node.p50, node.p99, network.mean), (20.0, 10.0, 30.0, 5.0));
            assert!(hop.src_traced && hop.dst_traced);
        }
    }
}

#[test]
fn many_replicas_are_one_pattern_with_pooled_delays() {
    // Request i takes 10, 20, .. 50 at a proxy of its own and a server of its own.
    let hosts = [["p0/proxy", "s0/server"], ["p1/proxy", "s1/server"], ["p2/proxy", "s2/server"]];
    let paths: Vec<[&str; 5]> = (0..5)
        .map(|request| {
            let (proxy, server) = (hosts[request % 3][0], hosts[request * 2 % 3][1]);
            ["one/load", proxy, server, proxy, "one/load"]
        })
        .collect();
    let timed: Vec<(&[&str], i64)> =
        paths.iter().map(|path| &path[..]).zip((1..).map(|i| 10 * i)).collect();
    let (trace, trees) = chains(&timed);
    assert_eq!(patterns(&trace, &trees, &options(NodeGrain::Command, false)).0.len(), 3);
    let (found, _) = patterns(&trace, &trees, &options(NodeGrain::Command, true));
    assert_eq!(
        lines(&found),
        ["load > proxy:80, proxy > server:80, server > proxy:*, proxy > load:*"]
    );
    let node = found[0].hops[2].node.unwrap();
    assert_eq!((found[0].count, node.mean, node.p50, node.p99), (5, 30.0, 30.0, 50.0));
    // Five times four hops of 5, and three nodes each of 10 to 50.
    assert_eq!(found[0].total_time, 100.0 + 450.0);
}

#[test]
fn two_servers_with_a_role_differ_from_one_that_is_passed_twice() {
    let (trace, trees) = chains(&[
        (&["one/load", "p/proxy", "s/server", "p/proxy", "t/server", "p/proxy"], 10),
        (&["one/load", "p/proxy", "s/server", "p/proxy", "s/server", "p/proxy"], 10),
        (&["one/load", "q/proxy", "t/server", "q/proxy", "s/server", "q/proxy"], 10),
        (&["one/load", "q/proxy", "t/server", "q/proxy", "t/server", "q/proxy"], 10),
    ]);
    let (found, instances) = patterns(&trace, &trees, &options(NodeGrain::Command, true));
    let of: Vec<u32> = instances.iter().map(|instance| instance.pattern).collect();
    assert_eq!(of, [0, 1, 0, 1]);
    let hops = |second: &str| {
        format!(
            "load > proxy:80, proxy > server:80, server > proxy:*, proxy > {second}:80, {second} > proxy:*"
        )
    };
    assert_eq!(lines(&found), [hops("server#2"), hops("server")]);
}

#[test]
fn the_grain_decides_whether_servers_are_different() {
    // Two processes of one command on one host: at any grain but process and thread they are one.
    let (trace, trees) =
        chains(&[(&["load", "proxy", "server#1", "proxy", "server#2", "proxy"], 10)]);
    for (grain, second) in [
        (NodeGrain::Process, "server#2"),
        (NodeGrain::Thread, "server#2"),
        (NodeGrain::Command, "server"),
    ] {
        let (found, _) = patterns(&trace, &trees, &options(grain, true));
        assert!(
            lines(&found)[0].contains(&format!("proxy > {second}:80")),
            "{grain}: {:?}",
            lines(&found)
        );
    }
    let (found, _) = patterns(&trace, &trees, &options(NodeGrain::Host, true));
    let host = "proxy+server";
    assert!(lines(&found)[0].starts_with(&format!("{host} > {host}:80")), "{:?}", lines(&found));
}
