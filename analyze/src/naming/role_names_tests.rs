use std::collections::HashSet;

use message_trace::MessageTrace;

use super::*;
use crate::fixture::Fixture;
use crate::naming::Naming;

/// Returns the hops by roles, as `sender:port > receiver:port`, sorted.
fn hops(trace: &MessageTrace, rules: &[&str], grain: NodeGrain) -> Vec<String> {
    let aliases = serde_json::json!({ "named": null, "rules": rules });
    let aliases = serde_json::from_value(aliases).unwrap();
    let options = Options { grain, aliases, roles: true, ..Options::default() };
    let naming = Naming::new(trace, &options);
    let by_role = naming.role_labels().unwrap();
    let hop = |hop| {
        let hop = by_role.hop_name(hop);
        let role = |role| by_role.role(role).numbered_name(0);
        let text = |text| naming.label_text(text);
        format!(
            "{}:{} > {}:{}",
            role(hop.src),
            text(hop.src_port),
            role(hop.dst),
            text(hop.dst_port)
        )
    };
    let mut hops: Vec<String> = (0..by_role.hop_count() as u32).map(hop).collect();
    hops.sort();
    hops
}

/// A message from each client to each server, at port 80 or one given after an `@`.
fn trace(untraced: &[&str], pairs: &[(&str, &str)]) -> MessageTrace {
    let mut trace = Fixture::new().untraced(untraced);
    for (time, (src, dst)) in (0..).step_by(10).zip(pairs) {
        let (dst, port) = dst.split_once('@').unwrap_or((dst, "80"));
        trace.send(src, dst, time, time + 1).ports(40_000, port.parse().unwrap());
    }
    trace.trace()
}

#[test]
fn a_role_is_the_program_at_every_grain() {
    let pairs = [
        ("x/load", "one/nginx#1"),
        ("y/load", "two/nginx#2"),
        ("one/nginx#1", "three/app"),
        ("two/nginx#2", "four/app"),
    ];
    let trace = trace(&[], &pairs);
    for grain in NodeGrain::ALL {
        // A host that only makes calls is not a program.
        let client = if grain == NodeGrain::Host { "CLIENT" } else { "load" };
        let expected = [format!("{client}:* > nginx:80"), "nginx:* > app:80".to_owned()];
        assert_eq!(
            hops(&trace, &[], grain).iter().collect::<HashSet<_>>(),
            expected.iter().collect(),
            "{grain}"
        );
    }
}

#[test]
fn the_role_of_a_host_is_its_serving_programs() {
    let pairs = [
        ("x/load", "one/nginx"),
        ("one/nginx", "one/app"),
        ("x/load", "two/nginx"),
        ("two/nginx", "two/app"),
        // A program that only makes calls does not name a host.
        ("two/cron", "three/db"),
        ("one/app", "three/db"),
    ];
    assert_eq!(
        hops(&trace(&[], &pairs), &[], NodeGrain::Host),
        ["CLIENT:* > app+nginx:80", "app+nginx:* > app+nginx:80", "app+nginx:* > db:80"]
    );
}

#[test]
fn a_node_known_by_its_address_is_any_node_at_the_port() {
    let (one, two, dns) = ("192.0.2.1:443", "192.0.2.2:443", "192.0.2.1:53");
    let pairs = [
        ("x/load", "a/app"),
        ("a/app", "192.0.2.1/192.0.2.1:443@443"),
        ("a/app", "192.0.2.2/192.0.2.2:443@443"),
    ];
    let pairs = [&pairs[..], &[("a/app", "192.0.2.1/192.0.2.1:53@53")]].concat();
    let trace = trace(&[one, two, dns], &pairs);
    for grain in [NodeGrain::Process, NodeGrain::Command, NodeGrain::Thread] {
        assert_eq!(
            hops(&trace, &[], grain),
            ["app:* > any:443:443", "app:* > any:53:53", "load:* > app:80"],
            "{grain}"
        );
    }
    let by_host = ["CLIENT:* > app:80", "app:* > any:443", "app:* > any:53"];
    assert_eq!(hops(&trace, &[], NodeGrain::Host), by_host);
    // A node that the user named is not anonymous.
    let named = ["address 192.0.2.2 = payments"];
    assert!(hops(&trace, &named, NodeGrain::Command).contains(&"app:* > payments:443".to_owned()));
    assert!(hops(&trace, &named, NodeGrain::Host).contains(&"app:* > payments:443".to_owned()));
}

#[test]
fn hosts_without_programs_share_a_role_without_their_numbers() {
    let hosts = |pairs: &[(&str, &str)]| {
        let whole = |host: &str| format!("{host}/{host}");
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(a, b)| (whole(a), whole(b))).collect();
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let trace = trace(&[], &pairs);
        assert_eq!(hops(&trace, &[], NodeGrain::Command), hops(&trace, &[], NodeGrain::Host));
        hops(&trace, &[], NodeGrain::Command)
    };
    assert_eq!(
        hosts(&[
            ("c", "web-1"),
            ("c", "web-12"),
            ("web-1", "DB1"),
            ("web-1", "DB2"),
            ("web-1", "s3")
        ]),
        ["CLIENT:* > web:80", "web:* > DB:80", "web:* > s3:80"]
    );
    assert_eq!(
        [
            host_stem("web-1"),
            host_stem("a_2"),
            host_stem("7"),
            host_stem("10.0.0.1"),
            host_stem("x")
        ],
        ["web", "a", "7", "10.0.0.1", "x"]
    );
}

#[test]
fn role_rules_of_the_user_apply() {
    let pairs =
        [("x/load", "one/app@8001"), ("x/load", "one/java@8002"), ("one/app", "two/db@5432")];
    let trace = trace(&[], &pairs);
    let found = |rules: &[&str]| hops(&trace, rules, NodeGrain::Command);
    assert_eq!(found(&[]), ["app:* > db:5432", "load:* > app:8001", "load:* > java:8002"]);
    // At any port, since two programs on a host have two.
    assert_eq!(found(&["role one/* = shop"]), ["load:* > shop:*", "shop:* > db:5432"]);
    // A role with the name of a program is that of the program.
    assert_eq!(found(&["role one/java = app"]), ["app:* > db:5432", "load:* > app:*"]);
    // Programs that only make calls are programs; an unknown node is a client.
    assert_eq!(found(&["role * = all"]), ["all:* > all:*"]);
    let unknown = super::tests::trace(&["9.9.9.9"], &[("9.9.9.9/9.9.9.9", "one/app@8001")]);
    assert_eq!(hops(&unknown, &["role * = all"], NodeGrain::Command), ["CLIENT:* > all:*"]);
    // Rules match the names given by the user, and without roles the rule has no effect.
    assert_eq!(
        found(&["command java = shop", "role */shop = app"]),
        ["app:* > db:5432", "load:* > app:*"]
    );
}

#[test]
fn the_second_node_with_a_role_has_a_number_before_the_port() {
    assert_eq!(RoleName::new("proxy").numbered_name(0), "proxy");
    assert_eq!(RoleName::new("proxy").numbered_name(1), "proxy#2");
    assert_eq!(
        RoleName { port: ":443".into(), ..RoleName::new(ANY) }.numbered_name(9),
        "any#10:443"
    );
}
