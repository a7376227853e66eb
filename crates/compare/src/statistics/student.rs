//! Tests with an estimated variance: a design effect is itself estimated from a few windows, so
//! that very small p-values are not reliable as they are.

use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc_inv;

/// The greatest deviation that can be resolved, in standard deviations.
const MAX_DEVIATION: f64 = 37.0;

/// The p-value of a test with a variance that is estimated from only `degrees` differences: as far
/// out in Student's distribution as `p_value` is in the normal one.
pub fn with_estimated_variance(p_value: f64, degrees: f64) -> f64 {
    if degrees < 1.0 || p_value >= 1.0 {
        return p_value.min(1.0);
    }
    let deviation = match p_value > 0.0 {
        true => (std::f64::consts::SQRT_2 * erfc_inv(p_value)).min(MAX_DEVIATION),
        false => MAX_DEVIATION,
    };
    beta_reg(degrees / 2.0, 0.5, degrees / (degrees + deviation * deviation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_a_table_of_students_distribution() {
        // Two-sided: normal 1.96 is 0.05; t with 19 degrees at 1.96 is 0.0648, at 2.093 0.05.
        let p_value = with_estimated_variance(0.05, 19.0);
        assert!((p_value - 0.0648).abs() < 2e-4, "{p_value}");
        let p_value = with_estimated_variance(0.036_350, 19.0);
        assert!((p_value - 0.05).abs() < 2e-4, "{p_value}");
        assert_eq!(with_estimated_variance(1.0, 19.0), 1.0);
        let least = with_estimated_variance(0.0, 19.0);
        assert!(least > 0.0 && least < 1e-12, "{least}");
        assert!(with_estimated_variance(1e-300, 19.0) >= least);
        assert!((with_estimated_variance(1e-4, 1e6) - 1e-4).abs() < 1e-6);
    }
}
