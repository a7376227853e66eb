//! Random numbers below a bound.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// A number below `bound`, or 0 if that is 0. Low numbers are likelier by less than 2^-32, which
/// does not matter here.
pub(crate) fn random_below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// Puts a list into random order.
pub(crate) fn shuffle_list<T>(random: &mut ChaCha8Rng, list: &mut [T]) {
    for place in (1..list.len()).rev() {
        list.swap(place, random_below(random, place + 1));
    }
}
