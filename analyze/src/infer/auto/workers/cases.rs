//! Synthetic pools with known ground truth.

use super::known::HandoffWitness;
use super::run::WorkerRun;
use super::*;
use crate::infer::call_links::WorkItem;
use crate::infer::span::NodeSpan;

const US: i64 = 1_000;
/// The thread that receives requests.
const READER: u32 = 1;
/// The thread that writes responses.
const WRITER: u32 = 2;
/// The first worker.
const WORKERS: u32 = 10;
/// The object of the queue of requests.
const REQUESTS: i64 = 501;
/// The object of the queue of responses.
const ANSWERS: i64 = 502;

/// The kind of the call after the response.
const LAST: u32 = 3;

/// A pool.
#[derive(Clone, Copy)]
struct PoolScenario {
    workers: usize,
    /// Time between two requests, in nanoseconds.
    gap: i64,
    has_writer: bool,
    /// Whether a free worker takes the latest request.
    last_first: bool,
    /// Whether each request begins with a call of one kind.
    alike: bool,
    /// Whether a worker continues with other work while its calls are open.
    goes_on: bool,
    /// Whether a worker makes a last call after it has answered.
    works_on: bool,
}

/// More work than workers: requests wait.
const BUSY: PoolScenario = PoolScenario {
    workers: 4,
    gap: 200 * US,
    has_writer: true,
    last_first: false,
    alike: true,
    goes_on: false,
    works_on: false,
};

/// The events of a pool: the service, the hand-offs, and the request of each call.
struct SyntheticPool {
    service: Service,
    hand_offs: Vec<ServiceHandoff>,
    truth: Vec<u32>,
}

/// A pseudorandom number below `most`.
fn any(seed: usize, most: i64) -> i64 {
    let mixed = (seed as u64 + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as i64 % most
}

fn signal(signalled: i64, from: u32, to: u32, object: i64) -> ServiceHandoff {
    ServiceHandoff { signalled, woken: signalled + 3 * US, from, to, object }
}

impl PoolScenario {
    /// Generates the events of the pool with this number of requests.
    fn make(self, requests: usize) -> SyntheticPool {
        let mut service = Service { window: 1_000_000 * US, ..Service::default() };
        let mut hand_offs = Vec::new();
        let mut calls: Vec<(NodeSpan, u32, u32)> = Vec::new();
        let received = |request: usize| self.gap * request as i64;
        let mut free = vec![0_i64; self.workers];
        let mut waiting: Vec<usize> = (0..requests).collect();
        let mut done: Vec<(i64, usize, u32)> = Vec::new();
        while !waiting.is_empty() {
            let worker = (0..self.workers).min_by_key(|worker| free[*worker]).unwrap();
            let idle_until = received(waiting[0]) + 8 * US;
            let is_idle = free[worker] < idle_until;
            let now = free[worker].max(idle_until);
            let came = waiting.iter().rposition(|request| received(*request) + 8 * US <= now);
            let request = waiting.remove(if self.last_first { came.unwrap() } else { 0 });
            let thread = WORKERS + worker as u32;
            hand_offs.push(signal(
                received(request) + 4 * US,
                READER,
                if is_idle { thread } else { UNKNOWN_THREAD },
                REQUESTS,
            ));
            let mut time = now + 10 * US + any(3 * request, 20 * US);
            let kinds: &[u32] = match (self.alike, request % 3) {
                (true, 0) => &[1],
                (true, _) => &[1, 2],
                (false, 0) => &[],
                (false, 1) => &[1],
                (false, _) => &[2, 1],
            };
            for kind in kinds {
                let took = 300 * US + any(request * 31 + *kind as usize, 1500 * US);
                calls.push((
                    NodeSpan { begin: time, end: time + took, kind: *kind },
                    thread,
                    request as u32,
                ));
                time += if self.goes_on { 50 * US } else { took + 10 * US };
            }
            time += any(5 * request, 9 * US);
            done.push((time, request, thread));
            if self.works_on {
                let begin = time + 3 * US;
                time = begin + 200 * US;
                calls.push((NodeSpan { begin, end: time, kind: LAST }, thread, request as u32));
            }
            free[worker] = time + 6 * US;
        }
        done.sort_unstable();
        let (mut ends, mut answerers) = (vec![0; requests], vec![0; requests]);
        let mut written = 0;
        for (time, request, thread) in done {
            let woken = if written < time { WRITER } else { UNKNOWN_THREAD };
            hand_offs.push(signal(time, thread, woken, ANSWERS));
            written = written.max(time + 8 * US) + 12 * US;
            let is_open =
                |(span, _, of): &&(NodeSpan, u32, u32)| *of == request as u32 && span.kind != LAST;
            let open = calls.iter().filter(is_open);
            let last = open.map(|(span, ..)| span.end).max().unwrap_or(0);
            ends[request] = if self.has_writer { written } else { time.max(last) + 2 * US };
            answerers[request] = if self.has_writer { WRITER } else { thread };
        }
        for request in 0..requests {
            service.requests.push(NodeSpan {
                begin: received(request),
                end: ends[request],
                kind: 9,
            });
            service.request_threads.push([READER, answerers[request]]);
            service.request_calls.push(WorkItem::request_at(10_000 + request));
        }
        calls.sort_by_key(|(span, ..)| span.begin);
        for (at, (span, thread, _)) in (0..).zip(&calls) {
            service.calls.push(*span);
            service.call_threads.push([*thread; 2]);
            service.made_calls.push(CallId::from_index(at));
        }
        hand_offs.sort_by_key(|hand_off| hand_off.signalled);
        SyntheticPool {
            service,
            hand_offs,
            truth: calls.iter().map(|(.., request)| *request).collect(),
        }
    }
}

impl SyntheticPool {
    /// Number of calls attributed to the right request, number attributed to a wrong one, and
    /// number of calls for which recorded hand-offs show the request.
    fn count_attributed(&mut self, hand_offs: &[ServiceHandoff]) -> [usize; 3] {
        let known = self.service.find_workers(hand_offs).len();
        let is = |call: &usize, right: bool| {
            let found = self.service.attributed_to.get(&CallId::from_index(*call));
            let true_request = WorkItem::request_at(10_000 + self.truth[*call] as usize);
            found.is_some_and(|request| (*request == true_request) == right)
        };
        let count = |right: bool| (0..self.truth.len()).filter(|call| is(call, right)).count();
        [count(true), count(false), known]
    }

    /// The same numbers with all hand-offs.
    fn count_with_handoffs(mut self) -> [usize; 3] {
        let hand_offs = std::mem::take(&mut self.hand_offs);
        self.count_attributed(&hand_offs)
    }
}

#[test]
fn a_woken_worker_does_the_work_handed_to_it() {
    let idle = PoolScenario { workers: 4, gap: 8_000 * US, ..BUSY }.make(60);
    assert!(idle.hand_offs.iter().filter(|one| one.from == READER).all(|one| one.to >= WORKERS));
    assert_eq!(idle.count_with_handoffs(), [100, 0, 100]);
}

#[test]
fn busy_workers_and_their_writer_are_fifo() {
    let made = PoolScenario { alike: false, ..BUSY }.make(300);
    let is_idle = |one: &&ServiceHandoff| one.from == READER && one.to != UNKNOWN_THREAD;
    assert!(made.hand_offs.iter().filter(is_idle).count() < 50);
    // A few were handed over while another worker was about to hand over its own, too.
    assert_eq!(made.count_with_handoffs(), [300, 0, 294]);
    // Without hand-offs nothing shows where a run begins.
    assert_eq!(PoolScenario { alike: false, ..BUSY }.make(300).count_attributed(&[]), [0, 0, 0]);
    // Unless all runs begin with the same kind of call; then only threads and times are evidence.
    assert_eq!(BUSY.make(300).count_attributed(&[]), [500, 0, 0]);
}

#[test]
fn a_worker_that_answers_itself_shows_its_requests() {
    for pool in
        [BUSY, PoolScenario { alike: false, ..BUSY }, PoolScenario { last_first: true, ..BUSY }]
    {
        let mut made = PoolScenario { has_writer: false, ..pool }.make(300);
        let all = made.truth.len();
        assert_eq!(made.count_attributed(&[]), [all, 0, 0]);
    }
    assert_eq!(
        PoolScenario { has_writer: false, ..BUSY }.make(300).count_with_handoffs(),
        [500, 0, 500]
    );
}

#[test]
fn post_reply_work_is_not_attributed_to_the_next_request() {
    let made = PoolScenario { has_writer: false, works_on: true, ..BUSY }.make(300);
    assert_eq!(made.count_with_handoffs(), [0, 0, 0]);
}

/// The requests of 40 runs, with a request each millisecond. The beginnings and ends of two runs
/// are `begins` and `ends` apart, and wake-ups of the answering thread seem to show that these runs
/// are for the requests `shown`.
fn two_of_forty(begins: i64, ends: i64, shown: Option<[u32; 2]>) -> Vec<QueuedRun> {
    let mut spans: Vec<NodeSpan> = (0..40)
        .map(|at| NodeSpan { begin: 1000 * US * at, end: 1000 * US * at + 5030 * US, kind: 9 })
        .collect();
    let mut runs: Vec<WorkerRun> = spans
        .iter()
        .zip(0..)
        .map(|(span, thread)| WorkerRun {
            thread,
            begin: span.begin + 30 * US,
            done: span.end - 20 * US,
            end: span.end - 20 * US,
            calls: vec![],
        })
        .collect();
    runs[20].begin = runs[21].begin - begins;
    runs[20].end = runs[21].end - ends;
    runs[20].done = runs[20].end;
    spans[20].end = spans[21].end - ends.max(5 * US);
    let witness = |run: &WorkerRun| {
        let place = run.thread as usize;
        let request =
            shown.filter(|_| (20..22).contains(&place)).map_or(run.thread, |of| of[place - 20]);
        let request = RequestId::from_index(request as usize);
        HandoffWitness { thread: run.thread, signalled: run.end + US, request, object: ANSWERS }
    };
    let witnesses: Vec<HandoffWitness> =
        runs.iter().filter(|_| shown.is_some()).map(witness).collect();
    let requests: Vec<RequestId> = RequestId::ids().take(40).collect();
    both_ends::match_runs(&spans, &requests, &runs, &witnesses).unwrap()
}

#[test]
fn a_race_stays_ambiguous() {
    let is_right = |queued: &[QueuedRun]| {
        queued.iter().enumerate().all(|(at, queued)| queued.request == Some(at))
    };
    // At one of the ends they are well apart, though in the wrong order at the other.
    for (begins, ends) in [(-3 * US, 900 * US), (900 * US, -3 * US), (900 * US, 900 * US)] {
        let queued = two_of_forty(begins, ends, None);
        assert!(is_right(&queued), "{begins} {ends}: {queued:?}");
        assert!(queued.iter().all(|queued| queued.rival.is_none()), "{begins} {ends}: {queued:?}");
    }
    let queued = two_of_forty(3 * US, 3 * US, None);
    for (at, other) in [(20, 21), (21, 20)] {
        let (rival, share) = queued[at].rival.unwrap();
        assert!(rival == other && (0.35..0.5).contains(&share), "{:?}", queued[at]);
    }
    assert_eq!(queued.iter().filter(|queued| queued.rival.is_some()).count(), 2);
}

#[test]
fn wake_ups_by_workers_show_their_requests() {
    for shown in [[20, 21], [21, 20]] {
        let queued = two_of_forty(3 * US, 3 * US, Some(shown));
        assert_eq!([20, 21].map(|at| queued[at].request), shown.map(|at| Some(at as usize)));
        assert!(queued.iter().all(|queued| queued.is_shown && queued.rival.is_none()));
    }
}

#[test]
fn unrelated_hand_offs_are_no_evidence() {
    let noise = |at: usize| {
        let from = [77, 78][at % 2];
        signal(300 * US * at as i64 + any(at, 300 * US), from, 78, 900 + at as i64 % 2)
    };
    let noise: Vec<ServiceHandoff> = (0..300).map(noise).collect();
    assert_eq!(BUSY.make(300).count_attributed(&noise), [500, 0, 0]);
    assert_eq!(PoolScenario { alike: false, ..BUSY }.make(300).count_attributed(&noise), [0, 0, 0]);
    // Signals of workers for other reasons, at other times, show nothing either.
    let of_workers = |at: usize| ServiceHandoff {
        from: WORKERS + at as u32 % 4,
        to: UNKNOWN_THREAD,
        ..noise[at]
    };
    let of_workers: Vec<ServiceHandoff> = (0..300).map(of_workers).collect();
    assert_eq!(PoolScenario { alike: false, ..BUSY }.make(300).count_attributed(&of_workers)[2], 0);
}

#[test]
fn other_servers_have_no_attributed_calls() {
    // The latest request is done first.
    assert_eq!(
        PoolScenario { last_first: true, ..BUSY }.make(300).count_with_handoffs(),
        [0, 0, 0]
    );
    // Threads begin other work while their calls are open.
    for has_writer in [false, true] {
        let made = PoolScenario { goes_on: true, has_writer, workers: 2, ..BUSY }.make(300);
        assert_eq!(made.count_with_handoffs(), [0, 0, 0]);
    }
    // One thread for everything.
    let mut made = BUSY.make(300);
    made.service.request_threads.fill([READER; 2]);
    made.service.call_threads.fill([READER; 2]);
    assert_eq!(made.count_with_handoffs(), [0, 0, 0]);
    // Unknown threads.
    let mut made = BUSY.make(300);
    made.service.call_threads.clear();
    assert_eq!(made.count_with_handoffs(), [0, 0, 0]);
}
