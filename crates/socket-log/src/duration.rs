//! Durations in ten bits: a tiny floating-point number for the common record.
//!
//! A call's duration is a secondary fact that matters by its order of magnitude, so the common
//! record has ten bits for it: five of exponent, five of mantissa. Below 64 ticks it is exact;
//! above, its relative error is at most 1/32 (it is rounded down to one of 32 steps per power of
//! two). A longer duration is written exactly, in the long form of the record.

/// Largest duration, in ticks, that [`pack_duration`] can hold (about 68 s for ticks of one
/// nanosecond).
pub(crate) const MAX_PACKED: u64 = (63 << 30) + ((1 << 30) - 1);

/// Packs `ticks` into ten bits, or `None` when it is larger than [`MAX_PACKED`].
#[inline]
pub(crate) fn pack_duration(ticks: u64) -> Option<u32> {
    if ticks < 32 {
        return Some(ticks as u32);
    }
    if ticks > MAX_PACKED {
        return None;
    }
    // The mantissa is the five bits after the leading one; exponent 1 stands for 32..64.
    let exponent = 64 - 5 - ticks.leading_zeros();
    let mantissa = (ticks >> (exponent - 1)) as u32 & 31;
    Some(exponent << 5 | mantissa)
}

/// Duration in ticks that [`pack_duration`] packed into the low ten bits of `bits`, rounded down.
#[cfg(any(test, feature = "reader"))]
pub(crate) fn unpack_duration(bits: u32) -> u64 {
    let (exponent, mantissa) = (bits >> 5 & 31, u64::from(bits & 31));
    if exponent == 0 { mantissa } else { (32 + mantissa) << (exponent - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_durations_are_exact() {
        for ticks in 0..64 {
            assert_eq!(unpack_duration(pack_duration(ticks).unwrap()), ticks);
        }
    }

    #[test]
    fn larger_durations_are_rounded_down_by_at_most_one_part_in_32() {
        let mut ticks = 64u64;
        while ticks < MAX_PACKED {
            let packed = pack_duration(ticks).unwrap();
            assert!(packed < 1 << 10);
            let back = unpack_duration(packed);
            assert!(back <= ticks && (ticks - back) * 32 <= ticks, "{ticks} came back as {back}");
            ticks += ticks / 7 + 1;
        }
    }

    #[test]
    fn the_largest_duration_fits_and_the_next_does_not() {
        assert_eq!(pack_duration(MAX_PACKED), Some(1023));
        assert_eq!(pack_duration(MAX_PACKED + 1), None);
    }
}
