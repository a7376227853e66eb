//! Numbers that look random but follow from others: for samples, and for identifiers that readers
//! know by some bits only.

/// `number` mixed by the finalizer of SplitMix64. It is one to one, every bit depends on all, and 0
/// stays 0.
pub fn mix_bits(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
