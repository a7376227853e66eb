//! Workers that answer their own requests: the calls of a thread between two of its responses are
//! for the request that it answers at the end. Other threads may write some of their responses
//! ([`passed_on`]).

use rustc_hash::{FxHashMap, FxHashSet};

use super::passed_on;
use super::run::AttributedCall;
use super::stretches::worker_windows;
use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::{NodeSpan, OPEN, RequestId, Service};
use crate::tuning::auto::workers::{
    MAX_EXCEPTIONS, MAX_FIRST, MAX_OUTSIDE, MIN_BEGUN, MIN_FIRST_RUNS, MIN_REQUESTS,
};

/// The requests of the calls of workers that answer themselves. The requests `given` were handed
/// over according to recorded hand-offs. `None` if no worker answers itself, if calls are made for
/// several requests at a time, or if workers seem to do post-reply work.
pub(super) fn find_worker_replies(
    service: &Service,
    hand_offs: &[ServiceHandoff],
    given: &FxHashSet<RequestId>,
) -> Option<Vec<AttributedCall>> {
    let mut windows = worker_windows(service);
    let mut found = passed_on::find_delegated_calls(service, &mut windows, hand_offs);
    let (mut answers, mut broken) = (0, 0);
    let mut openings = RunOpenings::default();
    for window in windows {
        let Some(request) = window.answer else { continue };
        answers += 1;
        let kinds = window.calls.iter().map(|call| service.calls[call.index()].kind);
        openings.add(window.is_first, kinds);
        let NodeSpan { begin: received, end: answered, .. } = service.requests[request.index()];
        for call in window.calls {
            let span = service.calls[call.index()];
            let is_cut = span.end != OPEN && span.end > answered && !service.is_unsure(call);
            if span.begin >= received && !is_cut {
                let is_recorded = given.contains(&request);
                found.push(AttributedCall { call, request, rival: None, is_recorded });
            } else {
                // Calls before the first work of a worker are preparation.
                broken += usize::from(!window.is_first);
            }
        }
    }
    let outside = service.calls.len() - found.len();
    let is_rule = answers >= MIN_REQUESTS
        && !found.is_empty()
        && broken as f64 <= MAX_EXCEPTIONS * found.len() as f64
        && outside as f64 <= MAX_OUTSIDE * service.calls.len() as f64;
    (is_rule && !openings.show_work_after_answers()).then_some(found)
}

/// First calls of runs. If workers continue to work after their responses, the calls of that work
/// seem to belong to the next request, and if workers are always busy, nothing contradicts it. But
/// before its first request a worker has no such calls.
#[derive(Default)]
struct RunOpenings {
    /// Kinds of the calls of the first run of each worker.
    first: Vec<FxHashSet<u32>>,
    /// Number of later runs that begin with a call of each kind.
    later: FxHashMap<u32, usize>,
}

impl RunOpenings {
    /// Records a run with calls of these `kinds`.
    fn add(&mut self, is_first: bool, mut kinds: impl Iterator<Item = u32>) {
        if is_first {
            self.first.push(kinds.collect());
        } else if let Some(kind) = kinds.next() {
            *self.later.entry(kind).or_default() += 1;
        }
    }

    /// Returns whether many later runs begin with a kind that hardly any first run has.
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
