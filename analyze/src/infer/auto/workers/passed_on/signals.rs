//! Signals of workers, which show when a response was delegated. Between the end of its last call
//! and its response a worker mostly sends the same number of signals. So after a run with a
//! response that another thread writes, the response has been delegated when one signal more than
//! that number was sent. The time of this signal is nearer to the delegation than the end of the
//! last call, after which a worker may have to wait for a lock.

use rustc_hash::FxHashMap;

use crate::infer::auto::hand_offs::ServiceHandoff;
use crate::infer::auto::service::Service;
use crate::infer::auto::workers::run::WorkerRun;
use crate::infer::auto::workers::stretches::WorkerWindow;
use crate::tuning::auto::workers::passed_on::MIN_ALIKE;

/// The signals of workers after their calls.
pub(super) struct WorkerSignals {
    /// Times at which each worker signalled, in nanoseconds, in order.
    times: FxHashMap<u32, Vec<i64>>,
    /// Times at which each worker began a call, in order.
    begins: FxHashMap<u32, Vec<i64>>,
    /// Number of signals between a run and its response; `None` if it varies.
    before: Option<usize>,
}

impl WorkerSignals {
    pub(super) fn from_handoffs(
        service: &Service,
        windows: &[WorkerWindow],
        hand_offs: &[ServiceHandoff],
    ) -> WorkerSignals {
        let mut begins: FxHashMap<u32, Vec<i64>> = FxHashMap::default();
        for window in windows {
            let calls = window.calls.iter().map(|call| service.calls[call.index()].begin);
            begins.entry(window.thread).or_default().extend(calls);
        }
        let mut times: FxHashMap<u32, Vec<i64>> =
            begins.keys().map(|thread| (*thread, Vec::new())).collect();
        for hand_off in hand_offs {
            times.get_mut(&hand_off.from).into_iter().for_each(|of| of.push(hand_off.signalled));
        }
        let all = begins.values_mut().chain(times.values_mut());
        all.for_each(|times| times.sort_unstable());
        let mut signals = WorkerSignals { times, begins, before: None };
        signals.before = signals.usual_signals(service, windows);
        signals
    }

    /// Number of signals between the last call of a worker and its response, if it is mostly the
    /// same.
    fn usual_signals(&self, service: &Service, windows: &[WorkerWindow]) -> Option<usize> {
        let mut seen: FxHashMap<usize, usize> = FxHashMap::default();
        for window in windows {
            let answer = window.answer.map(|request| service.requests[request.index()].end);
            let last = window.calls.last().map(|call| service.calls[call.index()].end);
            let Some((answer, last)) = answer.zip(last) else { continue };
            *seen.entry(self.signals_between(window.thread, last, answer).len()).or_default() += 1;
        }
        let all: usize = seen.values().sum();
        let (usual, count) = seen.into_iter().max_by_key(|(_, count)| *count)?;
        (count as f64 >= MIN_ALIKE * all as f64).then_some(usual)
    }

    /// The signals of a worker in the half-open interval from `first` to `until`.
    fn signals_between(&self, thread: u32, first: i64, until: i64) -> &[i64] {
        let times = self.times.get(&thread).map_or(&[][..], Vec::as_slice);
        let begin = times.partition_point(|time| *time < first);
        let end = times.partition_point(|time| *time < until);
        times.get(begin..end).unwrap_or_default()
    }

    /// Time at which the response of a run was delegated, as far as is known: the end of its last
    /// call if signals do not show it.
    pub(super) fn delegated_at(&self, run: &WorkerRun) -> i64 {
        let begins = self.begins.get(&run.thread).map_or(&[][..], Vec::as_slice);
        let next = begins.get(begins.partition_point(|begin| *begin < run.end));
        let signals = self.signals_between(run.thread, run.end, next.copied().unwrap_or(i64::MAX));
        self.before.and_then(|before| signals.get(before)).copied().unwrap_or(run.end)
    }
}
