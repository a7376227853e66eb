//! Preparation of a service before any call is assigned to a request: calls of timers, how long
//! requests take, which threads do the jobs, calls that are not awaited, and post-reply work.

use rustc_hash::FxHashMap;

use super::service::{MadeCallId, OPEN, RequestId, Service};
use super::{afterwards, holders, pool, thread_time, timers};
use crate::evidence::Evidence;
use crate::tuning::auto::services::prepare::{
    MIN_ANSWERED, MIN_CALLS, NEARLY_ALL, OUTLAST_SHARE, PATIENCE_FACTOR,
};

impl Service {
    /// Derives everything that is known before any assignment: how long requests take, which
    /// threads do the jobs, which calls are not awaited, and post-reply work.
    pub(super) fn prepare(&mut self) {
        self.learn_patience();
        let pool = self.find_pool();
        self.learn_unwaited();
        let has_holders = !holders::bound_requests(self).is_empty();
        let afterwards = afterwards::find_post_reply_work(self, has_holders);
        (self.linger, self.after_answer) = (afterwards.linger, afterwards.kinds);
        if !self.call_before.is_empty() && self.evidence.contains(Evidence::Connections) {
            self.call_after = vec![None; self.calls.len()];
            for (call, before) in MadeCallId::ids().zip(&self.call_before) {
                if let Some(before) = before {
                    self.call_after[before.index()] = Some(call);
                }
            }
        } else {
            self.call_before = Vec::new();
        }
        if !self.evidence.contains(Evidence::Sizes) {
            (self.request_sizes, self.call_sizes) = (Vec::new(), Vec::new());
        }
        [self.bound_to, self.alternative_job] =
            pool.unwrap_or_else(|| [holders::bound_requests(self), Vec::new()]);
        self.bind_early_work();
        if self.has_coalesced_writes() {
            self.usual = thread_time::usual_calls(self);
        }
    }

    /// Learns after how long an unanswered request of each kind counts as abandoned.
    fn learn_patience(&mut self) {
        let mut durations: FxHashMap<u32, Vec<i64>> = FxHashMap::default();
        for request in self.requests.iter().filter(|request| request.end != OPEN) {
            let took = request.end.saturating_sub(request.begin).max(0);
            durations.entry(request.kind).or_default().push(took);
        }
        for (kind, mut durations) in durations {
            if durations.len() >= MIN_ANSWERED {
                let place = ((durations.len() - 1) as f64 * NEARLY_ALL) as usize;
                let (_, took, _) = durations.select_nth_unstable(place);
                let patience = (*took as f64 * PATIENCE_FACTOR) as i64;
                self.patience.insert(kind, patience.min(self.window));
            }
        }
    }

    /// Finds the worker pool of this service, and sets the ends of its jobs. Returns the job and
    /// the alternative job of each call; `None` without such a pool.
    fn find_pool(&mut self) -> Option<[Vec<Option<RequestId>>; 2]> {
        let pool = pool::find_worker_pool(self)?;
        for (job, end) in pool.ends {
            self.requests[job.index()].end = end;
        }
        Some([pool.bound_to, pool.alternative_job])
    }

    /// Finds the kinds of calls that requests do not wait for: a service may begin a call in one
    /// request and continue it in the next, as one that receives a mail line by line.
    fn learn_unwaited(&mut self) {
        let mut counts: FxHashMap<u32, [usize; 2]> = FxHashMap::default();
        for (call, fit) in
            self.calls.iter().zip(self.match_requests()).filter(|(_, fit)| fit.are_answered)
        {
            let [calls, outlast] = counts.entry(call.kind).or_default();
            *calls += 1;
            *outlast += usize::from(!fit.is_covered);
        }
        let outlast = |[calls, outlast]: [usize; 2]| {
            calls >= MIN_CALLS && outlast as f64 >= OUTLAST_SHARE * calls as f64
        };
        let kinds = counts.into_iter().filter(|(_, counts)| outlast(*counts)).map(|(kind, _)| kind);
        self.unwaited = kinds.collect();
        self.unwaited.sort_unstable();
    }

    /// Sets apart the calls that a timer of this process makes for no request.
    pub(super) fn put_timers_aside(&mut self) {
        let is_timer = timers::timer_calls(&self.requests, &self.calls, self.window);
        if !is_timer.contains(&true) {
            return;
        }
        let aside = self.made_calls.iter().zip(&is_timer).filter(|(_, is_timer)| **is_timer);
        self.timer_calls.extend(aside.map(|(call, _)| *call));
        let places: Vec<u32> =
            (0..self.calls.len() as u32).filter(|at| !is_timer[*at as usize]).collect();
        self.keep_calls(&places);
    }
}
