//! Median of many numbers.

use message_trace::PathError;
use out_of_core::SpillableVec;

/// A number ordered as by `f64::total_cmp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OrderedFloat(i64);

impl OrderedFloat {
    pub(super) fn from_f64(value: f64) -> OrderedFloat {
        let bits = value.to_bits() as i64;
        OrderedFloat(bits ^ ((bits >> 63) as u64 >> 1) as i64)
    }

    pub(super) fn to_f64(self) -> f64 {
        f64::from_bits((self.0 ^ ((self.0 >> 63) as u64 >> 1) as i64) as u64)
    }
}

/// The median of `values`, which are sorted; `None` if there are none.
pub(super) fn find_median(
    values: &mut SpillableVec<OrderedFloat>,
) -> Result<Option<f64>, PathError> {
    values.sort_by_key(|value| *value)?;
    Ok(values.get(values.len() / 2).map(|middle| middle.to_f64()))
}

/// The median of the few `values`, which are reordered; `None` if there are none.
pub(super) fn find_median_of_few(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    let (_, median, _) = values
        .get(middle)
        .is_some()
        .then(|| values.select_nth_unstable_by(middle, f64::total_cmp))?;
    Some(*median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ordered() {
        let values =
            [f64::NEG_INFINITY, -2.5, -1e-300, -0.0, 0.0, 1e-300, 0.75, 3e9, f64::INFINITY];
        for (place, value) in values.iter().enumerate() {
            assert_eq!(OrderedFloat::from_f64(*value).to_f64().to_bits(), value.to_bits());
            for (other_place, other) in values.iter().enumerate() {
                assert_eq!(
                    OrderedFloat::from_f64(*value).cmp(&OrderedFloat::from_f64(*other)),
                    place.cmp(&other_place)
                );
            }
        }
        for count in 0..5 {
            let mut few: Vec<f64> = values.iter().rev().copied().take(count).collect();
            let pool = out_of_core::MemoryPool::default();
            let mut many = SpillableVec::collect(
                &pool,
                few.iter().map(|value| OrderedFloat::from_f64(*value)),
            )
            .unwrap();
            assert_eq!(find_median(&mut many).unwrap(), find_median_of_few(&mut few));
        }
    }
}
