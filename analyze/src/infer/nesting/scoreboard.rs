//! ScoreNestings (Project 5 section 5.1.1.2): the scoreboard counts how often each delay between
//! two possibly nested calls occurs in the trace. For each A, B and C it is a histogram of the
//! delays between the calls A -> B and B -> C; a child that may be nested in N calls counts 1/N in
//! the bin of each.
//!
//! Bins grow by 5%, as in the paper, starting at a microsecond, since our clocks are finer. A, B
//! and C are labels ([`crate::naming::HopName`]), not nodes, so that the scoreboard does not
//! distinguish the processes of a server. Delays are measured from the earliest time that the skew
//! window allows.

use rustc_hash::FxHashMap;

use super::call_pairs::NodeCallPairs;
use crate::infer::call_links::{MadeCallId, RequestId};
use crate::tuning::nesting::{BIN_GROWTH, FIRST_BIN};

/// Total weight of a child, which its possible parents share. It is divisible by every number of
/// parents up to 16, so that sums are exact in the common cases, and independent of their order.
const CHILD_WEIGHT: u64 = 720_720;

/// The labels of a call A -> B and of a call B -> C.
pub(super) type LabelPair = (u32, u32);

/// The histograms of counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scoreboard {
    histograms: FxHashMap<LabelPair, Vec<u64>>,
}

/// The scores by which parents are chosen: the values of the bins of each histogram.
#[derive(Debug, Default)]
pub(super) struct DelayScores {
    histograms: FxHashMap<LabelPair, Vec<f32>>,
}

/// The delay from the call of `parent` to the call of `child`, measured from the earliest possible
/// time.
pub(super) fn nesting_delay(
    node: &NodeCallPairs,
    parent: RequestId,
    child: MadeCallId,
    skew_window: i64,
) -> i64 {
    let (parent, child) = (node.parents[parent.index()], node.children[child.index()]);
    child.begin.saturating_sub(parent.begin).saturating_add(skew_window)
}

/// The bin of a delay in nanoseconds.
pub(super) fn delay_bin(delay: i64) -> usize {
    match delay < FIRST_BIN {
        true => 0,
        false => 1 + ((delay as f64 / FIRST_BIN as f64).ln() / BIN_GROWTH.ln()) as usize,
    }
}

impl Scoreboard {
    /// Counts a child by its possible parents.
    pub(super) fn count_child(
        &mut self,
        node: &NodeCallPairs,
        child: MadeCallId,
        parents: &[RequestId],
        skew_window: i64,
    ) {
        let kind = node.children[child.index()].kind;
        let weight = CHILD_WEIGHT.checked_div(parents.len() as u64).unwrap_or(0).max(1);
        // Parents of one kind are mostly adjacent.
        for parents in
            parents.chunk_by(|a, b| node.parents[a.index()].kind == node.parents[b.index()].kind)
        {
            let Some(first) = parents.first() else { continue };
            let histogram =
                self.histograms.entry((node.parents[first.index()].kind, kind)).or_default();
            for parent in parents {
                let bin = delay_bin(nesting_delay(node, *parent, child, skew_window));
                if histogram.len() <= bin {
                    histogram.resize(bin + 1, 0);
                }
                histogram[bin] += weight;
            }
        }
    }

    /// Adds the counts of another scoreboard.
    pub(super) fn add_all(&mut self, other: &Scoreboard) {
        for (pair, counts) in &other.histograms {
            let histogram = self.histograms.entry(*pair).or_default();
            if histogram.len() < counts.len() {
                histogram.resize(counts.len(), 0);
            }
            histogram.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Scores of delays: the histograms, each convolved with a normal curve whose standard
    /// deviation is `smoothing`, in bins.
    pub(super) fn smoothed_scores(&self, smoothing: f64) -> DelayScores {
        let curve = normal_curve(smoothing);
        let histograms =
            self.histograms.iter().map(|(pair, counts)| (*pair, smooth_histogram(counts, &curve)));
        DelayScores { histograms: histograms.collect() }
    }
}

impl DelayScores {
    /// The value of every bin for calls with this pair of labels.
    pub(super) fn scores_of_pair(&self, pair: LabelPair) -> &[f32] {
        self.histograms.get(&pair).map_or(&[], Vec::as_slice)
    }
}

/// The normal curve of this standard deviation in bins, to three deviations on either side; it sums
/// to 1.
fn normal_curve(deviation: f64) -> Vec<f64> {
    let half = if deviation > 0.0 { (3.0 * deviation).ceil().min(1000.0) as i32 } else { 0 };
    let value =
        |at: i32| if at == 0 { 1.0 } else { (-0.5 * (f64::from(at) / deviation).powi(2)).exp() };
    let values: Vec<f64> = (-half..=half).map(value).collect();
    let sum: f64 = values.iter().sum();
    values.into_iter().map(|value| value / sum).collect()
}

/// The convolution of a histogram with a curve; values beyond its ends are dropped.
fn smooth_histogram(counts: &[u64], curve: &[f64]) -> Vec<f32> {
    let half = curve.len() / 2;
    let mut smooth = vec![0.0; counts.len()];
    for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        for (at, weight) in curve.iter().enumerate() {
            if let Some(slot) = (bin + at).checked_sub(half).and_then(|to| smooth.get_mut(to)) {
                *slot += *count as f64 * weight;
            }
        }
    }
    smooth.into_iter().map(|value| (value / CHILD_WEIGHT as f64) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value of a scoreboard for a pair at a delay.
    fn score(board: &Scoreboard, pair: LabelPair, delay: i64) -> f32 {
        board
            .smoothed_scores(0.0)
            .scores_of_pair(pair)
            .get(delay_bin(delay))
            .copied()
            .unwrap_or(0.0)
    }

    #[test]
    fn bins_grow_by_a_twentieth_from_a_microsecond_on() {
        assert_eq!([0, 999, 1000, 1049, 1051, 1102, 1103].map(delay_bin), [0, 0, 1, 1, 2, 2, 3]);
        // From a millisecond to two hours there are about as many as the paper states: 340.
        assert_eq!(delay_bin(7200 * 1_000_000_000) - delay_bin(1_000_000), 324);
        assert_eq!(delay_bin(i64::MAX), 754);
        assert_eq!(delay_bin(-1), 0);
    }

    #[test]
    fn figure_5_the_medium_delay_counts_twice() {
        // Calls A -> B at 0 and 30 ms, calls B -> C at 70 and 100 ms: delays of 70 (twice), 100 and
        // 40 ms.
        let ms = 1_000_000;
        let node = NodeCallPairs::by_hand(
            &[(0, 500 * ms, 1), (30 * ms, 530 * ms, 1)],
            &[(70 * ms, 300 * ms, 2), (100 * ms, 330 * ms, 2)],
        );
        let mut board = Scoreboard::default();
        for child in MadeCallId::ids().take(2) {
            board.count_child(&node, child, &[0, 1].map(RequestId::from_index), 0);
        }
        let scores = [40, 70, 100].map(|delay| score(&board, (1, 2), delay * ms));
        assert_eq!(scores, [0.5, 1.0, 0.5]);
        assert_eq!(score(&board, (2, 1), 70 * ms), 0.0);
    }

    #[test]
    fn a_child_counts_one_over_the_number_of_its_possible_parents() {
        let node = NodeCallPairs::by_hand(&[(0, 9, 1), (0, 9, 1), (0, 9, 3)], &[(5, 6, 2)]);
        let mut board = Scoreboard::default();
        let child = MadeCallId::from_index(0);
        board.count_child(&node, child, &[0, 1, 2].map(RequestId::from_index), 0);
        assert_eq!(score(&board, (1, 2), 5), 2.0 / 3.0);
        assert_eq!(score(&board, (3, 2), 5), 1.0 / 3.0);
        board.count_child(&node, child, &[], 0);
        let mut twice = board.clone();
        twice.add_all(&board);
        assert_eq!(score(&twice, (1, 2), 5), 4.0 / 3.0);
    }

    #[test]
    fn the_skew_window_moves_all_delays_so_that_none_is_negative() {
        let node = NodeCallPairs::by_hand(&[(100_000, 900_000, 1)], &[(80_000, 900_000, 2)]);
        let (parent, child) = (RequestId::from_index(0), MadeCallId::from_index(0));
        assert_eq!(nesting_delay(&node, parent, child, 30_000), 10_000);
        let far = NodeCallPairs::by_hand(&[(i64::MIN, i64::MAX, 1)], &[(i64::MAX, i64::MAX, 2)]);
        assert_eq!(nesting_delay(&far, parent, child, 30_000), i64::MAX);
    }

    #[test]
    fn smoothing_convolves_with_a_normal_curve() {
        let curve = normal_curve(1.0);
        assert_eq!(curve.len(), 7);
        assert!((curve.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // exp(-1/2) of the middle at one deviation.
        assert!((curve[4] / curve[3] - 0.606_531).abs() < 1e-6);
        let mut counts = vec![0; 9];
        counts[4] = 3 * CHILD_WEIGHT;
        let smooth = smooth_histogram(&counts, &curve);
        assert!((f64::from(smooth[4]) - 3.0 * curve[3]).abs() < 1e-6);
        assert!((f64::from(smooth[6]) - 3.0 * curve[5]).abs() < 1e-6);
        assert_eq!(smooth[0], 0.0);
        assert_eq!(smooth_histogram(&counts, &normal_curve(0.0))[3..6], [0.0, 3.0, 0.0]);
        counts[8] = CHILD_WEIGHT;
        assert!(smooth_histogram(&counts, &curve)[8] < 0.5);
    }
}
