//! Workers that delegate jobs to their own processes, in handwritten traces.

use super::pool::{WorkerPool, calibrate_shares, find_worker_pool};
use super::service::{NodeSpan, RequestId, Service};
use super::tests::{MS, requests};
use crate::calls::CallId;
use crate::infer::call_links::WorkItem;

/// The thread that receives the jobs, and the two processes that do them.
const GETTER: u32 = 1;
const DOERS: [u32; 2] = [2, 3];

/// A worker that receives 40 jobs, `apart` nanoseconds after each other, and records each
/// immediately. Its two processes do them FIFO: each job is two calls, 2 ms and 4 ms after it
/// began, once the process is free.
fn worker(apart: i64) -> Service {
    let mut service = Service { window: 1_000 * MS, ..Service::default() };
    let mut calls: Vec<(NodeSpan, u32)> = Vec::new();
    let mut free = [0; 2];
    for job in 0..40 {
        let given = job * apart;
        service.requests.push(NodeSpan { begin: given, end: given + MS, kind: 9 });
        service.request_threads.push([GETTER, GETTER]);
        service.request_calls.push(WorkItem::delivery(CallId::from_index(job as usize)));
        calls.push((NodeSpan { begin: given + MS / 10, end: given + MS / 2, kind: 1 }, GETTER));
        let doer = if free[0] <= free[1] { 0 } else { 1 };
        let begun = given.max(free[doer]);
        for (after, kind) in [(2, 2), (4, 3)] {
            let call = NodeSpan { begin: begun + after * MS, end: begun + (after + 1) * MS, kind };
            calls.push((call, DOERS[doer]));
        }
        free[doer] = begun + 6 * MS;
    }
    calls.sort_by_key(|(call, _)| call.begin);
    service.calls = calls.iter().map(|(call, _)| *call).collect();
    service.call_threads = calls.iter().map(|(_, thread)| [*thread; 2]).collect();
    service
}

/// The job of each call of that kind.
fn jobs_of_kind(service: &Service, pool: &WorkerPool, kind: u32) -> Vec<Option<RequestId>> {
    let of_kind = service.calls.iter().zip(&pool.bound_to).filter(|(call, _)| call.kind == kind);
    of_kind.map(|(_, job)| *job).collect()
}

#[test]
fn jobs_are_begun_in_the_order_of_their_receipt() {
    // A job comes every 3 ms, which is as fast as two processes do them.
    let service = worker(3 * MS);
    let pool = find_worker_pool(&service).expect("a pool");
    let in_turn = requests(0..40);
    assert_eq!(jobs_of_kind(&service, &pool, 2), in_turn);
    assert_eq!(jobs_of_kind(&service, &pool, 3), in_turn);
    assert_eq!(pool.ends.len(), 40);
}

#[test]
fn the_first_call_of_the_receiver_after_each_job_is_for_that_job() {
    let mut service = worker(30 * MS);
    let in_turn = requests(0..40);
    let pool = find_worker_pool(&service).expect("a pool");
    assert_eq!(jobs_of_kind(&service, &pool, 1), in_turn);
    // Two kinds of calls that each come first after every other job are for no job.
    let mut number = 0;
    for call in service.calls.iter_mut().filter(|call| call.kind == 1) {
        number += 1;
        call.kind = if number % 2 == 0 { 4 } else { 1 };
    }
    let (mut calls, mut threads) = (service.calls.clone(), service.call_threads.clone());
    for at in (0..calls.len()).rev().filter(|at| matches!(service.calls[*at].kind, 1 | 4)) {
        let call = service.calls[at];
        let after = NodeSpan { begin: call.begin + MS / 10, kind: 5 - call.kind, ..call };
        calls.insert(at + 1, after);
        threads.insert(at + 1, [GETTER; 2]);
    }
    (service.calls, service.call_threads) = (calls, threads);
    let pool = find_worker_pool(&service).expect("a pool");
    assert_eq!(jobs_of_kind(&service, &pool, 1), vec![None; 40]);
    assert_eq!(jobs_of_kind(&service, &pool, 4), vec![None; 40]);
    assert_eq!(jobs_of_kind(&service, &pool, 2), in_turn);
}

#[test]
fn a_run_that_may_be_for_another_job_is_not_certain() {
    let mut sure = worker(30 * MS);
    let mut doubtful = worker(2 * MS);
    for (service, is_sure) in [(&mut sure, true), (&mut doubtful, false)] {
        let pool = find_worker_pool(service).expect("a pool");
        (service.bound_to, service.alternative_job) = (pool.bound_to, pool.alternative_job);
        let mut shares: Vec<Vec<(Option<RequestId>, f64)>> =
            service.bound_to.iter().map(|job| vec![(*job, 1.0)]).collect();
        calibrate_shares(service, &mut shares);
        // The last run of an overloaded worker.
        let last = service.calls.iter().rposition(|call| call.kind == 2).expect("a run");
        let worth: f64 = shares[last][0].1;
        assert_eq!(worth >= 0.9, is_sure, "{:?}", shares[last]);
        assert!((shares[last].iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn calls_at_the_start_of_a_process_begin_no_run() {
    let mut service = worker(3 * MS);
    // Each process logs in, and waits a second before it continues the login.
    let at: i64 = -2_000 * MS;
    for (place, doer) in (0..).zip(DOERS) {
        for (after, kind) in [(0, 6), (1_000, 7)] {
            let begin = at + (after + place) * MS;
            service.calls.insert(0, NodeSpan { begin, end: begin + MS, kind });
            service.call_threads.insert(0, [doer; 2]);
        }
    }
    let mut order: Vec<usize> = (0..service.calls.len()).collect();
    order.sort_by_key(|call| service.calls[*call].begin);
    service.call_threads = order.iter().map(|call| service.call_threads[*call]).collect();
    service.calls = order.iter().map(|call| service.calls[*call]).collect();
    let pool = find_worker_pool(&service).expect("a pool");
    assert_eq!(jobs_of_kind(&service, &pool, 2), requests(0..40));
}

#[test]
fn few_jobs_or_runs_without_jobs_make_no_pool() {
    let mut few = worker(30 * MS);
    few.requests.truncate(19);
    few.request_calls.truncate(19);
    assert!(find_worker_pool(&few).is_none());
    // A third of the runs is missing.
    let mut fewer = worker(30 * MS);
    let is_kept = |at: i64| at / (90 * MS) % 2 == 0;
    let kept: Vec<usize> = (0..fewer.calls.len())
        .filter(|call| fewer.calls[*call].kind == 1 || is_kept(fewer.calls[*call].begin))
        .collect();
    fewer.call_threads = kept.iter().map(|call| fewer.call_threads[*call]).collect();
    fewer.calls = kept.iter().map(|call| fewer.calls[*call]).collect();
    assert!(find_worker_pool(&fewer).is_none());
}
