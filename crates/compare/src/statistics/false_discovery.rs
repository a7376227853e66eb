//! Control of the false discovery rate over many tests (Benjamini and Hochberg 1995): if all
//! adjusted p-values below 0.05 are reported, one in twenty of the reports is expected to be false.

/// The adjusted p-value of each p-value, in their order.
pub fn adjust_p_values(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| p_values[*b].total_cmp(&p_values[*a]));
    let mut adjusted = vec![1.0; count];
    let mut least = 1.0_f64;
    // In descending order: none exceeds the next larger one.
    for (passed, place) in order.into_iter().enumerate() {
        let rank = (count - passed) as f64;
        least = least.min(p_values[place] * count as f64 / rank);
        adjusted[place] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 4 tests: 0.01 * 4, 0.02 * 4 / 2, 0.03 * 4 / 3, 0.5; the first three come to 0.04.
        let found = adjust_p_values(&[0.5, 0.03, 0.01, 0.02]);
        for (found, expected) in found.iter().zip([0.5, 0.04, 0.04, 0.04]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(adjust_p_values(&[]), Vec::<f64>::new());
        assert_eq!(adjust_p_values(&[0.2]), [0.2]);
    }
}
