//! Times: the mean own time of each position of each class, and the resulting response time. This
//! is the truth.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::call_graph::CallGraph;
use super::classes::SyntheticClass;
use super::config::OperationsConfig;

/// The times of a position, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PositionTimes {
    /// Mean of the position's own time, in nanoseconds.
    pub(super) own: f64,
    /// Mean of the position's response time, in nanoseconds.
    pub(super) mean: f64,
    /// Variance of the position's response time, in square nanoseconds.
    pub(super) variance: f64,
}

/// A factor with this standard deviation of its logarithm, and a median of 1.
pub(super) fn random_factor(deviation: f64, random: &mut ChaCha8Rng) -> f64 {
    let normal: f64 = StandardNormal.sample(random);
    (deviation * normal).exp()
}

/// The times of all positions, by class.
pub(super) fn make_times(
    config: &OperationsConfig,
    graph: &CallGraph,
    classes: &[SyntheticClass],
    random: &mut ChaCha8Rng,
) -> Vec<Vec<PositionTimes>> {
    let mut factors = |count: usize, deviation: f64| -> Vec<f64> {
        (0..count).map(|_| random_factor(deviation, random)).collect()
    };
    let of_operation = factors(config.operations, config.spread);
    let pairs: Vec<(Option<usize>, usize)> = graph.pairs.iter().copied().collect();
    let of_pair = factors(pairs.len(), config.by_caller);
    let of_stack = factors(graph.stacks.len(), config.by_stack);
    let own = |stack: usize| {
        let of = &graph.stacks[stack];
        let pair = (of.caller.map(|caller| graph.stacks[caller].operation), of.operation);
        let of_pair = pairs.binary_search(&pair).map_or(1.0, |place| of_pair[place]);
        config.own as f64 * of_operation[of.operation] * of_pair * of_stack[stack]
    };
    let own: Vec<f64> = (0..graph.stacks.len()).map(own).collect();
    // Noise has the mean 1, and a variance that follows from that of its logarithm.
    let noise = config.noise.powi(2).exp_m1();
    let of_class = |class: &SyntheticClass| {
        let mut times: Vec<PositionTimes> = class
            .stacks
            .iter()
            .map(|stack| {
                let own = own[*stack] * random_factor(config.by_trace, random);
                PositionTimes { own, mean: own, variance: own * own * noise }
            })
            .collect();
        for place in (1..times.len()).rev() {
            let PositionTimes { mean, variance, .. } = times[place];
            let caller = &mut times[class.callers[place]];
            (caller.mean, caller.variance) = (caller.mean + mean, caller.variance + variance);
        }
        times
    };
    classes.iter().map(of_class).collect()
}
