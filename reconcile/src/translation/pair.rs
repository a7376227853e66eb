//! Pairs of half flows that are the ends of one flow.

use super::confidence::PairEvidence;

/// Two half flows that are the ends of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfFlowPair {
    /// The end that connected, by its place among the half flows.
    pub connecting: u32,
    /// The end that accepted.
    pub accepting: u32,
    /// How likely it is that they are, up to 1.
    pub confidence: f64,
    /// Why they are taken for it.
    pub evidence: PairEvidence,
}
