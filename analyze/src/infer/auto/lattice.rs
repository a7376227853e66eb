//! Lattice of hypotheses: the probability that a call was made for a request, given everything
//! before and after it. It is the sum over all hypotheses that were kept, by the forward and
//! backward passes. Hypotheses that became equal are one point, so that their histories add up.

use super::service::{MadeCallId, RequestId};
use crate::tuning::auto::search::hypotheses::LOG_PROBABILITY_FACTOR;

/// An edge from a hypothesis to its continuation.
#[derive(Clone, Copy, Debug)]
struct LatticeEdge {
    from: u32,
    to: u32,
    /// The request that the call of the step is assigned to, if any.
    request: Option<RequestId>,
    /// The log-probability that the continuation adds.
    weight: f64,
    /// The logarithm of the sum over all paths to the hypothesis `from`.
    forward: f64,
}

/// Edges from the hypotheses before one event to those after it.
#[derive(Clone, Copy, Debug)]
struct LatticeStep {
    /// The call that was assigned in this step; `None` for other events.
    call: Option<MadeCallId>,
    /// Number of hypotheses before the event.
    froms: u32,
    /// Index of the step's first edge.
    edges: usize,
}

/// The hypotheses since there was a single hypothesis, event by event.
#[derive(Debug)]
pub(super) struct Lattice {
    steps: Vec<LatticeStep>,
    edges: Vec<LatticeEdge>,
    /// The logarithms of the sums over all paths to each current hypothesis.
    forward: Vec<f64>,
    /// The same for the hypotheses after the current step.
    next: Vec<f64>,
}

impl Lattice {
    /// A lattice with one hypothesis.
    pub(super) fn new() -> Lattice {
        Lattice { steps: Vec::new(), edges: Vec::new(), forward: vec![0.0], next: Vec::new() }
    }

    /// Begins the step to the hypotheses after an event. `call` is the call that was made, if the
    /// event is a call.
    pub(super) fn begin(&mut self, call: Option<MadeCallId>) {
        self.steps.push(LatticeStep {
            call,
            froms: self.forward.len() as u32,
            edges: self.edges.len(),
        });
        self.next.clear();
    }

    /// Adds an edge: hypothesis `from` becomes `to` and gains `weight` in score.
    pub(super) fn add(&mut self, from: u32, to: u32, request: Option<RequestId>, weight: f64) {
        let weight = LOG_PROBABILITY_FACTOR * weight;
        let forward = self.forward[from as usize];
        if self.next.len() <= to as usize {
            self.next.resize(to as usize + 1, f64::NEG_INFINITY);
        }
        let slot = &mut self.next[to as usize];
        *slot = log_sum(*slot, forward + weight);
        self.edges.push(LatticeEdge { from, to, request, weight, forward });
    }

    /// Ends the step.
    pub(super) fn end(&mut self) {
        std::mem::swap(&mut self.forward, &mut self.next);
    }

    /// Calls `take` for every call and possible request with the call, the request, and the
    /// probability that the call belongs to the request. Then starts again with one hypothesis.
    pub(super) fn finish(&mut self, mut take: impl FnMut(MadeCallId, Option<RequestId>, f64)) {
        let total = self.forward.iter().copied().fold(f64::NEG_INFINITY, log_sum);
        let mut backward = vec![0.0; self.forward.len()];
        let mut before = Vec::new();
        let mut shares: Vec<(Option<RequestId>, f64)> = Vec::new();
        for LatticeStep { call, froms, edges } in self.steps.drain(..).rev() {
            before.clear();
            before.resize(froms as usize, f64::NEG_INFINITY);
            shares.clear();
            for edge in self.edges.drain(edges..) {
                let after = edge.weight + backward[edge.to as usize];
                let slot = &mut before[edge.from as usize];
                *slot = log_sum(*slot, after);
                if call.is_some() {
                    let share = (edge.forward + after - total).exp();
                    match shares.iter_mut().find(|(request, _)| *request == edge.request) {
                        Some((_, sum)) => *sum += share,
                        None => shares.push((edge.request, share)),
                    }
                }
            }
            for (request, share) in &shares {
                call.into_iter().for_each(|call| take(call, *request, *share));
            }
            std::mem::swap(&mut backward, &mut before);
        }
        self.forward.clear();
        self.forward.push(0.0);
    }
}

/// The logarithm of the sum of two numbers given by their logarithms.
fn log_sum(one: f64, other: f64) -> f64 {
    let (large, small) = if one > other { (one, other) } else { (other, one) };
    if small == f64::NEG_INFINITY { large } else { large + (small - large).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ln(probability: f64) -> f64 {
        probability.ln() / LOG_PROBABILITY_FACTOR
    }

    #[test]
    fn later_events_count_as_well() {
        let mut lattice = Lattice::new();
        // Call 0 belongs to request 5 with 0.8, or else to 6; the next event is twice as likely
        // after the latter.
        let [five, six] = [5, 6].map(|request| Some(RequestId::from_index(request)));
        lattice.begin(Some(MadeCallId::from_index(0)));
        lattice.add(0, 0, five, ln(0.8));
        lattice.add(0, 1, six, ln(0.2));
        lattice.end();
        lattice.begin(None);
        lattice.add(0, 0, None, ln(0.3));
        lattice.add(1, 0, None, ln(0.6));
        lattice.end();
        let mut found = Vec::new();
        lattice.finish(|call, request, share| {
            found.push((call.index(), request, (share * 1e9).round() / 1e9))
        });
        // 0.24 against 0.12.
        assert_eq!(found, [(0, five, 0.666_666_667), (0, six, 0.333_333_333)]);
        lattice.finish(|_, _, _| panic!("nothing is left"));
    }
}
