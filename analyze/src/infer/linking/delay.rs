//! Step 1 of message linking (WAP5 section 5.1): the average causal delay d of each pair B -> C, estimated as the
//! average over the messages B -> C of the smallest delay before each, which is the time since the latest arrival at
//! B. A message with none within the window x is taken as spontaneous and left out.
//!
//! A pair is one of labels ([`crate::naming::HopName`]), not of nodes: a server that makes a process for each connection
//! would otherwise be estimated from one request at a time. The labels hold the fixed ports, so that two services that
//! are the same program are kept apart (docs/decisions/0205).

use super::places::{Before, Chunk};
use crate::naming::Naming;

/// The sums of the smallest delays by labels, from which the averages are made.
#[derive(Debug)]
pub(super) struct Delays {
    sums: Vec<(i128, u64)>,
}

/// The time since the latest of the messages before, if there is one within `window` nanoseconds.
pub(super) fn smallest(before: &Before<'_>, window: i64) -> Option<i64> {
    before.within(window).next().map(|(_, delay)| delay)
}

impl Delays {
    pub(super) fn new(hops: usize) -> Delays {
        Delays { sums: vec![(0, 0); hops] }
    }

    /// Adds the smallest delays before the departures of `chunk`.
    pub(super) fn observe(&mut self, chunk: &Chunk<'_>, naming: &Naming, window: i64) {
        for (departure, before) in chunk.sweep() {
            if let Some(delay) = smallest(&before, window) {
                let (sum, count) = &mut self.sums[naming.hop(departure.message as usize) as usize];
                *sum += i128::from(delay);
                *count += 1;
            }
        }
    }

    /// All that `parts` have observed, of `hops` different labels.
    pub(super) fn sum(parts: Vec<Delays>, hops: usize) -> Delays {
        let mut total = Delays::new(hops);
        for part in parts {
            for (total, part) in total.sums.iter_mut().zip(part.sums) {
                *total = (total.0 + part.0, total.1 + part.1);
            }
        }
        total
    }

    /// d of a message with the labels `hop`, in nanoseconds. It is at least one: where all delays are below what the clock can tell, an
    /// arrival at the very time is a likely cause and one a nanosecond ago still a possible one.
    pub(super) fn mean(&self, hop: u32) -> f64 {
        let (sum, count) = self.sums[hop as usize];
        (sum as f64 / count.max(1) as f64).max(1.0)
    }
}
