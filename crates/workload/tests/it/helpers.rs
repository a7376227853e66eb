//! The schema of sockcap's own events: the task on which a helper works.

use workload::join::JoinOptions;

use crate::streams::{JoinOutcome, joined_with, shipped_schema};

/// A reader (1) gives two requests to workers (2 and 3), and each worker gives a task to one helper
/// (4). The helper takes up the second task without a wait, before the first worker has waited for
/// the first one: the only evidence is a signal that no thread waited for.
const TWO_TASKS: &str = "
    900 1:1 0 sockcap/Connection connection=5 role=accepted
    901 1:1 0 sockcap/Connection connection=6 role=accepted
    1010 1:1 0 sockcap/Receive connection=5 bytes=101 duration=1
    1030 1:2 0 sockcap/Wake object=1 duration=500 by=1 signalled=1020
    1050 1:4 0 sockcap/Wake object=2 duration=500 by=2 signalled=1040
    1060 1:1 0 sockcap/Receive connection=6 bytes=202 duration=1
    1080 1:3 0 sockcap/Wake object=1 duration=500 by=1 signalled=1070
    1100 1:3 0 sockcap/Signal object=2 all=0
    1150 1:4 0 sockcap/FileRead bytes=30 duration=1
    1200 1:4 0 sockcap/Signal object=7 all=0
    1201 1:4 0 sockcap/Unheard object=7 waiter=2
    1250 1:4 0 sockcap/FileRead bytes=50 duration=1
    1300 1:4 0 sockcap/Signal object=8 all=0
    1310 1:3 0 sockcap/Wake object=8 duration=150 by=4 signalled=1300
    1400 1:2 0 sockcap/Send connection=5 bytes=10 duration=1
    1410 1:3 0 sockcap/Send connection=6 bytes=20 duration=1
    1500 1:4 0 sockcap/Wake object=2 duration=100 by=2 signalled=1490
";

fn outcome() -> JoinOutcome {
    let options = JoinOptions { reorder_ns: 10_000, ..JoinOptions::default() };
    joined_with(&shipped_schema("sockcap"), TWO_TASKS, options)
}

#[test]
fn a_signal_without_a_waiting_thread_ends_a_helpers_task() {
    let demands = outcome().requests.into_iter().map(|request| request.demands);
    let mut read: Vec<_> =
        demands.map(|demands| (demands.received_bytes, demands.disk_read_bytes)).collect();
    read.sort_unstable();
    assert_eq!(read, [(101, 30), (202, 50)]);
}

#[test]
fn a_signal_without_a_waiting_thread_wakes_none() {
    let requests = outcome().requests;
    let sources: Vec<i64> = requests
        .iter()
        .flat_map(|request| {
            request.syncs.iter().map(|sync| request.events[sync.source as usize].time)
        })
        .collect();
    assert!(sources.contains(&1300) && !sources.contains(&1201), "{sources:?}");
}
