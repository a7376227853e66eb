//! Finds the most likely request of each response among the concurrent calls of one connection, by
//! the statistics of the connection: the sizes of responses to requests of a size, and the
//! durations of calls with these sizes.
//!
//! The statistics are learned first from calls without overlap, and then from all calls. Starting
//! from the order of the requests, two calls exchange their responses if that is likelier, until no
//! exchange improves. The remaining probability that a call has another call's response is its
//! mispairing probability. Where calls of unlike kinds overlap, the statistics show whether a
//! server answers in the order of receipt (pipelining). If it does, no responses are exchanged, and
//! no pairing is uncertain.

use std::ops::Range;

use crate::tuning::calls::likelihood::{
    CLASSES_PER_E_FOLD, CLEAR_ODDS, CLEAR_PER_EXCEPTION, MAX_ITERATIONS, MIN_CALLS,
    MIN_CALLS_OF_KIND, MIN_CLEAR, MIN_FREQUENT, NEIGHBOURS, SHARED_MISPAIRING, SHORTEST, SWEEPS,
};
use message_trace::MessageId;
use rustc_hash::FxHashMap;

/// A call, as one of its ends saw it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObservedCall {
    pub(super) request: MessageId,
    pub(super) answer: MessageId,
    /// Times of the request and the response, by one clock, in nanoseconds.
    pub(super) asked: i64,
    pub(super) answered: i64,
    /// When the response was seen at the other end, in nanoseconds.
    pub(super) seen: Option<i64>,
    /// Sizes of the request and the response, in bytes.
    pub(super) bytes: [i64; 2],
}

impl ObservedCall {
    /// Returns whether the responses of both calls are indistinguishable, for example cut from the
    /// same write: then nothing depends on which call has which response.
    fn is_answered_as(&self, other: &ObservedCall) -> bool {
        let answer = |call: &ObservedCall| (call.answered, call.seen, call.bytes[1]);
        answer(self) == answer(other)
    }
}

/// Usual sizes and durations on a connection.
#[derive(Debug, Default)]
struct CallStatistics {
    calls: f64,
    /// Number of requests and of responses by size.
    sides: [FxHashMap<u64, f64>; 2],
    /// By the sizes of request and response: the number of calls, and of these calls by class of
    /// duration.
    kinds: FxHashMap<(u64, u64), (f64, FxHashMap<i32, f64>)>,
    /// Number of all calls by class of duration.
    all: FxHashMap<i32, f64>,
}

impl CallStatistics {
    fn from_calls<'a>(calls: impl Iterator<Item = &'a ClassifiedCall>) -> CallStatistics {
        let mut usual = CallStatistics::default();
        for ClassifiedCall { call, sizes: [request, answer] } in calls {
            let class = duration_with_class(call.answered.saturating_sub(call.asked)).1;
            usual.calls += 1.0;
            *usual.sides[0].entry(*request).or_default() += 1.0;
            *usual.sides[1].entry(*answer).or_default() += 1.0;
            let kind = usual.kinds.entry((*request, *answer)).or_default();
            kind.0 += 1.0;
            *kind.1.entry(class).or_default() += 1.0;
            *usual.all.entry(class).or_default() += 1.0;
        }
        usual
    }

    /// Log-likelihood that the response of `answer` is the response to the request of `request`.
    fn log_likelihood(&self, request: &ClassifiedCall, answer: &ClassifiedCall) -> f64 {
        let took = answer.call.answered.saturating_sub(request.call.asked);
        if took <= 0 {
            return f64::NEG_INFINITY;
        }
        let sizes = (request.sizes[0], answer.sizes[1]);
        let count =
            |side: usize, size: u64| self.sides[side].get(&size).copied().unwrap_or_default();
        let known = self.kinds.get(&sizes);
        let together = known.map_or(0.0, |(count, _)| *count);
        let sizes = (together + 0.1) / (count(0, sizes.0) + 1.0) / (count(1, sizes.1) + 1.0)
            * self.calls.max(1.0);
        let (total, durations) = match known {
            Some((count, durations)) if *count >= MIN_CALLS_OF_KIND => (*count, durations),
            _ => (self.calls, &self.all),
        };
        let (took, class) = duration_with_class(took);
        let share = (durations.get(&class).copied().unwrap_or_default() + 0.3) / (total + 10.0);
        sizes.ln() + (share / took).ln()
    }
}

/// Returns a call's duration in nanoseconds, at least [`SHORTEST`], and the class of durations that
/// it belongs to, which is logarithmic.
fn duration_with_class(took: i64) -> (f64, i32) {
    let took = (took as f64).max(SHORTEST);
    (took, (took.ln() * CLASSES_PER_E_FOLD) as i32)
}

/// A call with the classes of the sizes of its request and its response: a frequent size is a class
/// of its own, all others are classified by their magnitude.
#[derive(Clone, Copy, Debug)]
struct ClassifiedCall {
    call: ObservedCall,
    sizes: [u64; 2],
}

/// The calls of a connection, in the order of their responses.
#[derive(Debug)]
pub(super) struct ConcurrentCalls {
    members: Vec<ClassifiedCall>,
    /// Whether no other call was open when a call was answered.
    alone: Vec<bool>,
}

impl ConcurrentCalls {
    pub(super) fn new(mut calls: Vec<ObservedCall>) -> ConcurrentCalls {
        let mut counts: [FxHashMap<i64, u32>; 2] = Default::default();
        for call in &calls {
            counts
                .iter_mut()
                .zip(call.bytes)
                .for_each(|(counts, bytes)| *counts.entry(bytes).or_default() += 1);
        }
        let class = |side: usize, bytes: i64| match counts[side].get(&bytes) {
            Some(count) if *count >= MIN_FREQUENT => bytes as u64,
            _ => 1 << 63 | u64::from(bytes.max(1).ilog2()),
        };
        calls.sort_unstable_by_key(|call| (call.answered, call.asked, call.answer));
        let mut asked: Vec<i64> = calls.iter().map(|call| call.asked).collect();
        asked.sort_unstable();
        // All earlier calls with requests before that time have been answered.
        let is_alone = |(place, call): (usize, &ObservedCall)| {
            asked.partition_point(|asked| *asked < call.answered) <= place + 1
        };
        let alone = calls.iter().enumerate().map(is_alone).collect();
        let member = |call: ObservedCall| ClassifiedCall {
            call,
            sizes: [0, 1].map(|side| class(side, call.bytes[side])),
        };
        ConcurrentCalls { members: calls.into_iter().map(member).collect(), alone }
    }

    /// Returns whether no two calls overlap.
    pub(super) fn never_overlap(&self) -> bool {
        !self.alone.contains(&false)
    }

    /// Returns the calls, each with its most likely response.
    pub(super) fn into_likeliest_pairs(mut self) -> impl Iterator<Item = ObservedCall> {
        if self.members.len() >= MIN_CALLS && !self.never_overlap() {
            let mut usual = self.initial_statistics();
            if !self.are_in_order(&usual) {
                for _ in 0..MAX_ITERATIONS {
                    if !(0..SWEEPS).fold(false, |any, _| self.exchange_responses(&usual) | any) {
                        break;
                    }
                    usual = CallStatistics::from_calls(self.members.iter());
                }
            }
        }
        self.members.into_iter().map(|member| member.call)
    }

    /// Returns the probability for each call that it has another call's response.
    pub(super) fn mispairing_probabilities(&self) -> Vec<(ObservedCall, f64)> {
        let probabilities: Vec<f64> = if self.members.len() < MIN_CALLS {
            self.probabilities_by_count()
        } else if self.is_by_order() && self.are_in_order(&self.initial_statistics()) {
            vec![0.0; self.members.len()]
        } else {
            let usual = CallStatistics::from_calls(self.members.iter());
            let probabilities: Vec<f64> = (0..self.members.len())
                .map(|place| self.mispairing_probability(&usual, place))
                .collect();
            let mean = probabilities.iter().sum::<f64>() / probabilities.len() as f64;
            let of_others = |place: usize| {
                SHARED_MISPAIRING * self.largest_around(&probabilities, place).max(mean)
            };
            (0..probabilities.len())
                .map(|place| probabilities[place].max(of_others(place)))
                .collect()
        };
        self.members.iter().map(|member| member.call).zip(probabilities).collect()
    }

    /// Learns usual sizes and durations from pairs by order: from the calls without overlap or, if
    /// these are too few, from the calls that were the only open one when they were answered or, if
    /// these are too few as well, from all calls.
    fn initial_statistics(&self) -> CallStatistics {
        let is_alone = |place: usize| self.alone[place] && (place == 0 || self.alone[place - 1]);
        let of = |is: &dyn Fn(usize) -> bool| -> Vec<&ClassifiedCall> {
            (0..self.members.len())
                .filter(|place| is(*place))
                .map(|place| &self.members[place])
                .collect()
        };
        let known = [of(&is_alone), of(&|place| self.alone[place])]
            .into_iter()
            .find(|known| known.len() >= MIN_CALLS);
        CallStatistics::from_calls(known.unwrap_or_else(|| of(&|_| true)).into_iter())
    }

    /// Returns whether the responses are in the order of the requests.
    fn is_by_order(&self) -> bool {
        self.members.windows(2).all(|two| two[0].call.asked <= two[1].call.asked)
    }

    /// Returns whether calls of unlike kinds show that requests are answered in order: exchanging
    /// the responses of two overlapping calls would often be much less likely.
    fn are_in_order(&self, usual: &CallStatistics) -> bool {
        let (mut shown, mut otherwise) = (0, 0);
        for place in 0..self.members.len() {
            for next in self.overlapping_after(place) {
                let gain = self.exchange_gain(usual, place, next);
                shown += usize::from(gain < -CLEAR_ODDS && gain > f64::NEG_INFINITY);
                otherwise += usize::from(gain > CLEAR_ODDS);
            }
        }
        shown >= MIN_CLEAR && otherwise * CLEAR_PER_EXCEPTION <= shown + otherwise
    }

    /// Returns the calls after the one at `place` that were made before it was answered.
    fn overlapping_after(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let near: Range<usize> = place + 1..self.members.len().min(place + 1 + NEIGHBOURS);
        let answered = self.members[place].call.answered;
        near.filter(move |next| self.members[*next].call.asked < answered)
    }

    /// Log-likelihood gain if two calls exchange their responses.
    fn exchange_gain(&self, usual: &CallStatistics, one: usize, other: usize) -> f64 {
        let [one, other] = [&self.members[one], &self.members[other]];
        let exchanged = usual.log_likelihood(one, other) + usual.log_likelihood(other, one);
        exchanged - usual.log_likelihood(one, one) - usual.log_likelihood(other, other)
    }

    /// Exchanges responses if that is likelier, and returns whether any were exchanged.
    fn exchange_responses(&mut self, usual: &CallStatistics) -> bool {
        let mut any = false;
        for place in 0..self.members.len() {
            for next in place + 1..self.members.len().min(place + 1 + NEIGHBOURS) {
                let is_open = self.members[next].call.asked < self.members[place].call.answered;
                if is_open && self.exchange_gain(usual, place, next) > 1e-9 {
                    // Members are ordered by response, so the requests move.
                    let [one, other] = [self.members[place], self.members[next]];
                    self.members[place] = one.with_request_of(&other);
                    self.members[next] = other.with_request_of(&one);
                    any = true;
                }
            }
        }
        any
    }

    /// Returns the probability that the response of the call at `place` belongs to a nearby call.
    fn mispairing_probability(&self, usual: &CallStatistics, place: usize) -> f64 {
        let own = self.members[place].call;
        let others = self
            .overlapping_calls(place)
            .filter(|other| !own.is_answered_as(&self.members[*other].call));
        let odds = others.map(|other| self.exchange_gain(usual, place, other).min(30.0).exp());
        1.0 - 1.0 / (1.0 + odds.sum::<f64>())
    }

    /// Returns the largest mispairing probability of the calls that overlap the one at `place`.
    fn largest_around(&self, probabilities: &[f64], place: usize) -> f64 {
        self.overlapping_calls(place).map(|other| probabilities[other]).fold(0.0, f64::max)
    }

    /// Returns the nearby calls that overlap the one at `place`.
    fn overlapping_calls(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let own = self.members[place].call;
        let near = place.saturating_sub(NEIGHBOURS)..self.members.len().min(place + 1 + NEIGHBOURS);
        near.filter(move |other| {
            let call = self.members[*other].call;
            *other != place && call.asked < own.answered && own.asked < call.answered
        })
    }

    /// Mispairing probabilities for too few calls to learn statistics: a response may belong to any
    /// of the overlapping calls.
    fn probabilities_by_count(&self) -> Vec<f64> {
        let mut probabilities = Vec::with_capacity(self.members.len());
        let mut first = 0;
        for (place, _) in self.alone.iter().enumerate().filter(|(_, alone)| **alone) {
            let size = place + 1 - first;
            probabilities.resize(place + 1, 1.0 - 1.0 / size as f64);
            first = place + 1;
        }
        let left = self.members.len() - first;
        probabilities.resize(self.members.len(), 1.0 - 1.0 / left.max(1) as f64);
        probabilities
    }
}

impl ClassifiedCall {
    /// Returns this response paired with the request of another call.
    fn with_request_of(self, other: &ClassifiedCall) -> ClassifiedCall {
        let ObservedCall { request, asked, bytes, .. } = other.call;
        let call =
            ObservedCall { request, asked, bytes: [bytes[0], self.call.bytes[1]], ..self.call };
        ClassifiedCall { call, sizes: [other.sizes[0], self.sizes[1]] }
    }
}
