//! Confidence: how far the probabilities can be trusted. Precision at coverage is whether the links
//! with the highest probabilities are right; reliability is whether, of the links with probability
//! p, the share p is right.

use serde::Serialize;

use super::scored_calls::ScoredCalls;

/// Share of links that the precision is computed for: the most probable ones.
const COVERAGE: f64 = 0.9;
/// Bins of the reliability.
const BINS: usize = 10;

/// How well the probabilities agree with the truth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkConfidence {
    /// The accuracy of the 90% of the links with the highest probability.
    pub precision_at_90_coverage: Option<f64>,
    /// The expected calibration error: the mean over all links of the difference between the
    /// accuracy and the mean probability of their bin.
    pub calibration_error: Option<f64>,
    /// The links by their probability, in tenths.
    pub reliability: Vec<ReliabilityBin>,
}

/// The links with a probability within a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReliabilityBin {
    /// The lowest probability of the range.
    pub from: f64,
    /// The highest probability of the range; it belongs to the next bin, except for 1.
    pub to: f64,
    /// Number of links.
    pub links: u64,
    /// Mean probability of the links of the bin.
    pub probability: Option<f64>,
    /// The share of the bin's links that is right.
    pub accuracy: Option<f64>,
}

/// The confidence of the links of `scored`.
pub(super) fn measure_confidence(scored: &ScoredCalls) -> LinkConfidence {
    let mut links: Vec<(f64, bool)> = scored
        .scored_links()
        .map(|(_, call, parent)| (call.probability.clamp(0.0, 1.0), call.inferred == Some(parent)))
        .collect();
    let precision_at_90_coverage = precision_at_coverage(&mut links, COVERAGE);
    let (reliability, calibration_error) = reliability_bins(&links);
    LinkConfidence { precision_at_90_coverage, calibration_error, reliability }
}

/// The precision of the most probable share `coverage` of the links, each given as its probability
/// and whether it is right. Links that are equally probable at the boundary count in part.
fn precision_at_coverage(links: &mut [(f64, bool)], coverage: f64) -> Option<f64> {
    links.sort_by(|one, other| other.0.total_cmp(&one.0));
    let wanted = (coverage * links.len() as f64).ceil();
    let (mut taken, mut right) = (0.0, 0.0);
    for equal in links.chunk_by(|one, other| one.0 == other.0) {
        let part = ((wanted - taken) / equal.len() as f64).clamp(0.0, 1.0);
        taken += part * equal.len() as f64;
        right += part * equal.iter().filter(|link| link.1).count() as f64;
    }
    (taken > 0.0).then(|| right / taken)
}

/// The bins, and the expected calibration error.
fn reliability_bins(links: &[(f64, bool)]) -> (Vec<ReliabilityBin>, Option<f64>) {
    let mut sums = [(0u64, 0.0, 0u64); BINS];
    for (probability, right) in links {
        let (count, sum, correct) = &mut sums[((probability * BINS as f64) as usize).min(BINS - 1)];
        *count += 1;
        *sum += probability;
        *correct += u64::from(*right);
    }
    let error: f64 = sums.iter().map(|(_, sum, correct)| (sum - *correct as f64).abs()).sum();
    let bins = sums.iter().enumerate().map(|(bin, (count, sum, correct))| ReliabilityBin {
        from: bin as f64 / BINS as f64,
        to: (bin + 1) as f64 / BINS as f64,
        links: *count,
        probability: (*count > 0).then(|| sum / *count as f64),
        accuracy: (*count > 0).then(|| *correct as f64 / *count as f64),
    });
    (bins.collect(), (!links.is_empty()).then(|| error / links.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_is_of_the_most_probable_and_ties_count_in_part() {
        let mut links: Vec<(f64, bool)> =
            (0..10).map(|link| (1.0 - f64::from(link) / 20.0, link != 9)).collect();
        // Nine of ten links: the least probable, which is wrong, is left out.
        assert_eq!(precision_at_coverage(&mut links, 0.9), Some(1.0));
        links[0].1 = false;
        assert_eq!(precision_at_coverage(&mut links, 0.9), Some(8.0 / 9.0));
        // All links are equally probable: 9 of 10 of each, and 8 are right.
        let mut equal: Vec<(f64, bool)> = links.iter().map(|link| (0.5, link.1)).collect();
        assert!((precision_at_coverage(&mut equal, 0.9).unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(precision_at_coverage(&mut [], 0.9), None);
    }

    #[test]
    fn calibration_is_the_mean_distance_of_accuracy_and_probability() {
        // Two links at 0.75, one right and one wrong, and one at 1 that is right: (2 * |0.5 - 0.75|
        // + 1 * 0) / 3.
        let (bins, error) = reliability_bins(&[(0.75, true), (0.75, false), (1.0, true)]);
        assert!((error.unwrap() - 0.5 / 3.0).abs() < 1e-12);
        assert_eq!((bins.len(), bins[7].links, bins[9].links), (10, 2, 1));
        assert_eq!((bins[7].probability, bins[7].accuracy), (Some(0.75), Some(0.5)));
        assert_eq!((bins[0].probability, bins[0].accuracy), (None, None));
        assert_eq!(reliability_bins(&[]).1, None);
    }
}
