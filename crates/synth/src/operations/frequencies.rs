//! Frequencies: the number of requests of each class. A few classes have most of them, and together
//! they have as many executions as configured.

use rand_chacha::ChaCha8Rng;

use super::config::OperationsConfig;
use crate::random::shuffle_list;
use crate::tuning::CLASS_EXPONENT;

/// Number of requests of each class; `sizes` are the numbers of executions in a request of each
/// class. If the configured number of executions cannot be reached exactly, it is approximated.
pub(super) fn class_frequencies(
    config: &OperationsConfig,
    sizes: &[usize],
    random: &mut ChaCha8Rng,
) -> Vec<u64> {
    let mut ranks: Vec<usize> = (1..=sizes.len()).collect();
    shuffle_list(random, &mut ranks);
    let weights: Vec<f64> = ranks.iter().map(|rank| (*rank as f64).powf(-CLASS_EXPONENT)).collect();
    let total_weight: f64 = weights.iter().sum();
    let distributed = config.requests.saturating_sub(sizes.len() as u64) as f64;
    let mut counts: Vec<u64> =
        weights.iter().map(|weight| 1 + (weight / total_weight * distributed) as u64).collect();
    let most = (0..sizes.len()).max_by_key(|class| counts[*class]).unwrap_or(0);
    let missing = config.requests.saturating_sub(counts.iter().sum());
    if let Some(count) = counts.get_mut(most) {
        *count += missing;
    }
    if let Some(executions) = config.executions {
        match_executions(&mut counts, sizes, executions as i64);
    }
    counts
}

/// Moves requests from classes to larger or smaller ones until the number of executions is reached.
fn match_executions(counts: &mut [u64], sizes: &[usize], executions: i64) {
    let total: i64 =
        counts.iter().zip(sizes).map(|(count, size)| *count as i64 * *size as i64).sum();
    let mut missing = executions - total;
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|class| sizes[*class]);
    // Classes of very different sizes come first; classes that differ by one execution do the rest.
    let mut pairs: Vec<(i64, usize, usize)> = Vec::new();
    for (place, small) in order.iter().enumerate() {
        for large in &order[place + 1..] {
            let size_difference = sizes[*large] as i64 - sizes[*small] as i64;
            pairs.push((size_difference, *small, *large));
        }
    }
    pairs.sort_by_key(|(size_difference, ..)| std::cmp::Reverse(*size_difference));
    for (size_difference, small, large) in pairs {
        if size_difference == 0 || missing == 0 {
            break;
        }
        let (from, to) = if missing > 0 { (small, large) } else { (large, small) };
        // A class keeps a tenth of its requests, so that no class becomes empty while others have
        // requests.
        let movable = counts[from] - (counts[from] / 10).max(1);
        let moved = movable.min(missing.unsigned_abs() / size_difference.unsigned_abs());
        counts[from] -= moved;
        counts[to] += moved;
        missing -= missing.signum() * size_difference * moved as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::shipped_config;
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn requests_and_executions_have_the_configured_numbers() {
        let config = shipped_config("operations").unwrap().unwrap();
        let sizes: Vec<usize> = (0..125).map(|class| 20 + class * 73 % 80).collect();
        for seed in 0..20 {
            let counts = class_frequencies(&config, &sizes, &mut ChaCha8Rng::seed_from_u64(seed));
            let executions: u64 =
                counts.iter().zip(&sizes).map(|(count, size)| count * *size as u64).sum();
            assert_eq!((counts.iter().sum::<u64>(), executions), (36_036, 2_032_573));
            assert!(counts.iter().all(|count| *count > 0));
        }
    }
}
