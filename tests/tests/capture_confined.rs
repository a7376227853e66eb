//! Servers that confine themselves and then fork: each worker has a log of its own that is as whole as any.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use end_to_end::capture::{Recorded, Recording, Traffic, successful};
use socket_log::Record;
use socket_log::encode::Direction::{self, Receive, Send};

/// What the program `jail` printed: its own pid, and for each worker the pid and what it received and sent.
fn printed(text: &str) -> (u32, BTreeMap<u32, (u64, u64)>) {
    let (mut pids, mut work, mut server) = (BTreeMap::new(), BTreeMap::new(), 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [what, first, second, third] = fields[..] else { panic!("{text}") };
        let number = |text: &str| text.parse::<u64>().unwrap();
        match what {
            "pid" => _ = pids.insert(number(first), number(second) as u32),
            "worker" => _ = work.insert(number(first), (number(second), number(third))),
            _ => server = number(first) as u32,
        }
    }
    (server, work.into_iter().map(|(index, done)| (pids[&index], done)).collect())
}

fn traffic(log: &Recorded, wanted: Direction) -> Traffic {
    let of_flow = log.traffic().into_iter().filter(|((_, direction), _)| *direction == wanted);
    of_flow.fold(Traffic::default(), |sum, (_, traffic)| Traffic {
        calls: sum.calls + traffic.calls,
        bytes: sum.bytes + traffic.bytes,
    })
}

/// Runs the server with so many connections and messages, and holds the log of each worker against its own count.
fn check(way: &str, connections: u64, messages: u64) -> Recording {
    let recording = Recording::new();
    check_in(&recording, way, connections, messages);
    recording
}

fn check_in(recording: &Recording, way: &str, connections: u64, messages: u64) {
    let text = successful(recording.command(recording.compile("jail")).args([
        way,
        &connections.to_string(),
        &messages.to_string(),
    ]));
    let (server, workers) = printed(&text);
    assert_eq!(workers.len() as u64, connections, "{way}: {text}");
    let logs = recording.logs();
    assert_eq!(logs.len() as u64, connections + 2, "{way}: the server, its client and the workers");
    let of = |pid: u32| logs.iter().find(|log| log.log.header().pid == pid).expect("a log of each process");
    for (pid, (received, sent)) in workers {
        let log = of(pid);
        assert_eq!(log.log.header().parent_pid, server, "{way}");
        assert!(log.log.header().executable.ends_with("/jail"), "{way}");
        assert_eq!((received, sent), (messages, messages), "{way}: what the worker says itself");
        assert_eq!(traffic(log, Receive), Traffic { calls: received, bytes: 100 * received }, "{way}");
        assert_eq!(traffic(log, Send), Traffic { calls: sent, bytes: 200 * sent }, "{way}");
    }
    let accepted = of(server).records().filter(
        |record| matches!(record, Record::Flow(flow) if flow.origin == socket_log::encode::Origin::Accept),
    );
    assert_eq!(accepted.count() as u64, connections, "{way}");
    assert_eq!(
        fs::read_dir(recording.file("cell")).unwrap().count(),
        0,
        "{way}: nothing is left in its cell"
    );
}

/// The logs that were made ahead and not used.
fn spare(recording: &Recording) -> usize {
    let files = fs::read_dir(recording.data().join("hosts/host")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "spare")).count()
}

#[test]
fn workers_of_a_server_that_changes_its_root_have_logs() {
    check("chroot", 5, 6_000);
    check("chroot-syscall", 2, 10);
}

#[test]
fn workers_of_a_server_with_mounts_of_its_own_have_logs() {
    check("pivot_root", 3, 3_000);
    check("mounts", 3, 3_000);
}

#[test]
fn workers_of_a_server_that_gives_up_its_user_have_logs() {
    // Where the new user is let through to the data directory, and where it is not.
    for (mode, made_ahead) in [(0o755, false), (0o700, true)] {
        let recording = Recording::new();
        fs::set_permissions(recording.file(""), fs::Permissions::from_mode(mode)).unwrap();
        check_in(&recording, "user", 3, 6_000);
        assert_eq!(spare(&recording) > 0, made_ahead, "logs are made ahead where they are needed");
    }
}

#[test]
fn workers_of_a_server_that_gives_up_system_calls_have_logs() {
    check("files", 4, 6_000);
}

#[test]
fn workers_of_a_server_that_gives_up_nearly_all_system_calls_have_logs() {
    check("strict", 4, 5_000);
    check("chroot-strict", 4, 5_000);
}

#[test]
fn a_child_for_whom_no_log_is_left_is_named() {
    let recording = Recording::new();
    // More children than logs are made ahead.
    let text = successful(recording.command(recording.compile("jail")).args(["chroot", "80", "2"]));
    let (_, workers) = printed(&text);
    assert_eq!(workers.len(), 80, "all did their work");
    let logs = recording.logs();
    let recorded = workers.keys().filter(|pid| logs.iter().any(|log| log.log.header().pid == **pid)).count();
    assert!((64..80).contains(&recorded), "{recorded}");
    let info = successful(
        std::process::Command::new(end_to_end::sockcap()).arg("info").arg("-d").arg(recording.data()),
    );
    let named = format!("no room for a log): {}", 80 - recorded);
    assert!(info.contains(&named), "{info}");
}
