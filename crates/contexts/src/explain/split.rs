//! Splitting contexts into slow ones and the rest. In the order of the contexts' means, the cut
//! with the largest sum of squares between its two sides is the best of all partitions into two
//! groups.

/// A context that may be slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SlowCandidate {
    /// Number of the context.
    pub(super) context: u32,
    /// Mean or median of the candidate, in nanoseconds; candidates are compared by it.
    pub(super) value: f64,
    /// Expected number of calls in the context.
    pub(super) calls: f64,
}

/// The slow contexts, the slowest first; `None` if there are fewer than two different values.
pub(super) fn find_slow(candidates: &[SlowCandidate]) -> Option<Vec<u32>> {
    let mut order = candidates.to_vec();
    order.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.context.cmp(&b.context)));
    let calls: f64 = order.iter().map(|one| one.calls).sum();
    let sum: f64 = order.iter().map(|one| one.calls * one.value).sum();
    let (mut calls_before, mut sum_before) = (0.0, 0.0);
    let mut best = (0.0, 0);
    for (place, pair) in order.windows(2).enumerate() {
        let [one, next] = pair else { continue };
        calls_before += one.calls;
        sum_before += one.calls * one.value;
        let apart = sum_before / calls_before - (sum - sum_before) / (calls - calls_before);
        let between = apart * apart * calls_before * (calls - calls_before);
        if one.value > next.value && between > best.0 {
            best = (between, place + 1);
        }
    }
    let slow: Vec<u32> = order.iter().take(best.1).map(|one| one.context).collect();
    (!slow.is_empty()).then_some(slow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow_among(values: &[(f64, f64)]) -> Option<Vec<u32>> {
        let candidate = |(context, (value, calls)): (u32, &(f64, f64))| SlowCandidate {
            context,
            value: *value,
            calls: *calls,
        };
        find_slow(&(0..).zip(values).map(candidate).collect::<Vec<_>>())
    }

    #[test]
    fn the_best_cut_is_taken() {
        assert_eq!(
            slow_among(&[(1.0, 10.0), (9.0, 10.0), (2.0, 10.0), (8.0, 10.0)]),
            Some(vec![1, 3])
        );
        assert_eq!(slow_among(&[(1.0, 10.0), (1.2, 10.0), (7.0, 1.0)]), Some(vec![2]));
        assert_eq!(
            (slow_among(&[(1.0, 5.0)]), slow_among(&[(1.0, 5.0), (1.0, 9.0)]), slow_among(&[])),
            (None, None, None)
        );
    }
}
