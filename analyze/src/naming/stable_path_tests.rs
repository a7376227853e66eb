use message_trace::{EndPair, FROM_CONNECTING, FlowId, Message, NodeEnd, TransportProtocol};
use proptest::prelude::*;

use super::*;

/// Returns the stable names in a system with these sockets, each served by a process with this id,
/// or by an untraced one if `None`.
fn stable(sockets: &[(&str, Option<i32>)]) -> Vec<String> {
    let mut trace = MessageTrace::default();
    for (name, pid) in sockets {
        serve(&mut trace, name, *pid, None);
    }
    let names: Vec<&str> = sockets.iter().map(|(name, _)| *name).collect();
    stable_names(&trace, &names)
}

/// Adds a message to a socket with this name, which the process serves.
fn serve(trace: &mut MessageTrace, name: &str, pid: Option<i32>, parent_pid: Option<i32>) {
    let node = |command: &str, pid: Option<i32>, parent_pid| Node {
        host: "h".to_owned(),
        command: command.to_owned(),
        traced: pid.is_some(),
        pid,
        parent_pid,
        ..Node::default()
    };
    let src = trace.add_node(node("client", Some(3), None));
    let dst = trace.add_node(match pid {
        Some(_) => node("server", pid, parent_pid),
        None => node(&format!("unix:{name}"), None, None),
    });
    let from = trace.intern(&Endpoint::Unix("#3/1".to_owned()));
    let to = trace.intern(&Endpoint::Unix(name.to_owned()));
    let ends = EndPair {
        src: NodeEnd::new(src, from),
        dst: NodeEnd::new(dst, to),
        protocol: TransportProtocol::UnixStream,
    };
    let flow = FlowId::from_number(trace.len() as i64);
    trace.push(&Message::between_ends(ends, flow, FROM_CONNECTING), None);
}

fn stable_names(trace: &MessageTrace, names: &[&str]) -> Vec<String> {
    let paths = StablePaths::from_trace(trace);
    let text = |name: &&str| {
        let endpoint = Endpoint::Unix((*name).to_owned());
        let Endpoint::Unix(stable) = paths.stable_endpoint(&endpoint).unwrap_or(endpoint) else {
            unreachable!("the endpoint is a unix socket")
        };
        stable
    };
    names.iter().map(text).collect()
}

/// Returns the stable form of one name, if a process with this id serves the socket.
fn one(name: &str, pid: Option<i32>) -> String {
    stable(&[(name, pid)]).remove(0)
}

#[test]
fn the_process_id_of_the_binding_process_is_no_part_of_the_name() {
    for (name, expected) in [
        ("/run/app.812.sock", "/run/app.*.sock"),
        ("/run/app812.sock", "/run/app*.sock"),
        ("/run/wsgi.812.0.1.sock", "/run/wsgi.*.0.1.sock"),
        ("/run/812/ctl", "/run/*/ctl"),
        ("@app-812", "@app-*"),
        ("/tmp/app_812_ctl.sock", "/tmp/app_*_ctl.sock"),
        ("/run/app.8123.sock", "/run/app.8123.sock"),
    ] {
        assert_eq!(one(name, Some(812)), expected);
        assert_eq!(one(name, Some(813)), name, "somebody else's id");
        assert_eq!(one(name, None), name, "it is not known to be a process id");
    }
}

#[test]
fn a_master_makes_the_socket_that_its_workers_serve() {
    let mut trace = MessageTrace::default();
    serve(&mut trace, "/run/other", Some(700), Some(600));
    serve(&mut trace, "/run/wsgi.700.sock", Some(901), Some(700));
    serve(&mut trace, "/run/wsgi.600.sock", Some(902), Some(700));
    serve(&mut trace, "/run/wsgi.500.sock", Some(903), Some(700));
    let names = ["/run/wsgi.700.sock", "/run/wsgi.600.sock"];
    assert_eq!(stable_names(&trace, &names), ["/run/wsgi.*.sock"; 2], "and its ancestors");
    assert_eq!(stable_names(&trace, &["/run/other"]), ["/run/other"]);
}

#[test]
fn numbers_that_distinguish_services_stay() {
    for name in [
        "/run/php/php8.2-fpm.sock",
        "/var/run/postgresql/.s.PGSQL.5432",
        "/run/redis-6379.sock",
        "/tmp/.X11-unix/X0",
        "/run/user/1000/bus",
        "@/org/kernel/linux/storage/multipathd",
        "/var/lib/kubelet/device-plugins/v1beta1.sock",
        "/run/app/node18/http2.sock",
        "/srv/MySQLServer/mysqld.sock",
        "/tmp/app-server1.sock",
        "/tmp/web_main/backend_2.sock",
        "/run/libX11.sock",
    ] {
        assert_eq!(one(name, Some(4711)), name);
        assert_eq!(one(name, None), name);
    }
    let apps = [("/tmp/app1.sock", Some(4011)), ("/tmp/app2.sock", Some(4012))];
    assert_eq!(stable(&apps), ["/tmp/app1.sock", "/tmp/app2.sock"]);
    // In a container the first process has a small id, as services have small numbers.
    assert_eq!(one("/run/app1.sock", Some(1)), "/run/app1.sock");
    let few = [("/run/app1.sock", Some(1)), ("/run/app2.sock", Some(17))];
    assert_eq!(stable(&few), ["/run/app1.sock", "/run/app2.sock"]);
    let both = [("/run/app.7.sock", Some(7)), ("/run/app.9.sock", Some(9))];
    assert_eq!(stable(&both), ["/run/app.*.sock"; 2]);
}

#[test]
fn random_names_of_temporary_files_are_no_part_of_a_name() {
    for (name, expected) in [
        ("/tmp/tmpkq3x_9ab/s.sock", "/tmp/tmp*/s.sock"),
        ("/tmp/tmpabcdefgh/s.sock", "/tmp/tmp*/s.sock"),
        ("/tmp/.tmpAbcdef/s.sock", "/tmp/.tmp*/s.sock"),
        ("/tmp/tmp.aB3dE6gH9k/s", "/tmp/tmp.*/s"),
        ("/var/tmp/app-Xk3q9L/s.sock", "/var/tmp/app-*/s.sock"),
        ("/tmp/app-ab_cd12f/s.sock", "/tmp/app-*/s.sock"),
        ("/var/run/passenger.PxV4T7w/core", "/var/run/passenger.*/core"),
        ("/run/s/4b5f0c1de23a99d1", "/run/s/*"),
        ("/run/x/0b92ad64-5c1e-4f7a-9c3e-1d2f3a4b5c6d.sock", "/run/x/*.sock"),
        ("/run/x/c-0b92ad64-5c1e-4f7a-9c3e-1d2f3a4b5c6d", "/run/x/c-*"),
        ("@/tmp/dbus-Xa3kQ9bT2m", "@/tmp/dbus-*"),
        ("@0001f", "@*"),
        ("/run/app.1764470000123.sock", "/run/app.*.sock"),
    ] {
        assert_eq!(one(name, Some(4711)), expected);
        assert_eq!(one(name, None), expected);
    }
}

#[test]
fn a_fragment_in_place_of_random_ones_is_random() {
    let drawn = ["/run/x-Xk3q9L/s", "/run/x-a8Kd2P/s", "/run/x-Qw3eR5/s", "/run/x-mnopqr/s"];
    let sockets = drawn.map(|name| (name, None));
    assert_eq!(stable(&sockets), ["/run/x-*/s"; 4]);
    let named = [("/run/x-Xk3q9L/s", None), ("/run/x-server/s", None)];
    assert_eq!(stable(&named), ["/run/x-*/s", "/run/x-server/s"]);
}

#[test]
fn a_node_known_by_a_socket_only_has_its_stable_name() {
    let mut trace = MessageTrace::default();
    serve(&mut trace, "/tmp/tmpkq3x_9ab/s", None, None);
    serve(&mut trace, "/run/redis.sock", None, None);
    let aliases = crate::naming::Aliases::default();
    let mut known = crate::naming::node_identity::identify_nodes(&trace, &aliases);
    StablePaths::from_trace(&trace).rename_nodes(&mut known, &trace);
    let names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
    assert_eq!(names, ["client", "unix:/tmp/tmp*/s", "client", "unix:/run/redis.sock"]);
}

/// A system of these services: each makes a socket that is named after its process.
fn started(services: &[String], first_pid: i32) -> Vec<(String, Option<i32>)> {
    let socket = |(service, pid): (&String, i32)| (format!("/run/{service}.{pid}.sock"), Some(pid));
    services.iter().zip(first_pid..).map(socket).collect()
}

proptest! {
    /// For any name, its fragments together are the name, and `*` replaces whole fragments.
    #[test]
    fn only_whole_fragments_are_replaced(
        name in "[@/]?[a-zA-Z0-9/._@:-]{0,40}",
        pid in 1i32..70_000,
    ) {
        let stable = one(&name, Some(pid));
        let mut rest = name.as_str();
        for (at, kept) in stable.split(CHANGING).enumerate() {
            let found = rest.find(kept);
            prop_assert!(found.is_some() && (at > 0 || found == Some(0)), "{name} {stable}");
            rest = &rest[found.unwrap_or_default() + kept.len()..];
        }
        prop_assert_eq!(fragments::split_name(&name).iter().map(|part| part.text).collect::<String>(), name);
    }

    /// Two starts of the same services have the same names, however many there are.
    #[test]
    fn every_start_has_the_same_names(
        services in prop::collection::vec("[a-z]{1,8}", 1..6),
        pids in [10i32..30_000, 30_100..60_000],
    ) {
        let names = pids.map(|first| {
            let sockets = started(&services, first);
            let sockets: Vec<(&str, Option<i32>)> =
                sockets.iter().map(|(name, pid)| (name.as_str(), *pid)).collect();
            stable(&sockets)
        });
        prop_assert_eq!(&names[0], &names[1]);
        let expected: Vec<String> =
            services.iter().map(|service| format!("/run/{service}.*.sock")).collect();
        prop_assert_eq!(&names[0], &expected);
    }

    /// Numbered services stay distinct, whichever processes serve them.
    #[test]
    fn numbered_services_stay_distinct(
        first in 0u32..9_000,
        pids in prop::collection::vec(10_000i32..60_000, 2..8),
    ) {
        let sockets: Vec<(String, Option<i32>)> = pids
            .iter()
            .zip(first..)
            .map(|(pid, number)| (format!("/run/app-{number}.sock"), Some(*pid)))
            .collect();
        let borrowed: Vec<(&str, Option<i32>)> =
            sockets.iter().map(|(name, pid)| (name.as_str(), *pid)).collect();
        let names: Vec<String> = sockets.iter().map(|(name, _)| name.clone()).collect();
        prop_assert_eq!(stable(&borrowed), names);
    }

    /// Words, with or without a capital or a number, are not random.
    #[test]
    fn words_stay(
        words in prop::collection::vec("[A-Z]?[a-z]{2,7}", 1..4),
        number in "[0-9]{0,3}",
    ) {
        let camel = words.concat();
        for name in [
            format!("/run/{}{number}.sock", words.join("-")),
            format!("/tmp/{camel}{number}"),
            format!("/run/{}/{number}", words.join("_")),
        ] {
            // A word with the length of a library's random part cannot be distinguished from it.
            prop_assume!(!name.starts_with("/tmp/tmp"));
            prop_assert_eq!(one(&name, None), name);
        }
    }
}
