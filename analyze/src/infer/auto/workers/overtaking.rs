//! Runs and requests in the order of the queues before and after the workers. The order of two runs
//! at a queue is the order of their times, unless these are close: a thread may be delayed between
//! the queue and its next visible event. So a violated order costs the time between the two runs,
//! and requests are exchanged between runs if the new assignment costs less.

use crate::infer::span::NodeSpan;
use crate::tuning::auto::workers::{
    COMPARED_RUNS, CONTRADICTION_COST, JITTER, MAX_PASSES, MIN_RIVAL_SHARE, NEARBY_RUNS,
};

/// A run and its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunRequest {
    /// The run, by its place.
    pub(super) run: usize,
    /// The request, by its place.
    pub(super) request: usize,
    /// Time at which the run began, in nanoseconds.
    pub(super) begin: i64,
    /// Time at which the last call of the run ended.
    pub(super) done: i64,
    /// Time at which the run ended.
    pub(super) end: i64,
    /// Times of the request's receipt and response.
    pub(super) of: NodeSpan,
    /// The request that a hand-off shows to be the run's, by its place; `None` if no hand-off shows
    /// one.
    pub(super) shown: Option<usize>,
}

impl RunRequest {
    /// Returns whether a hand-off shows that this is the run's request.
    pub(super) fn is_shown(&self) -> bool {
        self.shown == Some(self.request)
    }
}

/// All runs with their requests, in the order in which the runs ended.
#[derive(Debug)]
pub(super) struct RunRequests {
    all: Vec<RunRequest>,
    /// The pairs by their places, in the order in which their runs began.
    begun: Vec<usize>,
    /// The place of each pair in the order of `begun`.
    place_in_begun: Vec<usize>,
}

impl RunRequests {
    /// Builds the pairs from `all`, which is in the order in which the runs ended.
    pub(super) fn new(all: Vec<RunRequest>) -> RunRequests {
        let mut begun: Vec<usize> = (0..all.len()).collect();
        begun.sort_by_key(|at| (all[*at].begin, *at));
        let mut place_in_begun = vec![0; all.len()];
        begun.iter().enumerate().for_each(|(place, at)| place_in_begun[*at] = place);
        RunRequests { all, begun, place_in_begun }
    }

    /// Number of pairs.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Share of the runs with a request that was received before the request of the previous run.
    pub(super) fn overtaking_rate(&self) -> f64 {
        let pairs = self.begun.windows(2).filter(|pair| {
            let [one, other] = pair else { return false };
            self.all[*one].of.begin > self.all[*other].of.begin
        });
        pairs.count() as f64 / self.len().max(1) as f64
    }

    /// Share of the runs that began before their request.
    pub(super) fn early_share(&self) -> f64 {
        let early = self.all.iter().filter(|pair| pair.of.begin > pair.begin).count();
        early as f64 / self.len().max(1) as f64
    }

    /// Exchanges requests until no exchange reduces the cost.
    pub(super) fn improve(&mut self) {
        for _ in 0..MAX_PASSES {
            let mut is_better = false;
            for one in 0..self.len() {
                if self.cost_of(one) == 0 {
                    continue;
                }
                for other in self.neighbours_of(one) {
                    if let Some((before, after)) = self.costs_of_exchange(one, other)
                        && after < before
                    {
                        self.swap(one, other);
                        is_better = true;
                    }
                }
            }
            if !is_better {
                break;
            }
        }
    }

    /// All pairs.
    pub(super) fn pairs(&self) -> &[RunRequest] {
        &self.all
    }

    /// Records that a hand-off shows `request` as the request of the pair at the place `at`.
    pub(super) fn mark_shown(&mut self, at: usize, request: usize) {
        self.all[at].shown = Some(request);
    }

    /// Calls `report` for each pair with the pair and, if its request is ambiguous, the place and
    /// the probability of the alternative request.
    pub(super) fn for_each_pair(
        mut self,
        mut report: impl FnMut(&RunRequest, Option<(usize, f64)>),
    ) {
        for at in 0..self.len() {
            let mut rival: Option<(usize, f64)> = None;
            let violates_none = self.cost_of(at) == 0;
            for other in self.neighbours_of(at) {
                if violates_none && self.is_far(at, other) {
                    continue;
                }
                let Some((before, after)) = self.costs_of_exchange(at, other) else { continue };
                let [before, after] = [before, after].map(|cost| (cost + JITTER) as f64);
                let share = before / (before + after);
                if share >= MIN_RIVAL_SHARE && rival.is_none_or(|(_, most)| share > most) {
                    rival = Some((self.all[other].request, share));
                }
            }
            report(&self.all[at], rival.filter(|_| !self.all[at].is_shown()));
        }
    }

    /// Returns whether two runs are so far apart that the order of neither queue is ambiguous.
    fn is_far(&self, one: usize, other: usize) -> bool {
        let [a, b] = [self.all[one], self.all[other]];
        let gaps = a.end.saturating_sub(b.end).saturating_abs();
        let gaps = gaps.saturating_add(a.begin.saturating_sub(b.begin).saturating_abs());
        gaps as f64 > JITTER as f64 / MIN_RIVAL_SHARE
    }

    /// The pairs with runs that ended next to this one.
    fn neighbours_of(&self, at: usize) -> impl Iterator<Item = usize> + use<> {
        let bounds = at.saturating_sub(NEARBY_RUNS)..(at + NEARBY_RUNS + 1).min(self.len());
        bounds.filter(move |other| *other != at)
    }

    /// Exchanges the requests of two pairs.
    fn swap(&mut self, one: usize, other: usize) {
        let [a, b] = [self.all[one], self.all[other]];
        (self.all[one].of, self.all[one].request) = (b.of, b.request);
        (self.all[other].of, self.all[other].request) = (a.of, a.request);
    }

    /// The cost of two pairs now, and with their requests exchanged; `None` if the exchange is
    /// impossible. Nothing is changed.
    fn costs_of_exchange(&mut self, one: usize, other: usize) -> Option<(i64, i64)> {
        let fits = |pair: &RunRequest, of: &NodeSpan| of.begin <= pair.begin && pair.done <= of.end;
        let [a, b] = [self.all[one], self.all[other]];
        if !fits(&a, &b.of) || !fits(&b, &a.of) {
            return None;
        }
        let cost = |pairs: &RunRequests| {
            let both = pairs.cost_of(one).saturating_add(pairs.cost_of(other));
            both.saturating_sub(cost(&pairs.all[one], &pairs.all[other]))
        };
        let before = cost(self);
        self.swap(one, other);
        let after = cost(self);
        self.swap(one, other);
        Some((before, after))
    }

    /// Cost of a pair, in nanoseconds: that of the violated orders between it and the pairs around
    /// it, and [`CONTRADICTION_COST`] if a hand-off shows another request for its run.
    fn cost_of(&self, at: usize) -> i64 {
        let around = |place: usize| {
            place.saturating_sub(COMPARED_RUNS)..(place + COMPARED_RUNS + 1).min(self.len())
        };
        let own = &self.all[at];
        let ended = around(at);
        let begun = around(self.place_in_begun[at]).map(|place| self.begun[place]);
        let begun = begun.filter(|other| !ended.contains(other));
        let others = ended.clone().chain(begun).filter(|other| *other != at);
        let contradicts = own.shown.is_some() && !own.is_shown();
        let initial = if contradicts { CONTRADICTION_COST } else { 0 };
        others.map(|other| cost(own, &self.all[other])).fold(initial, i64::saturating_add)
    }
}

/// Cost of the violated orders between two pairs, in nanoseconds.
fn cost(one: &RunRequest, other: &RunRequest) -> i64 {
    let at_end = are_in_opposite_order(one.end, other.end, one.of.end, other.of.end);
    let at_begin = are_in_opposite_order(one.begin, other.begin, one.of.begin, other.of.begin);
    let ends = one.end.saturating_sub(other.end).saturating_abs();
    let begins = one.begin.saturating_sub(other.begin).saturating_abs();
    let cost = |are_in_opposite_order: bool, gap: i64| if are_in_opposite_order { gap } else { 0 };
    cost(at_end, ends).saturating_add(cost(at_begin, begins))
}

/// Returns whether two runs and their requests are in opposite orders.
fn are_in_opposite_order(one: i64, other: i64, of_one: i64, of_other: i64) -> bool {
    (one < other && of_one > of_other) || (one > other && of_one < of_other)
}
