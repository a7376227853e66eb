//! Choice of an instrumentation: a number of operations, uniformly distributed, and as many
//! operations at random. The paper's figures need all numbers; choosing each operation with
//! probability one half would hardly ever give small or large numbers.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The operations, out of `operations`, that instrumentation `number` monitors: at least one, and
/// not all if there are several. Equal seeds and numbers give equal results.
pub(super) fn choose_operations(operations: usize, seed: u64, number: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let most = operations.saturating_sub(1).max(1);
    let count = 1 + random_below(&mut random, most as u64) as usize;
    let mut all: Vec<usize> = (0..operations).collect();
    // The first steps of a shuffle.
    for place in 0..count.min(operations) {
        let other = place + random_below(&mut random, (operations - place) as u64) as usize;
        all.swap(place, other);
    }
    all.truncate(count);
    all.sort_unstable();
    all
}

/// A random number below `bound`. The bias towards low numbers, below 2^-32, does not matter.
fn random_below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_and_all_operations_come_up() {
        let chosen: Vec<Vec<usize>> =
            (0..2_000).map(|number| choose_operations(20, 7, number)).collect();
        let mut sizes = [0; 20];
        let mut operations = [0; 20];
        for one in &chosen {
            assert!(one.is_sorted_by(|a, b| a < b), "each once: {one:?}");
            sizes[one.len()] += 1;
            one.iter().for_each(|operation| operations[*operation] += 1);
        }
        assert!(
            sizes[0] == 0 && sizes[1..].iter().all(|count| (60..160).contains(count)),
            "{sizes:?}"
        );
        assert!(operations.iter().all(|count| (900..1_100).contains(count)), "{operations:?}");
        assert_eq!(chosen[5], choose_operations(20, 7, 5));
        assert_ne!(chosen[5], choose_operations(20, 8, 5));
        assert_eq!(choose_operations(1, 7, 0), [0]);
    }
}
