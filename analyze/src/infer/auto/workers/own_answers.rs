//! Workers that answer what they worked at: the calls of a thread between two of its answers are
//! for the request that it answers at the end.

use rustc_hash::{FxHashMap, FxHashSet};

use super::run::Found;
use crate::infer::auto::service::{OPEN, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::{
    MAX_EXCEPTIONS, MAX_FIRST, MAX_OUTSIDE, MIN_BEGUN, MIN_FIRST_RUNS, MIN_REQUESTS,
};

/// What a thread does, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Call(u32),
    Answer(u32),
}

/// The requests of the calls of workers that answer themselves. It is recorded of those that are
/// `given` that they were handed over. `None` where there are none, calls are made for several
/// requests at a time, or workers seem to work on after their answers.
pub(super) fn of(service: &Service, given: &FxHashSet<u32>) -> Option<Vec<Found>> {
    let mut steps: FxHashMap<u32, Vec<(i64, Step)>> = FxHashMap::default();
    let mut receivers: FxHashSet<u32> = FxHashSet::default();
    for (request, [receiver, answerer]) in (0..).zip(&service.request_threads) {
        receivers.insert(*receiver);
        let end = service.requests[request as usize].end;
        if end != OPEN && *answerer != UNKNOWN_THREAD {
            steps.entry(*answerer).or_default().push((end, Step::Answer(request)));
        }
    }
    for call in 0..service.calls.len() as u32 {
        let begin = service.calls[call as usize].begin;
        steps.entry(service.caller(call)).or_default().push((begin, Step::Call(call)));
    }
    let of = |call: u32, request: u32| {
        let is_recorded = given.contains(&request);
        Found { call, request, rival: None, is_recorded }
    };
    let (mut found, mut answers, mut broken) = (Vec::new(), 0, 0);
    let mut beginnings = Beginnings::default();
    for (thread, mut steps) in steps {
        if thread == UNKNOWN_THREAD || receivers.contains(&thread) {
            continue;
        }
        steps.sort_unstable();
        let mut run: Vec<u32> = Vec::new();
        let mut is_first = true;
        for (time, step) in steps {
            let request = match step {
                Step::Call(call) => {
                    run.push(call);
                    continue;
                }
                Step::Answer(request) => request,
            };
            answers += 1;
            let kinds = run.iter().map(|call| service.calls[*call as usize].kind);
            beginnings.note(is_first, kinds);
            let received = service.requests[request as usize].begin;
            for call in run.drain(..) {
                let span = service.calls[call as usize];
                let is_cut = span.end != OPEN && span.end > time && !service.is_unsure(call);
                match span.begin >= received && !is_cut {
                    true => found.push(of(call, request)),
                    // What it does before its first work prepares it.
                    false => broken += usize::from(!is_first),
                }
            }
            is_first = false;
        }
    }
    let outside = service.calls.len() - found.len();
    let is_rule = answers >= MIN_REQUESTS
        && !found.is_empty()
        && broken as f64 <= MAX_EXCEPTIONS * found.len() as f64
        && outside as f64 <= MAX_OUTSIDE * service.calls.len() as f64;
    (is_rule && !beginnings.show_work_after_answers()).then_some(found)
}

/// What runs begin with. Where workers work on after they have answered, that work seems to be of
/// the next request, and workers that are always busy never contradict it. But no such work is
/// before a worker's first request.
#[derive(Default)]
struct Beginnings {
    /// Kinds of the calls of the first run of each worker.
    first: Vec<FxHashSet<u32>>,
    /// Number of later runs that begin with a call of each kind.
    later: FxHashMap<u32, usize>,
}

impl Beginnings {
    /// Takes note of a run with calls of these `kinds`.
    fn note(&mut self, is_first: bool, mut kinds: impl Iterator<Item = u32>) {
        if is_first {
            self.first.push(kinds.collect());
        } else if let Some(kind) = kinds.next() {
            *self.later.entry(kind).or_default() += 1;
        }
    }

    /// Whether many later runs begin with what hardly any first run has.
    fn show_work_after_answers(&self) -> bool {
        let later: usize = self.later.values().sum();
        let is_only_later = |(kind, count): (&u32, &usize)| {
            let with = self.first.iter().filter(|kinds| kinds.contains(kind)).count();
            *count as f64 >= MIN_BEGUN * later as f64
                && with as f64 <= MAX_FIRST * self.first.len() as f64
        };
        self.first.len() >= MIN_FIRST_RUNS && self.later.iter().any(is_only_later)
    }
}
