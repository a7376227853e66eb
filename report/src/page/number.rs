//! Numbers as short as the page can use: at most three decimals. Numbers are most of a page with
//! ten thousand patterns.

use serde::{Serialize, Serializer};

/// A number with at most three decimals. NaN and infinity become zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ShortNumber(f64);

impl ShortNumber {
    /// `value` rounded to three decimals.
    pub(super) fn from_value(value: f64) -> ShortNumber {
        let rounded = (value * 1e3).round() / 1e3;
        ShortNumber(if rounded.is_finite() { rounded } else { 0.0 })
    }

    /// A weight, rounded to six decimals, as small weights matter.
    pub(super) fn from_weight(value: f64) -> ShortNumber {
        let rounded = (value * 1e6).round() / 1e6;
        ShortNumber(if rounded.is_finite() { rounded } else { 0.0 })
    }

    /// `value` rounded to a whole number.
    pub(super) fn from_whole(value: f64) -> ShortNumber {
        ShortNumber::from_value(value.round())
    }
}

impl Serialize for ShortNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Whole numbers beyond 2^53 are not exact.
        if self.0.fract() == 0.0 && self.0.abs() < 9e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 1.0, -2.0, 0.1234567, 1e300, f64::NAN, f64::INFINITY]
            .map(ShortNumber::from_value);
        assert_eq!(serde_json::to_string(&numbers).unwrap(), "[0,1,-2,0.123,1e+300,0,0]");
        assert_eq!(serde_json::to_string(&ShortNumber::from_whole(2.6)).unwrap(), "3");
    }
}
