//! Quality of the pairs that were found, by the ground truth.

use reconcile::translation::{HalfFlowPair, HalfFlowSide};

use super::system::{Kind, System};

/// The default minimum confidence of pairs.
pub const MIN_CONFIDENCE: f64 = 0.8;
/// Lower bounds of the confidences that are counted together.
pub const BOUNDS: [f64; 9] = [0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, f64::INFINITY];

/// Quality of the result.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// Pairs by confidence: all, the correct ones, and those that are correct or equal to the
    /// correct one (of the same process and name).
    pub buckets: [[u64; 3]; BOUNDS.len() - 1],
    /// True pairs by kind, and those found with enough confidence.
    pub kinds: [(u64, u64); 4],
}

impl Judgement {
    pub fn judge(&mut self, system: &System, found: &[HalfFlowPair]) {
        for (half, truth) in system.halves.iter().zip(&system.truth) {
            if let (HalfFlowSide::Connecting, Some((_, kind))) = (half.side, truth) {
                self.kinds[*kind as usize].0 += 1;
            }
        }
        for pair in found {
            let place = BOUNDS.iter().rposition(|bound| pair.confidence >= *bound).unwrap_or(0);
            let truth = system.truth[pair.connecting as usize];
            let right = truth.is_some_and(|(other, _)| other == pair.accepting);
            let accepted = &system.halves[pair.accepting as usize];
            let equal = truth.is_some_and(|(other, _)| {
                let other = &system.halves[other as usize];
                (other.process, other.local) == (accepted.process, accepted.local)
            });
            let bucket = &mut self.buckets[place];
            bucket[0] += 1;
            bucket[1] += u64::from(right);
            bucket[2] += u64::from(equal);
            if let Some((_, kind)) = truth.filter(|_| right && pair.confidence >= MIN_CONFIDENCE) {
                self.kinds[kind as usize].1 += 1;
            }
        }
    }

    /// The share of correct pairs among those with at least `least` confidence.
    pub fn precision(&self, least: f64) -> f64 {
        let counted = self.buckets.iter().zip(BOUNDS).filter(|(_, bound)| *bound >= least);
        let [all, right] =
            counted.fold([0, 0], |[all, right], (bucket, _)| [all + bucket[0], right + bucket[1]]);
        right as f64 / all.max(1) as f64
    }

    /// The share of the true pairs of a kind that were found.
    pub fn recall(&self, kind: Kind) -> f64 {
        let (all, found) = self.kinds[kind as usize];
        found as f64 / all.max(1) as f64
    }
}

impl std::fmt::Display for Judgement {
    fn fmt(&self, text: &mut std::fmt::Formatter) -> std::fmt::Result {
        for (bound, [all, right, equal]) in BOUNDS.iter().zip(self.buckets) {
            let share = |count: u64| count as f64 / all.max(1) as f64;
            writeln!(
                text,
                "  from {bound:5}: {all:7}, right {:.4}, or equal {:.4}",
                share(right),
                share(equal)
            )?;
        }
        for (kind, (all, found)) in
            [Kind::Destination, Kind::Source, Kind::Both, Kind::Proxy].iter().zip(self.kinds)
        {
            writeln!(
                text,
                "  {kind:?}: {found} of {all}, {:.3}",
                found as f64 / all.max(1) as f64
            )?;
        }
        Ok(())
    }
}
