//! Keys: values of attributes as 64 bits.

use std::hash::Hasher;

use events::AttributeValue;
use rustc_hash::FxHasher;

/// An attribute's value as 64 bits: an integer as it is, a text as its hash.
pub(crate) fn key_of_value(value: AttributeValue<'_>) -> u64 {
    match value {
        AttributeValue::Int(number) => number.cast_unsigned(),
        AttributeValue::Real(number) => number.to_bits(),
        AttributeValue::Text(text) => key_of_text(text),
    }
}

/// A text as 64 bits.
pub(crate) fn key_of_text(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    mix_keys(hasher.finish(), text.len() as u64)
}

/// Combines two numbers into one with bits that depend on all bits of both.
pub(crate) fn mix_keys(one: u64, other: u64) -> u64 {
    const ODD: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];
    let product = u128::from(one ^ ODD[0]) * u128::from(other ^ ODD[1]);
    (product as u64) ^ ((product >> 64) as u64)
}
