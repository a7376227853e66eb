//! Facts of requests, accumulated: sums, extremes, and counts of names.

use std::collections::BTreeMap;

use out_of_core::NameId;
use request_flow::Request;

use crate::canonical::demands_of_step;
use crate::demands::{Demands, WaitTimes};
use crate::tuning::MAX_NAMES;

/// The facts of a request besides its canonical form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFacts {
    /// Number of the request, by which it can be looked up. Numbers are unique.
    pub number: u64,
    /// Name of the request, or the label with which clusters are compared.
    pub name: NameId,
    /// When the request began, in nanoseconds since the Unix epoch.
    pub begin: i64,
    /// When the request ended, in nanoseconds since the Unix epoch.
    pub end: i64,
    /// Total usage on behalf of the request, as its source recorded it.
    pub demands: Demands,
    /// Times in which the request's threads were blocked.
    pub waits: WaitTimes,
}

impl RequestFacts {
    /// Facts of a request with known steps, with its number and name.
    pub fn from_request(request: &Request, number: u64, name: NameId) -> RequestFacts {
        let begin = request.begin().unwrap_or_default();
        let end = request.end().unwrap_or(begin);
        let mut facts = RequestFacts { number, name, begin, end, ..RequestFacts::default() };
        for step in &request.steps {
            facts.demands += demands_of_step(step);
            facts.waits += step.waits.unwrap_or_default();
        }
        facts
    }
}

/// Accumulated facts of several requests. All figures but extremes are sums, so that the order of
/// requests does not matter.
#[derive(Clone, Debug, Default)]
pub(crate) struct FactSums {
    pub(crate) count: u64,
    pub(crate) demands: Demands,
    pub(crate) waits: WaitTimes,
    /// Sum of the durations, in nanoseconds.
    pub(crate) duration: i64,
    /// Shortest and longest duration, in nanoseconds.
    pub(crate) durations: Option<(i64, i64)>,
    /// First begin and last end, in nanoseconds since the Unix epoch.
    pub(crate) times: Option<(i64, i64)>,
    /// Number of requests with each name; at most [`MAX_NAMES`] names.
    pub(crate) names: BTreeMap<NameId, u64>,
    /// Number of requests with further names.
    pub(crate) other_names: u64,
    /// Number and demands of a random half of the requests, chosen by their numbers.
    half: (u64, Demands),
}

impl FactSums {
    pub(crate) fn add(&mut self, facts: &RequestFacts) {
        let duration = facts.end.saturating_sub(facts.begin).max(0);
        self.count += 1;
        self.demands += facts.demands;
        self.waits += facts.waits;
        if is_in_half(facts.number) {
            self.half.0 += 1;
            self.half.1 += facts.demands;
        }
        self.duration = self.duration.saturating_add(duration);
        let (shortest, longest) = self.durations.unwrap_or((duration, duration));
        self.durations = Some((shortest.min(duration), longest.max(duration)));
        let (first, last) = self.times.unwrap_or((facts.begin, facts.end));
        self.times = Some((first.min(facts.begin), last.max(facts.end)));
        let is_full = self.names.len() >= MAX_NAMES;
        match self.names.get_mut(&facts.name) {
            Some(count) => *count += 1,
            None if is_full => self.other_names += 1,
            None => {
                self.names.insert(facts.name, 1);
            }
        }
    }

    /// Number and demands of the random half, and of the other half.
    pub(crate) fn demands_of_halves(&self) -> ((u64, Demands), (u64, Demands)) {
        let (all, drawn): ([i64; 6], [i64; 6]) = (self.demands.into(), self.half.1.into());
        let mut rest = all;
        rest.iter_mut().zip(drawn).for_each(|(rest, drawn)| *rest -= drawn);
        (self.half, (self.count - self.half.0, rest.into()))
    }

    /// Adds the sums of other requests.
    pub(crate) fn append(&mut self, other: FactSums) {
        self.count += other.count;
        self.demands += other.demands;
        self.waits += other.waits;
        self.duration = self.duration.saturating_add(other.duration);
        self.durations = enclosing_range(self.durations, other.durations);
        self.times = enclosing_range(self.times, other.times);
        self.other_names += other.other_names;
        self.half.0 += other.half.0;
        self.half.1 += other.half.1;
        for (name, count) in other.names {
            if self.names.len() < MAX_NAMES || self.names.contains_key(&name) {
                *self.names.entry(name).or_default() += count;
            } else {
                self.other_names += count;
            }
        }
    }
}

/// The range that encloses two ranges.
fn enclosing_range(a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> Option<(i64, i64)> {
    let both = a.zip(b).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
    both.or(a).or(b)
}

/// Whether a request belongs to the random half. Neighbours are independent: the last step of
/// splitmix64 spreads their numbers.
fn is_in_half(number: u64) -> bool {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) & 1 == 1
}
