//! Numbers that look as if they had nothing to do with each other but are always the same: for
//! samples, and for identifiers of which others look at some bits only.

/// The finalizer of SplitMix64: one to one, and every bit depends on all. It leaves 0 where it is.
pub fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
