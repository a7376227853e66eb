use super::*;
use crate::naming::Naming;
use crate::options::Options;
use message_trace::{
    EndPair, FROM_ACCEPTING, FlowId, MessageId, NodeEnd, NodeGrain, NodeList, TransportProtocol,
};

/// Nodes by host, process, command and whether they were traced.
type NodeRow = (&'static str, Option<i32>, &'static str, bool);

/// A trace in which each `(client, server, client's end, server's end)` is a call with a response.
fn trace(nodes: &[NodeRow], asked: &[(usize, usize, &str, &str)]) -> MessageTrace {
    let node = |(host, pid, command, traced): &NodeRow| Node {
        host: (*host).into(),
        pid: *pid,
        command: (*command).into(),
        traced: *traced,
        ..Node::default()
    };
    let mut trace = MessageTrace::new(NodeList(nodes.iter().map(node).collect()));
    for (time, (client, server, client_end, server_end)) in (0..).step_by(10).zip(asked) {
        let [client_end, server_end] = [client_end, server_end].map(|text| {
            let Ok(endpoint) = text.parse::<Endpoint>();
            trace.intern(&endpoint)
        });
        let ends =
            [(NodeId::from_index(*client), client_end), (NodeId::from_index(*server), server_end)];
        for (direction, at) in [(FROM_CONNECTING, time), (FROM_ACCEPTING, time + 5)] {
            let [(src, src_endpoint), (dst, dst_endpoint)] =
                if direction == FROM_CONNECTING { ends } else { [ends[1], ends[0]] };
            let seen = |node: NodeId, time: i64| Some(time).filter(|_| nodes[node.index()].3);
            let (sent, received) = (seen(src, at), seen(dst, at + 1));
            let ends = EndPair {
                src: NodeEnd::new(src, src_endpoint),
                dst: NodeEnd::new(dst, dst_endpoint),
                protocol: TransportProtocol::Tcp,
            };
            let flow = FlowId::from_number(time);
            let message = Message {
                bytes: 1,
                ..Message::between_ends(ends, flow, direction).with_times(sent, received)
            };
            trace.push(&message, None);
        }
    }
    trace.sort_messages();
    trace
}

fn options(rules: &[&str], grain: NodeGrain) -> Options {
    let aliases = serde_json::json!({ "named": null, "rules": rules });
    Options { grain, aliases: serde_json::from_value(aliases).unwrap(), ..Options::default() }
}

/// Returns the hops, each once, in the order of the trace.
fn hops(trace: &MessageTrace, rules: &[&str], grain: NodeGrain) -> Vec<String> {
    let naming = Naming::new(trace, &options(rules, grain));
    let text = |text| naming.label_text(text).to_owned();
    (0..naming.hop_count() as u32)
        .map(|hop| naming.hop_name(hop))
        .map(|hop| {
            format!(
                "{}:{} > {}:{}",
                text(hop.src),
                text(hop.src_port),
                text(hop.dst),
                text(hop.dst_port)
            )
        })
        .collect()
}

/// Returns the number of nodes at a grain.
fn nodes_at(trace: &MessageTrace, rules: &[&str], grain: NodeGrain) -> usize {
    Naming::new(trace, &options(rules, grain)).nodes().len()
}

const APP: NodeRow = ("h1", Some(7), "java", true);

/// An application and two addresses that were not traced.
fn untraced() -> MessageTrace {
    let nodes = [
        APP,
        ("10.0.0.5", None, "10.0.0.5:80", false),
        ("10.0.0.6", None, "10.0.0.6:80", false),
        ("10.9.0.1", None, "10.9.0.1", false),
    ];
    trace(
        &nodes,
        &[
            (3, 0, "10.9.0.1:40000", "10.0.0.1:8080"),
            (0, 1, "10.0.0.1:40001", "10.0.0.5:80"),
            (0, 2, "10.0.0.1:40002", "10.0.0.6:80"),
        ],
    )
}

#[test]
fn two_addresses_of_one_name_are_one_node() {
    let trace = untraced();
    assert_eq!(
        hops(&trace, &[], NodeGrain::Command),
        [
            "CLIENT:* > java:8080",
            "java:8080 > CLIENT:*",
            "java:* > 10.0.0.5:80:80",
            "10.0.0.5:80:80 > java:*",
            "java:* > 10.0.0.6:80:80",
            "10.0.0.6:80:80 > java:*",
        ]
    );
    let rules = ["address 10.0.0.5 = web", "address 10.0.0.6 = web"];
    assert_eq!(
        hops(&trace, &rules, NodeGrain::Command),
        ["CLIENT:* > java:8080", "java:8080 > CLIENT:*", "java:* > web:80", "web:80 > java:*"]
    );
    for grain in NodeGrain::ALL {
        assert_eq!(
            (nodes_at(&trace, &[], grain), nodes_at(&trace, &rules, grain)),
            (4, 3),
            "{grain}"
        );
    }
}

#[test]
fn commands_and_hosts_have_the_names_the_user_gives_them_at_every_grain() {
    let nodes = [APP, ("h2", Some(8), "postgres", true)];
    let trace = trace(&nodes, &[(0, 1, "10.0.0.1:40000", "10.0.0.2:5432")]);
    let rules = ["host h* = db", "command java = shop", "host h2 = never, as the first rule fits"];
    let first = |rules: &[&str], grain| hops(&trace, rules, grain).swap_remove(0);
    assert_eq!(first(&[], NodeGrain::Command), "java:* > h2/postgres:5432");
    let rules_of_two = ["host h1 = front", "host h2 = db", "command java = shop"];
    assert_eq!(
        first(&rules_of_two, NodeGrain::Command),
        "shop:* > db/postgres:5432".replace("shop", "front/shop")
    );
    assert_eq!(first(&rules_of_two, NodeGrain::Process), "front/shop[7]:* > db/postgres[8]:5432");
    assert_eq!(first(&rules_of_two, NodeGrain::Thread), "front/shop[7]:* > db/postgres[8]:5432");
    assert_eq!(first(&rules_of_two, NodeGrain::Host), "front:* > db:5432");
    // Both hosts are one: no name needs its host, and as hosts they are one node.
    assert_eq!(first(&rules, NodeGrain::Command), "shop:* > postgres:5432");
    assert_eq!(
        (nodes_at(&trace, &rules, NodeGrain::Host), nodes_at(&trace, &rules, NodeGrain::Command)),
        (1, 2)
    );
}

#[test]
fn a_node_that_accepts_at_an_endpoint_has_its_name() {
    let nodes = [APP, ("h1", Some(8), "java", true), ("10.0.0.5", None, "10.0.0.5:80", false)];
    let trace = trace(
        &nodes,
        &[(0, 1, "10.0.0.1:40000", "10.0.0.1:8081"), (1, 2, "10.0.0.1:40001", "10.0.0.5:80")],
    );
    let rules = [
        "endpoint *:8081 = orders",
        "endpoint 10.0.0.5:80 = stock",
        "command java = shop",
        "address 10.0.0.5 = other",
    ];
    assert_eq!(
        hops(&trace, &rules, NodeGrain::Command),
        [
            "shop:* > orders:8081",
            "orders:8081 > shop:*",
            "orders:* > stock:80",
            "stock:80 > orders:*"
        ]
    );
    assert_eq!(hops(&trace, &rules, NodeGrain::Process)[0], "shop[7]:* > orders[8]:8081");
}

#[test]
fn a_client_that_the_user_names_is_not_one_of_many() {
    let trace = untraced();
    assert_eq!(
        hops(&trace, &["address 10.9.0.0/16 = office"], NodeGrain::Command)[0],
        "office:* > java:8080"
    );
    assert_eq!(
        hops(&trace, &["address 10.9.0.0/16 = office"], NodeGrain::Host)[0],
        "office:* > h1:8080"
    );
    let naming = Naming::new(&trace, &options(&["address 10.9.0.1 = office"], NodeGrain::Command));
    assert!(
        naming.nodes()[naming.src(MessageId::from_index(0)) as usize].client,
        "it remains a client"
    );
}

#[test]
fn an_address_of_a_traced_host_is_named_after_the_host() {
    // h1 has 10.0.0.1; 10.0.0.1:9000 is a program there that was not traced. 10.7.0.1 is an address
    // of both hosts.
    let nodes = [
        APP,
        ("h2", Some(9), "proxy", true),
        ("10.0.0.1", None, "10.0.0.1:9000", false),
        ("10.7.0.1", None, "10.7.0.1:53", false),
    ];
    let trace = trace(
        &nodes,
        &[
            (1, 0, "10.0.0.2:40000", "10.0.0.1:8080"),
            (1, 2, "10.0.0.2:40001", "10.0.0.1:9000"),
            (0, 1, "10.7.0.1:40000", "10.7.0.1:80"),
            (0, 3, "10.0.0.1:40002", "10.7.0.1:53"),
        ],
    );
    let names = |rules: &[&str], grain| -> Vec<String> {
        hops(&trace, rules, grain)
            .into_iter()
            .filter(|hop| hop.ends_with(":9000") || hop.ends_with(":53"))
            .collect()
    };
    assert_eq!(
        names(&[], NodeGrain::Command),
        ["h2/proxy:* > h1:9000:9000", "h1/java:* > 10.7.0.1:53:53"]
    );
    assert_eq!(names(&[], NodeGrain::Host), ["h2:* > h1:9000", "h1:* > 10.7.0.1:53"]);
    assert_eq!(names(&["host h1 = front"], NodeGrain::Host)[0], "h2:* > front:9000");
    assert_eq!(
        names(&["address 10.0.0.1 = front"], NodeGrain::Command)[0],
        "h2/proxy:* > front:9000"
    );
}

#[test]
fn a_loopback_address_belongs_to_the_host_of_its_peers() {
    let nodes = [
        APP,
        ("h2", Some(9), "proxy", true),
        ("127.0.0.1", None, "127.0.0.1:6379", false),
        ("127.0.0.1", None, "127.0.0.1:6379", false),
    ];
    let talk =
        [(0, 2, "127.0.0.1:40000", "127.0.0.1:6379"), (1, 3, "127.0.0.1:40000", "127.0.0.1:6379")];
    let two = trace(&nodes, &talk);
    let servers = |trace: &MessageTrace, grain| -> Vec<String> {
        hops(trace, &[], grain).into_iter().filter(|hop| hop.ends_with(":6379")).collect()
    };
    assert_eq!(
        servers(&two, NodeGrain::Command),
        ["java:* > h1:6379:6379", "proxy:* > h2:6379:6379"]
    );
    assert_eq!(servers(&two, NodeGrain::Host), ["h1:* > h1:6379", "h2:* > h2:6379"]);
    // On one host nothing is ambiguous.
    let one = trace(
        &[APP, nodes[1], nodes[2]]
            .map(|node| if node.3 { (APP.0, node.1, node.2, true) } else { node }),
        &[(0, 2, "127.0.0.1:40000", "127.0.0.1:6379")],
    );
    assert_eq!(servers(&one, NodeGrain::Command), ["java:* > 127.0.0.1:6379:6379"]);
}

#[test]
fn a_node_named_after_its_host_is_named_once() {
    let trace =
        trace(&[("web-1", None, "web-1", true), ("web-2", None, "web-2", true)], &[(0, 1, "", "")]);
    let asked = |rules: &[&str]| hops(&trace, rules, NodeGrain::Command).swap_remove(0);
    assert_eq!(asked(&[]), "CLIENT:* > web-2:");
    assert_eq!(asked(&["command web-2 = web"]), "CLIENT:* > web:");
    assert_eq!(asked(&["host web-2 = web"]), "CLIENT:* > web:");
}

#[test]
fn a_machine_with_two_names_in_a_table_is_one_node() {
    let nodes = [
        ("10.0.0.1", None, "10.0.0.1", true),
        ("10.0.0.2", None, "10.0.0.2", true),
        ("c", None, "c", true),
        ("d", None, "d", true),
    ];
    let trace = trace(&nodes, &[(2, 0, "", ""), (1, 3, "", "")]);
    let rules = ["address 10.0.0.1 = gateway", "address 10.0.0.2 = gateway"];
    let naming = Naming::new(&trace, &options(&rules, NodeGrain::Command));
    let into = trace.ids().find(|row| trace.message(*row).dst.index() == 0).unwrap();
    let out = trace.ids().find(|row| trace.message(*row).src.index() == 1).unwrap();
    assert_eq!(naming.dst(into), naming.src(out), "both addresses are one node");
    assert_eq!(naming.label_text(naming.nodes()[naming.src(out) as usize].name), "gateway");
    assert!(!naming.nodes()[naming.src(out) as usize].client, "c calls it");
}
