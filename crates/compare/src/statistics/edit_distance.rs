//! Normalized string-edit distance (Spectroscope, 4.2.2): the number of insertions, deletions and
//! substitutions that turn one sequence into the other, divided by the length of the longer one.
//!
//! Common prefixes and suffixes of the sequences cost nothing and are removed. A bound ends the
//! search early, as only the nearest originators matter.

/// The distance between two sequences, from 0 to 1; `None` if it is above `bound`.
pub fn normalized_edit_distance<T: PartialEq>(a: &[T], b: &[T], bound: f64) -> Option<f64> {
    let longer = a.len().max(b.len());
    if longer == 0 {
        return Some(0.0);
    }
    let bound = (bound.clamp(0.0, 1.0) * longer as f64).floor() as usize;
    let distance = edit_distance(a, b, bound)? as f64 / longer as f64;
    Some(distance)
}

/// The number of edits that turn `a` into `b`; `None` if there are more than `bound`.
///
/// Row by row of the usual table, only the cells within `bound` of the diagonal are computed: all
/// others take more edits.
fn edit_distance<T: PartialEq>(a: &[T], b: &[T], bound: usize) -> Option<usize> {
    let begins = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(begins..)?, b.get(begins..)?);
    let ends = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(..a.len() - ends)?, b.get(..b.len() - ends)?);
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() - short.len() > bound {
        return None;
    }
    let far = bound + 1;
    // The row above: edits from the first symbols of `long` to the first `place` ones of `short`.
    let mut row: Vec<usize> = (0..=short.len()).map(|place| place.min(far)).collect();
    for (line, symbol) in (1_usize..).zip(long) {
        let low = line.saturating_sub(bound).max(1);
        let high = (line + bound).min(short.len());
        let mut diagonal = row.get(low - 1).copied().unwrap_or(far);
        if let Some(first) = row.get_mut(low - 1) {
            *first = if low == 1 { line.min(far) } else { far };
        }
        let mut least = row.get(low - 1).copied().unwrap_or(far);
        for place in low..=high {
            let above = row.get(place).copied().unwrap_or(far);
            let before = row.get(place - 1).copied().unwrap_or(far);
            let equal = short.get(place - 1) == Some(symbol);
            let cost = (diagonal + usize::from(!equal)).min(above + 1).min(before + 1).min(far);
            if let Some(cell) = row.get_mut(place) {
                *cell = cost;
            }
            (diagonal, least) = (above, least.min(cost));
        }
        // The remainder of the row above is not a cell of this one.
        if let Some(cell) = row.get_mut(high + 1) {
            *cell = far;
        }
        if least > bound {
            return None;
        }
    }
    row.last().copied().filter(|edits| *edits <= bound)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn distance(a: &str, b: &str) -> f64 {
        let of = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        normalized_edit_distance(&of(a), &of(b), 1.0).unwrap()
    }

    #[test]
    fn known_distances() {
        assert_eq!(distance("0 1", "1 0"), 1.0);
        assert_eq!(distance("0 1", "1 0 2"), 2.0 / 3.0);
        assert_eq!(distance("1 0", "1 0 2"), 1.0 / 3.0);
        assert_eq!(distance("1 0", "1 20 30 2"), 0.75);
        assert_eq!(distance("1 0 2", "1 20 30 2"), 0.5);
        assert_eq!(normalized_edit_distance::<u8>(&[], &[], 0.0), Some(0.0));
        assert_eq!(normalized_edit_distance(&[1], &[], 1.0), Some(1.0));
    }

    /// The whole table, without a bound.
    fn whole(a: &[u8], b: &[u8]) -> usize {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = match (i, j) {
                    (0, edits) | (edits, 0) => edits,
                    _ => (table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]))
                        .min(table[i - 1][j] + 1)
                        .min(table[i][j - 1] + 1),
                };
            }
        }
        table[a.len()][b.len()]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn bounds_affect_only_the_duration(
            a in prop::collection::vec(0u8..4, 0..14),
            b in prop::collection::vec(0u8..4, 0..14),
            bound in 0usize..15,
        ) {
            let edits = whole(&a, &b);
            prop_assert_eq!(edit_distance(&a, &b, bound), (edits <= bound).then_some(edits));
            prop_assert_eq!(edit_distance(&b, &a, bound), edit_distance(&a, &b, bound));
        }
    }
}
