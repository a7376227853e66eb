//! Finds which of several statements about one value most agree with, as NTP chooses among its
//! servers (RFC 5905, section 11.2.1): each gives bounds of the truth, and the intersection of the
//! bounds of more than half of them is trusted.

/// Returns the indices of the statements that agree, if they are more than half. Each statement is
/// `[least, greatest]`.
pub(crate) fn find_majority(statements: &[[i64; 2]]) -> Option<Vec<usize>> {
    // Bounds in order; if one begins where another ends, both hold there.
    let mut bounds: Vec<(i64, bool)> = Vec::with_capacity(2 * statements.len());
    bounds.extend(
        statements.iter().flat_map(|[least, greatest]| [(*least, false), (*greatest, true)]),
    );
    bounds.sort_unstable();
    let (mut open, mut most, mut at) = (0, 0, 0);
    for (bound, is_end) in bounds {
        if is_end {
            open -= 1;
        } else {
            open += 1;
            if open > most {
                (most, at) = (open, bound);
            }
        }
    }
    let agrees = |place: &usize| statements[*place][0] <= at && at <= statements[*place][1];
    (most * 2 > statements.len()).then(|| (0..statements.len()).filter(agrees).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_have_to_agree() {
        assert_eq!(find_majority(&[[0, 0]]), Some(vec![0]));
        assert_eq!(find_majority(&[[0, 0], [5, 9]]), None);
        assert_eq!(find_majority(&[[0, 5], [5, 9]]), Some(vec![0, 1]));
        assert_eq!(find_majority(&[[-9, -9], [3, 6], [5, 9]]), Some(vec![1, 2]));
        assert_eq!(find_majority(&[[0, 1], [0, 1], [5, 6], [5, 6]]), None);
        assert_eq!(find_majority(&[[0, 1], [0, 1], [5, 6], [5, 6], [-7, 5]]), Some(vec![0, 1, 4]));
        assert_eq!(find_majority(&[]), None);
    }
}
