//! The schemas of servers: which thread works for which request, with synthetic events.

use workload::joined_request::SyncEdge;

use crate::streams::{JoinOutcome, join_text, shipped_schema};

/// Summary of each request: threads of its events, processor time, bytes received and sent.
fn summaries(outcome: &JoinOutcome) -> Vec<(Vec<i32>, i64, i64, i64)> {
    let mut summaries: Vec<_> = outcome
        .requests
        .iter()
        .map(|request| {
            let mut threads: Vec<i32> = request.events.iter().map(|event| event.thread).collect();
            threads.sort_unstable();
            threads.dedup();
            let demands = request.demands;
            (threads, demands.processor_ns, demands.received_bytes, demands.sent_bytes)
        })
        .collect();
    summaries.sort_by_key(|summary| summary.2);
    summaries
}

/// A thread serves a persistent connection, and calls a database within the first request.
const THREAD_PER_CONNECTION: &str = "
    1000 1:1 0 syscalls/sys_exit_accept4 ret=5
    1001 1:1 0 sched/sched_switch prev_state=S next_pid=2
    1010 1:2 0 syscalls/sys_enter_read fd=5
    1020 1:2 0 sched/sched_switch prev_state=S next_pid=0
    1100 1:2 0 sched/sched_switch prev_state=S next_pid=2
    1110 1:2 0 syscalls/sys_exit_read ret=101
    1120 1:2 0 syscalls/sys_enter_connect fd=6
    1130 1:2 0 syscalls/sys_exit_connect ret=0
    1140 1:2 0 syscalls/sys_enter_sendto fd=6
    1150 1:2 0 syscalls/sys_exit_sendto ret=40
    1160 1:2 0 syscalls/sys_enter_recvfrom fd=6
    1170 1:2 0 sched/sched_switch prev_state=S next_pid=9
    1270 1:9 0 sched/sched_waking pid=2
    1280 1:9 0 sched/sched_switch prev_state=S next_pid=2
    1290 1:2 0 syscalls/sys_exit_recvfrom ret=60
    1300 1:2 0 syscalls/sys_enter_futex op=128
    1310 1:2 0 sched/sched_switch prev_state=S next_pid=9
    1350 1:9 0 sched/sched_switch prev_state=R next_pid=2
    1360 1:2 0 syscalls/sys_enter_write fd=5
    1380 1:2 0 syscalls/sys_exit_write ret=1000
    1390 1:2 0 syscalls/sys_enter_read fd=5
    1400 1:2 0 syscalls/sys_exit_read ret=202
    1430 1:2 0 syscalls/sys_enter_write fd=5
    1450 1:2 0 syscalls/sys_exit_write ret=2000
    1460 1:2 0 syscalls/sys_enter_read fd=5
    1490 1:2 0 syscalls/sys_exit_read ret=0
    1500 1:2 0 syscalls/sys_enter_close fd=5
";

#[test]
fn a_blocked_thread_stays_in_its_request_and_the_next_one_of_its_connection_is_another() {
    let outcome = join_text(&shipped_schema("linux"), THREAD_PER_CONNECTION);
    // The first: 1100, when it wakes and reads, to 1170, 1280 to 1310, 1350 to 1390. The second:
    // 1390, when it reads again, to 1460.
    let expected = [(vec![2], 70 + 30 + 40, 161, 1040), (vec![2], 70, 202, 2000)];
    assert_eq!(summaries(&outcome), expected);
    assert!(outcome.requests.iter().all(|request| request.whole && request.seeds == 1));
    let mut waits = workload::demands::WaitTimes::default();
    let first = outcome.requests.iter().find(|request| request.demands.sent_bytes == 1040).unwrap();
    for event in &first.events {
        waits += event.waits;
    }
    // Blocked on the database until 1270, then without a processor for 10; a lock for 40.
    assert_eq!((waits.peer_ns, waits.runnable_ns, waits.lock_ns), (100, 10, 40));
}

#[test]
fn missing_events_are_known_if_no_request_is_found() {
    let beginning = |text: &str| {
        let outcome = join_text(&shipped_schema("linux"), text);
        assert!(outcome.requests.is_empty());
        outcome.beginning
    };
    // The connection was accepted before the trace began.
    let before = THREAD_PER_CONNECTION.lines().skip(2).collect::<Vec<_>>().join("\n");
    let found = beginning(&before);
    assert!(found.kinds.iter().any(|kind| kind == "syscalls/sys_exit_recvfrom"));
    assert_eq!((found.events, found.without_process), (4, 0));
    assert_eq!(found.missing, ["client(process, fd)"]);
    // By default perf script prints only names of threads.
    let found = beginning(&THREAD_PER_CONNECTION.replace(" 1:", " 0:"));
    assert_eq!((found.events, found.without_process), (4, 4));
    // The trace lacks the calls that read.
    let found = beginning("1000 1:1 0 syscalls/sys_exit_accept4 ret=5");
    assert_eq!((found.events, found.missing), (0, vec![]));
}

/// An I/O thread reads two requests and hands each to a worker; a part of the first one is given to
/// a helper, for which its worker waits.
const POOL: &str = "
    1000 1:1 0 syscalls/sys_exit_accept4 ret=5
    1001 1:1 0 syscalls/sys_exit_accept4 ret=6
    1002 1:2 1 syscalls/sys_enter_futex op=0x189
    1003 1:2 1 sched/sched_switch prev_state=S next_pid=3
    1004 1:3 1 syscalls/sys_enter_futex op=0x189
    1005 1:3 1 sched/sched_switch prev_state=S next_pid=4
    1006 1:4 1 syscalls/sys_enter_futex op=0x189
    1007 1:4 1 sched/sched_switch prev_state=S next_pid=0
    1010 1:1 0 syscalls/sys_enter_epoll_wait
    1020 1:1 0 syscalls/sys_enter_recvfrom fd=5
    1030 1:1 0 syscalls/sys_exit_recvfrom ret=101
    1040 1:1 0 sched/sched_waking pid=2
    1050 1:1 0 syscalls/sys_enter_recvfrom fd=6
    1060 1:1 0 syscalls/sys_exit_recvfrom ret=202
    1070 1:1 0 sched/sched_waking pid=3
    1080 1:1 0 syscalls/sys_enter_epoll_wait
    1090 0:0 1 sched/sched_switch prev_state=R next_pid=2
    1095 1:2 1 syscalls/sys_exit_futex ret=0
    1100 1:2 1 sched/sched_waking pid=4
    1110 1:2 1 syscalls/sys_enter_futex op=0x189
    1120 1:2 1 sched/sched_switch prev_state=S next_pid=3
    1130 1:3 1 syscalls/sys_enter_sendto fd=6
    1140 1:3 1 syscalls/sys_exit_sendto ret=2000
    1150 1:3 1 syscalls/sys_enter_futex op=0x189
    1160 1:3 1 sched/sched_switch prev_state=S next_pid=4
    1170 1:4 1 syscalls/sys_exit_futex ret=0
    1190 1:4 1 sched/sched_waking pid=2
    1200 1:4 1 syscalls/sys_enter_futex op=0x189
    1210 1:4 1 sched/sched_switch prev_state=S next_pid=2
    1220 1:2 1 syscalls/sys_exit_futex ret=0
    1230 1:2 1 syscalls/sys_enter_sendto fd=5
    1250 1:2 1 syscalls/sys_exit_sendto ret=1000
    1260 1:2 1 syscalls/sys_enter_futex op=0x189
    1270 1:1 0 syscalls/sys_enter_close fd=5
    1280 1:1 0 syscalls/sys_enter_close fd=6
";

#[test]
fn workers_and_helpers_work_for_the_request_of_the_waking_thread() {
    let outcome = join_text(&shipped_schema("linux"), POOL);
    let found: Vec<_> =
        summaries(&outcome).into_iter().map(|(of, _, _, sent)| (of, sent)).collect();
    assert_eq!(found, [(vec![1, 2, 4], 1000), (vec![1, 3], 2000)]);
    assert_eq!(outcome.counts.conflicts, 0);
    let first = outcome.requests.iter().find(|request| request.demands.sent_bytes == 1000).unwrap();
    let syncs: Vec<(i64, i64)> = first
        .syncs
        .iter()
        .map(|sync| {
            let time = |place: u32| first.events[place as usize].time;
            (time(sync.source), time(sync.destination))
        })
        .collect();
    assert_eq!(syncs, [(1030, 1040), (1100, 1100), (1190, 1210)]);
}

#[test]
fn a_thread_continues_at_the_end_of_its_wait_without_a_switch_event() {
    // Traces of some machines lack the switches from a processor's idle thread.
    let missing = POOL
        .replace("1190 1:4 1 sched/sched_waking", "1190 1:4 0 sched/sched_waking")
        .replace("1200 1:4 1 ", "1200 1:4 0 ")
        .replace("1210 1:4 1 sched/sched_switch prev_state=S next_pid=2\n", "\n");
    let outcome = join_text(&shipped_schema("linux"), &missing);
    let first = outcome.requests.iter().find(|request| request.demands.sent_bytes == 1000).unwrap();
    let landings: Vec<i64> =
        first.syncs.iter().map(|of| first.events[of.destination as usize].time).collect();
    assert_eq!(landings, [1040, 1100, 1220]);
}

/// Two workers wake a helper each, and each helper takes the other's task.
const SWAPPED: &str = "
    1000 1:1 0 syscalls/sys_exit_accept4 ret=5
    1001 1:1 0 syscalls/sys_exit_accept4 ret=6
    1002 1:2 1 syscalls/sys_enter_futex op=0x189
    1003 1:2 1 sched/sched_switch prev_state=S next_pid=3
    1004 1:3 1 syscalls/sys_enter_futex op=0x189
    1005 1:3 1 sched/sched_switch prev_state=S next_pid=4
    1006 1:4 1 syscalls/sys_enter_futex op=0x189
    1007 1:4 1 sched/sched_switch prev_state=S next_pid=5
    1008 1:5 1 syscalls/sys_enter_futex op=0x189
    1009 1:5 1 sched/sched_switch prev_state=S next_pid=0
    1010 1:1 0 syscalls/sys_enter_epoll_wait
    1020 1:1 0 syscalls/sys_enter_recvfrom fd=5
    1030 1:1 0 syscalls/sys_exit_recvfrom ret=101
    1040 1:1 0 sched/sched_waking pid=2
    1050 1:1 0 syscalls/sys_enter_recvfrom fd=6
    1060 1:1 0 syscalls/sys_exit_recvfrom ret=202
    1070 1:1 0 sched/sched_waking pid=3
    1080 1:1 0 syscalls/sys_enter_epoll_wait
    1085 1:1 0 sched/sched_switch prev_state=S next_pid=0
    1090 0:0 1 sched/sched_switch prev_state=R next_pid=2
    1095 1:2 1 syscalls/sys_exit_futex ret=0
    1100 1:2 1 sched/sched_waking pid=4
    1110 1:2 1 syscalls/sys_enter_futex op=0x189
    1120 1:2 1 sched/sched_switch prev_state=S next_pid=3
    1125 1:3 1 syscalls/sys_exit_futex ret=0
    1130 1:3 1 sched/sched_waking pid=5
    1140 1:3 1 syscalls/sys_enter_futex op=0x189
    1150 1:3 1 sched/sched_switch prev_state=S next_pid=5
    1160 1:5 1 syscalls/sys_exit_futex ret=0
    1190 1:5 1 sched/sched_waking pid=2
    1200 1:5 1 syscalls/sys_enter_futex op=0x189
    1210 1:5 1 sched/sched_switch prev_state=S next_pid=4
    1220 1:4 1 syscalls/sys_exit_futex ret=0
    1260 1:4 1 sched/sched_waking pid=3
    1270 1:4 1 syscalls/sys_enter_futex op=0x189
    1280 1:4 1 sched/sched_switch prev_state=S next_pid=2
    1290 1:2 1 syscalls/sys_exit_futex ret=0
    1300 1:2 1 syscalls/sys_enter_sendto fd=5
    1310 1:2 1 syscalls/sys_exit_sendto ret=1000
    1320 1:2 1 syscalls/sys_enter_futex op=0x189
    1330 1:2 1 sched/sched_switch prev_state=S next_pid=3
    1340 1:3 1 syscalls/sys_exit_futex ret=0
    1350 1:3 1 syscalls/sys_enter_sendto fd=6
    1360 1:3 1 syscalls/sys_exit_sendto ret=2000
    1370 1:3 1 syscalls/sys_enter_futex op=0x189
    1380 1:3 1 sched/sched_switch prev_state=S next_pid=0
    1390 1:1 0 syscalls/sys_enter_close fd=5
    1400 1:1 0 syscalls/sys_enter_close fd=6
";

#[test]
fn a_helper_works_for_the_waiting_thread_and_not_for_the_waking_one() {
    let outcome = join_text(&shipped_schema("linux"), SWAPPED);
    assert_eq!(outcome.counts.conflicts, 0);
    // Workers: 1090 to 1120 and 1280 to 1330; 1120 to 1150 and 1330 to 1380. Helpers: 1150 to 1190;
    // 1210 to 1260. The I/O thread: 1020 to 1050, and 1050 to 1085.
    let expected = [
        (vec![1, 2, 5], 30 + 30 + 50 + 40, 101, 1000),
        (vec![1, 3, 4], 35 + 30 + 50 + 50, 202, 2000),
    ];
    assert_eq!(summaries(&outcome), expected);
    // In both, the working helper is the one that the worker woke.
    for (request, (worker, helper)) in outcome.requests.iter().zip([(2, 5), (3, 4)]) {
        let thread = |place: u32| request.events[place as usize].thread;
        let threads = |sync: &SyncEdge| (thread(sync.source), thread(sync.destination));
        let mut syncs = request.syncs.iter().map(threads);
        assert!(syncs.any(|sync| sync == (worker, helper)), "{:?}", request.syncs);
    }
}

/// A worker responds and takes the next request from a queue without a wait: only its second
/// response shows to which request the work in between belongs.
const BUSY_WORKER: &str = "
    1000 1:1 0 syscalls/sys_exit_accept4 ret=5
    1001 1:1 0 syscalls/sys_exit_accept4 ret=6
    1002 1:2 1 syscalls/sys_enter_futex op=0x189
    1003 1:2 1 sched/sched_switch prev_state=S next_pid=0
    1020 1:1 0 syscalls/sys_enter_recvfrom fd=5
    1030 1:1 0 syscalls/sys_exit_recvfrom ret=101
    1040 1:1 0 sched/sched_waking pid=2
    1050 1:1 0 syscalls/sys_enter_recvfrom fd=6
    1060 1:1 0 syscalls/sys_exit_recvfrom ret=202
    1080 1:1 0 syscalls/sys_enter_epoll_wait
    1090 0:0 1 sched/sched_switch prev_state=R next_pid=2
    1095 1:2 1 syscalls/sys_exit_futex ret=0
    1130 1:2 1 syscalls/sys_enter_sendto fd=5
    1140 1:2 1 syscalls/sys_exit_sendto ret=1000
    1200 1:2 1 sched/sched_switch prev_state=R next_pid=0
    1300 0:0 1 sched/sched_switch prev_state=R next_pid=2
    1330 1:2 1 syscalls/sys_enter_sendto fd=6
    1340 1:2 1 syscalls/sys_exit_sendto ret=2000
    1350 1:2 1 syscalls/sys_enter_futex op=0x189
    1360 1:2 1 sched/sched_switch prev_state=S next_pid=0
    1370 1:1 0 syscalls/sys_enter_close fd=5
    1380 1:1 0 syscalls/sys_enter_close fd=6
";

#[test]
fn work_between_two_answers_belongs_to_the_second_request() {
    let outcome = join_text(&shipped_schema("linux"), BUSY_WORKER);
    let found = summaries(&outcome);
    let worker = |request: usize| -> i64 {
        let events = outcome.requests[request].events.iter();
        events.filter(|event| event.thread == 2).map(|event| event.demands.processor_ns).sum()
    };
    let (one, other) = if outcome.requests[0].demands.sent_bytes == 1000 { (0, 1) } else { (1, 0) };
    // The work of a thread after its last response until it waits belongs to that response.
    assert_eq!((worker(one), worker(other)), (50, 60 + 40 + 20));
    assert_eq!((found[0].3, found[1].3), (1000, 2000));
}

#[test]
fn log_lines_of_nginx_and_postgresql_are_requests_of_one_line_each() {
    let log = "
        1000 0 0 nginx/access connection=1 request_number=1 duration=400 bytes_sent=5000 uri=/a?x
        1100 0 0 nginx/access connection=2 request_number=1 duration=700 bytes_sent=12000 uri=/b
    ";
    let options = workload::join::JoinOptions::default();
    let outcome = crate::streams::joined_with(&shipped_schema("nginx"), log, options);
    assert_eq!((outcome.times(0), outcome.times(1)), (vec![600, 1000], vec![400, 1100]));
    assert_eq!(outcome.names.name_of(outcome.requests[0].name), "/a");
    let log = "
        1000 7:7 0 postgresql/statement duration=400 statement=select
        900 7:7 0 postgresql/lock
        1100 8:8 0 postgresql/statement duration=50 statement=insert
    ";
    let outcome = crate::streams::joined_with(&shipped_schema("postgresql"), log, options);
    assert_eq!((outcome.times(0), outcome.times(1)), (vec![600, 900, 1000], vec![1050, 1100]));
}
