//! Load: how the system's speed changes during a run. Each node drifts, requests at about the same
//! time share slowness, and the NFS server has episodes in which requests wait for one another.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use rand_distr::{Distribution, StandardNormal};

/// Number of points at which drift is computed.
const POINTS: usize = 1_200;

/// Correlation of a point with the preceding one: drift fades after some 20 points.
const POINT_CORRELATION: f64 = 0.95;

/// Standard deviation, within a run, of the logarithms of a node's speed, and of the amount that
/// clients write.
const DRIFT: [f64; 2] = [0.12, 0.25];

/// Standard deviation of the logarithms of a node's speed, and of the amount that clients write,
/// between two runs.
const BETWEEN_RUNS: [f64; 2] = [0.03, 0.1];

/// Mean number of episodes of contention in a run, and the mean length of an episode as a share of
/// the run.
const EPISODES: (f64, f64) = (30.0, 0.004);

/// Nodes that drift.
pub(super) const NODES: [&str; 5] = ["nfs", "metadata", "storage1", "storage2", "storage3"];

/// A number from the standard normal distribution.
pub(super) fn standard_normal(random: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(random)
}

/// A number from 0 to below 1.
pub(super) fn uniform_share(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// The load during a run.
#[derive(Debug)]
pub(super) struct SystemLoad {
    length: f64,
    /// Factor by which each node's times are multiplied at each point.
    nodes: [Vec<f64>; NODES.len()],
    /// Factor of the amount that clients write in one request, at each point.
    amounts: Vec<f64>,
    /// Begin and end of each episode of contention, as shares of the run.
    episodes: Vec<[f64; 2]>,
}

impl SystemLoad {
    /// The load of a run of `length` nanoseconds; `variation` is how much runs differ.
    pub(super) fn new(length: i64, variation: f64, random: &mut ChaCha8Rng) -> SystemLoad {
        let mut drift = |kind: usize| -> Vec<f64> {
            let between = variation * BETWEEN_RUNS[kind] * standard_normal(random);
            let mut value = standard_normal(random);
            (0..POINTS)
                .map(|_| {
                    value = POINT_CORRELATION * value
                        + (1.0 - POINT_CORRELATION * POINT_CORRELATION).sqrt()
                            * standard_normal(random);
                    (between + DRIFT[kind] * value).exp()
                })
                .collect()
        };
        let nodes = NODES.map(|_| drift(0));
        let amounts = drift(1);
        let mut episodes = Vec::new();
        let mut time = 0.0;
        loop {
            time -= uniform_share(random).max(1e-12).ln() / EPISODES.0;
            if time >= 1.0 {
                break;
            }
            episodes.push([time, time - uniform_share(random).max(1e-12).ln() * EPISODES.1]);
        }
        SystemLoad { length: length.max(1) as f64, nodes, amounts, episodes }
    }

    /// The elapsed share of the run.
    pub(super) fn elapsed_share(&self, time: i64) -> f64 {
        (time as f64 / self.length).clamp(0.0, 1.0)
    }

    fn point_at(&self, time: i64) -> usize {
        ((self.elapsed_share(time) * POINTS as f64) as usize).min(POINTS - 1)
    }

    /// Factor of a node's time relative to its usual time.
    pub(super) fn factor_of_node(&self, node: &str, time: i64) -> f64 {
        let place = NODES.iter().position(|known| *known == node);
        place.map_or(1.0, |place| self.nodes[place][self.point_at(time)])
    }

    /// Factor of the amount that clients write in a request at `time`.
    pub(super) fn write_factor(&self, time: i64) -> f64 {
        self.amounts[self.point_at(time)]
    }

    /// Whether requests wait for one another at the NFS server.
    pub(super) fn is_contended(&self, time: i64) -> bool {
        let progress = self.elapsed_share(time);
        self.episodes.iter().any(|[from, until]| (*from..*until).contains(&progress))
    }
}
