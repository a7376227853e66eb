//! Step 1 of message linking (WAP5 section 5.1): the average causal delay d of each pair B -> C,
//! estimated as the average over the messages B -> C of the smallest delay before each, which is
//! the time since the latest arrival at B. A message without an arrival within the window x is
//! treated as spontaneous and left out.
//!
//! With parallelism this estimate is too low, since the latest arrival is not always the cause. The
//! paper mentions that steps 1 and 2 could be repeated, but does not do it. Here further iterations
//! do, on request: d is then the average over the links of the previous iteration, each weighted
//! with its probability.
//!
//! A pair consists of labels ([`crate::naming::HopName`]), not of nodes: a server that starts a
//! process for each connection would otherwise be estimated from one request at a time. The labels
//! contain the fixed ports, so that two services of the same program are kept apart
//! (docs/decisions/0205).

use super::parents;
use super::places::{DepartureChunk, EarlierArrivals};
use crate::naming::Naming;
use crate::options::Options;

/// The integer that stands for a weight of 1. Weights are summed as integers, since the sums then
/// do not depend on their order.
const UNIT_WEIGHT: f64 = (1_u64 << 32) as f64;

/// The sums of the smallest delays by labels, from which the averages are made.
#[derive(Debug)]
pub(super) struct DelaySums {
    /// By labels: the sum of the delays in nanoseconds times their weights, and the sum of the
    /// weights.
    sums: Vec<(i128, u64)>,
}

/// How an iteration weighs the delays before a departure.
#[derive(Clone, Copy)]
pub(super) enum IterationWeights<'delays> {
    /// The first iteration: only the smallest delay counts.
    First,
    /// Any later iteration: each delay counts with the probability of its link, which follows from
    /// these average delays of the previous iteration.
    After(&'delays DelaySums),
}

/// The time since the latest of the earlier messages, if there is one within `window` nanoseconds.
pub(super) fn smallest_delay(before: &EarlierArrivals<'_>, window: i64) -> Option<i64> {
    before.within_window(window).next().map(|(_, delay)| delay)
}

impl DelaySums {
    pub(super) fn new(hops: usize) -> DelaySums {
        DelaySums { sums: vec![(0, 0); hops] }
    }

    /// Adds the delays before the departures of `chunk`.
    pub(super) fn observe_chunk(
        &mut self,
        chunk: &DepartureChunk<'_>,
        naming: &Naming,
        options: &Options,
        weights: IterationWeights<'_>,
    ) {
        let mut parents = Vec::new();
        for (departure, before) in chunk.departures_with_arrivals() {
            let hop = naming.hop(departure.message);
            match weights {
                IterationWeights::First => {
                    if let Some(delay) = smallest_delay(&before, options.window) {
                        self.add_delay(hop, delay, 1.0);
                    }
                }
                IterationWeights::After(delays) => {
                    parents.clear();
                    parents::find_parents(
                        &before,
                        departure,
                        delays.mean_delay(hop),
                        options,
                        &mut parents,
                    );
                    // Parents are the latest arrivals, in the same order.
                    for ((_, delay), (_, probability)) in
                        before.within_window(options.window).zip(&parents)
                    {
                        self.add_delay(hop, delay, *probability);
                    }
                }
            }
        }
    }

    fn add_delay(&mut self, hop: u32, delay: i64, weight: f64) {
        let weight = (weight * UNIT_WEIGHT) as u64;
        let (sum, total) = &mut self.sums[hop as usize];
        *sum = sum.saturating_add(i128::from(delay).saturating_mul(i128::from(weight)));
        *total = total.saturating_add(weight);
    }

    /// The sum of `parts`, for `hops` different labels.
    pub(super) fn merge_sums(parts: Vec<DelaySums>, hops: usize) -> DelaySums {
        let mut total = DelaySums::new(hops);
        for part in parts {
            for (total, part) in total.sums.iter_mut().zip(part.sums) {
                *total = (total.0.saturating_add(part.0), total.1.saturating_add(part.1));
            }
        }
        total
    }

    /// d of a message with the labels `hop`, in nanoseconds. The delay is at least one: if all
    /// delays are below the resolution of the clock, a simultaneous arrival is a likely cause and
    /// one a nanosecond earlier is still possible.
    pub(super) fn mean_delay(&self, hop: u32) -> f64 {
        let (sum, count) = self.sums[hop as usize];
        (sum as f64 / count.max(1) as f64).max(1.0)
    }
}
