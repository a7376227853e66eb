//! Pseudo-random numbers derived from other numbers: for samples, and for identifiers in which
//! readers know only some bits.

/// Mixes `number` by the finalizer of SplitMix64. The mapping is one to one, every bit depends on
/// all bits of `number`, and 0 stays 0.
pub fn mix_bits(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
