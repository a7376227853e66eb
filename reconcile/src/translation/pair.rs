//! Pairs of half flows that are the ends of one flow.

use super::confidence::PairEvidence;

/// Two half flows that are the ends of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfFlowPair {
    /// The connecting end, by its index among the half flows.
    pub connecting: u32,
    /// The accepting end.
    pub accepting: u32,
    /// Probability that the pair is correct, up to 1.
    pub confidence: f64,
    /// Evidence for the pair.
    pub evidence: PairEvidence,
}
