//! Gain ratio (C4.5, Quinlan 1993, chapter 2): how well a question about a parameter separates two
//! classes, relative to how much the question itself divides.

/// Counts of both classes on one side of a split: before and after, or originator and mutation.
pub type SplitCounts = [f64; 2];

/// Entropy of counts, in bits.
fn entropy_bits(counts: impl IntoIterator<Item = f64> + Clone) -> f64 {
    let all: f64 = counts.clone().into_iter().sum();
    let of = |count: f64| if count > 0.0 { -(count / all) * (count / all).log2() } else { 0.0 };
    if all > 0.0 { counts.into_iter().map(of).sum() } else { 0.0 }
}

/// Information gain and gain ratio of a split into parts, in bits; 0 if the split leaves all in one
/// part.
pub fn gain_ratio(parts: &[SplitCounts]) -> (f64, f64) {
    let size = |part: &SplitCounts| part[0] + part[1];
    let all: f64 = parts.iter().map(size).sum();
    if all <= 0.0 {
        return (0.0, 0.0);
    }
    let whole = [0, 1].map(|class| parts.iter().map(|part| part[class]).sum::<f64>());
    let left: f64 = parts.iter().map(|part| size(part) / all * entropy_bits(*part)).sum();
    let gain = (entropy_bits(whole) - left).max(0.0);
    let split = entropy_bits(parts.iter().map(size).collect::<Vec<_>>());
    (gain, if split > 0.0 { gain / split } else { 0.0 })
}

/// The threshold of a number at which the gain is greatest, with gain and gain ratio; `None` if no
/// threshold gains anything. At least the weight `least` must be on each side. Each of `rows` is a
/// value, a class and a weight, in ascending order of values. The threshold is the midpoint of two
/// values. As in C4.5 release 8, the gain is reduced for the choice among many thresholds, by
/// log2(number of thresholds) / rows.
pub fn best_threshold(rows: &[(f64, usize, f64)], least: f64) -> Option<(f64, f64, f64)> {
    let mut whole = [0.0; 2];
    for (_, class, weight) in rows {
        whole[*class & 1] += weight;
    }
    let (mut below, mut best, mut thresholds) = ([0.0; 2], None, 0_u32);
    for pair in rows.windows(2) {
        let [(value, class, weight), (next, ..)] = pair else { continue };
        below[*class & 1] += weight;
        if value == next {
            continue;
        }
        thresholds += 1;
        let above = [whole[0] - below[0], whole[1] - below[1]];
        if below[0] + below[1] < least || above[0] + above[1] < least {
            continue;
        }
        let (gain, ratio) = gain_ratio(&[below, above]);
        if best.is_none_or(|(_, known, _)| gain > known) {
            best = Some((f64::midpoint(*value, *next), gain, ratio));
        }
    }
    let all = whole[0] + whole[1];
    let (threshold, gain, ratio) = best?;
    let net_gain = gain - f64::from(thresholds).log2() / all;
    (net_gain > 0.0).then(|| (threshold, net_gain, ratio * net_gain / gain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quinlans_golf_by_hand() {
        // Outlook: sunny 2 of 5 play, overcast 4 of 4, rain 3 of 5.
        let (gain, ratio) = gain_ratio(&[[2.0, 3.0], [4.0, 0.0], [3.0, 2.0]]);
        assert!((gain - 0.247).abs() < 5e-4, "{gain}");
        assert!((ratio - 0.156).abs() < 5e-4, "{ratio}");
        assert_eq!(gain_ratio(&[[3.0, 4.0]]), (0.0, 0.0));
        assert_eq!(gain_ratio(&[]), (0.0, 0.0));
    }

    #[test]
    fn a_threshold_is_found_and_paid_for() {
        let rows: Vec<(f64, usize, f64)> =
            (0..20).map(|number| (f64::from(number), usize::from(number >= 12), 1.0)).collect();
        let (threshold, gain, _) = best_threshold(&rows, 2.0).unwrap();
        assert_eq!(threshold, 11.5);
        let whole = -(0.6_f64 * 0.6_f64.log2() + 0.4 * 0.4_f64.log2());
        assert!((gain - (whole - 19.0_f64.log2() / 20.0)).abs() < 1e-9);
        assert_eq!(best_threshold(&[(1.0, 0, 1.0), (1.0, 1, 1.0)], 1.0), None);
    }
}
