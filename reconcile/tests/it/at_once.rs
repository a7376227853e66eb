//! Connections with more calls than are matched in memory are sorted in files and matched from
//! there: for any system, the result must be the same, to the byte.

use std::mem::offset_of;
use std::num::NonZeroUsize;
use std::time::Duration;

use proptest::prelude::*;
use reconcile::{InternalMessages, Options, reconcile};
use socket_log::encode::{self, Direction, FlowOrigin};
use socket_log::layout::{FileHeader, KEEPS_NEWEST, NO_POSITION};
use socket_log::write::{LogWriter, TCP};

use crate::common::{System, accept, bind, connect, datagram, log};

/// One call on a connection.
#[derive(Clone, Debug)]
struct Call {
    /// Whether the call is at the accepting end.
    accepted: bool,
    /// Whether a second process that holds the socket made it.
    other: bool,
    thread: u32,
    sent: bool,
    time: u64,
    bytes: u64,
    /// Number of bytes before the call with overwritten records; `None` if the number is unknown.
    forgotten: Option<u64>,
}

/// One connection.
#[derive(Clone, Debug)]
struct Connection {
    /// Whether each end was recorded.
    recorded: [bool; 2],
    /// Whether one process has both ends.
    internal: bool,
    calls: Vec<Call>,
}

fn any_call() -> impl Strategy<Value = Call> {
    let caller = (any::<bool>(), prop::bool::weighted(0.05), 0u32..2, any::<bool>());
    let forgotten =
        prop_oneof![40 => Just(Some(0)), 3 => (1u64..60).prop_map(Some), 1 => Just(None)];
    (caller, 0u64..400, 1u64..40, forgotten).prop_map(
        |((accepted, other, thread, sent), time, bytes, forgotten)| Call {
            accepted,
            other,
            thread,
            sent,
            time: 1_000 + 10 * time,
            bytes,
            forgotten,
        },
    )
}

fn any_connection() -> impl Strategy<Value = Connection> {
    let recorded =
        prop_oneof![4 => Just([true, true]), 1 => Just([true, false]), 1 => Just([false, true])];
    let kind = (recorded, prop::bool::weighted(0.2), any::<[bool; 3]>());
    (kind, prop::collection::vec(any_call(), 0..80)).prop_map(
        |((recorded, internal, [alone, all, sorted]), mut calls)| {
            if sorted {
                calls.sort_by_key(|call| call.time);
            }
            for call in &mut calls {
                call.other &= !alone;
                if all {
                    call.forgotten = Some(0);
                }
            }
            Connection { recorded, internal, calls }
        },
    )
}

/// The logs of two processes at each end and of one that talks to itself.
fn system(connections: &[Connection], keep_newest: bool) -> System {
    let log = |end: usize, pid: u32| {
        let mut log = LogWriter::new(["one", "two"][end], pid, &format!("/usr/bin/p{pid}"));
        log.set_boot(1 + end as u8);
        log
    };
    let mut logs = [log(0, 10), log(0, 11), log(1, 20), log(1, 21), log(0, 30)];
    let mut positions = std::collections::HashMap::<(usize, u32, bool), u64>::new();
    for (number, connection) in connections.iter().enumerate() {
        let (flow, cookie) = (2 * number as u32 + 1, 2 * number as u64 + 1);
        let (client, server) = match connection.internal {
            true => (format!("127.0.0.1:{}", 40_000 + number), "127.0.0.1:80"),
            false => (format!("10.0.0.1:{}", 40_000 + number), "10.0.0.2:80"),
        };
        let [from, to] = if connection.internal { [4, 4] } else { [0, 2] };
        if connection.recorded[0] {
            connect(&mut logs[from], 100, flow, cookie, &client, server);
        }
        if connection.recorded[1] {
            accept(&mut logs[to], 200, flow + 1, 1_000 + cookie, server, &client);
        }
        let mut found = [false; 2];
        for call in
            connection.calls.iter().filter(|call| connection.recorded[usize::from(call.accepted)])
        {
            let end = usize::from(call.accepted);
            let other = call.other && !connection.internal;
            let place = [from, to][end] + usize::from(other);
            let flow = flow + end as u32;
            let log = &mut logs[place];
            if other && !std::mem::replace(&mut found[end], true) {
                log.flow(300, flow, TCP, FlowOrigin::Found, cookie + 1_000 * end as u64);
            }
            let direction = if call.sent { Direction::Send } else { Direction::Receive };
            log.set_thread(10 * (place as u32 + 1) + call.thread);
            if keep_newest {
                let position = positions.entry((place, flow, call.sent)).or_default();
                *position += call.forgotten.unwrap_or(0);
                let before = call.forgotten.map_or(NO_POSITION, |_| *position);
                *position += call.bytes;
                log.raw_record(
                    call.time,
                    encode::position_record(call.time, flow, direction, before).as_slice(),
                );
            }
            log.transfer(call.time, flow, direction, call.bytes);
        }
    }
    let system = System::new();
    for (place, log) in logs.iter().enumerate() {
        let mut bytes = log.to_bytes();
        if keep_newest {
            let at = offset_of!(FileHeader, keeps_newest);
            bytes[at..at + 4].copy_from_slice(&KEEPS_NEWEST.to_le_bytes());
        }
        let path =
            system.path(["one", "two"][usize::from(place == 2 || place == 3)], &format!("{place}"));
        std::fs::create_dir_all(path.parent()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    system
}

/// A datagram: whether it goes back, its content, the times when it was sent and, if it was,
/// received; and at each end which of two processes that hold the socket made the call.
type Sent = (bool, u32, u64, Option<u64>, [bool; 2]);

fn any_sent() -> impl Strategy<Value = Sent> {
    let received = prop::option::weighted(0.8, 0u64..100);
    (any::<bool>(), 0u32..30, 0u64..300, received, any::<[bool; 2]>())
}

/// Two sockets. The second may belong to the process that also has the first, and may not have been
/// recorded.
fn datagrams(sent: &[Sent], [internal, recorded]: [bool; 2]) -> System {
    let mut logs = [log(10, "a"), log(11, "b"), log(20, "c"), log(21, "d")];
    let names = ["127.0.0.1:4000", "127.0.0.1:53"];
    let process = |end: usize, other: bool| {
        2 * usize::from(end == 1 && !internal) + usize::from(other && !internal)
    };
    for end in [0, 1] {
        for other in [false, true] {
            bind(&mut logs[process(end, other)], 100, end as u32 + 1, end as u64 + 7, names[end]);
        }
    }
    let peers = names.map(crate::common::address);
    for (back, content, at, received, others) in sent {
        let ends = if *back { [1, 0] } else { [0, 1] };
        let at = 1_000 + 10 * at;
        let mut one = |side: usize, direction, at| {
            let (end, peer) = (ends[side], &peers[ends[1 - side]]);
            logs[process(end, others[side])].datagram(&datagram(
                direction,
                end as u32 + 1,
                at,
                *content,
                peer,
            ));
        };
        one(0, Direction::Send, at);
        if let Some(later) = received {
            one(1, Direction::Receive, at + 10 * later);
        }
    }
    let system = System::new();
    let many = if internal {
        1
    } else if recorded {
        4
    } else {
        2
    };
    for (place, log) in logs.iter().take(many).enumerate() {
        system.add("one", &format!("{place}"), log);
    }
    system
}

/// All files of the result.
fn files(system: &System, options: &Options) -> [Vec<u8>; 4] {
    let data = system.data();
    reconcile(&data, options, &()).unwrap();
    [data.messages_path(), data.nodes_path(), data.clocks_path(), data.reconciliation_path()]
        .map(|path| std::fs::read(path).unwrap())
}

fn any_internal() -> impl Strategy<Value = InternalMessages> {
    use InternalMessages::{BetweenThreads, Kept, LeftOut};
    prop::sample::select(vec![LeftOut, BetweenThreads, Kept])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn connections_are_matched_in_memory_and_from_files_alike(
        connections in prop::collection::vec(any_connection(), 1..4),
        keep_newest in any::<bool>(),
        internal in any_internal(),
        gap in prop_oneof![Just(0u64), 1u64..200, Just(100_000_000)],
        at_once in prop_oneof![Just(0usize), 1usize..60],
    ) {
        let system = system(&connections, keep_newest);
        let all = Options {
            fat_gap: Duration::from_nanos(gap),
            internal,
            threads: NonZeroUsize::new(1),
            at_once: usize::MAX,
            ..Options::default()
        };
        let in_memory = files(&system, &all);
        for memory in [0, 1_000, all.memory] {
            let few = Options { memory, at_once, threads: NonZeroUsize::new(2), ..all.clone() };
            prop_assert!(files(&system, &few) == in_memory, "with {} bytes of memory", memory);
        }
    }

    #[test]
    fn datagrams_of_a_flow_are_sorted_in_memory_and_in_files_alike(
        sent in prop::collection::vec(any_sent(), 1..150),
        kind in any::<[bool; 2]>(),
        internal in any_internal(),
        at_once in prop_oneof![Just(0usize), 1usize..200],
    ) {
        let system = datagrams(&sent, kind);
        let all =
            Options { internal, threads: NonZeroUsize::new(1), at_once: usize::MAX, ..Options::default() };
        let in_memory = files(&system, &all);
        for memory in [0, 1_000, all.memory] {
            let few = Options { memory, at_once, threads: NonZeroUsize::new(2), ..all.clone() };
            prop_assert!(files(&system, &few) == in_memory, "with {} bytes of memory", memory);
        }
    }
}
