//! Step 2 of message linking (WAP5 section 5.1): the possible parents of a message B -> C are the
//! messages that arrived at B within the window before it. Each weighs exp(-delay / d), being
//! spontaneous weighs exp(-y), and the weights are normalised to sum to 1.

use super::places::{EarlierArrivals, PlaceEvent};
use crate::options::Options;
use crate::tuning::linking::NEGLIGIBLE;
use message_trace::MessageId;

/// Appends the possible parents of `departure` with their probabilities to `parents`, the latest
/// first, and returns the probability that it has no parent. `d` is the average delay of its pair
/// in nanoseconds.
pub(super) fn find_parents(
    before: &EarlierArrivals<'_>,
    departure: PlaceEvent,
    d: f64,
    options: &Options,
    parents: &mut Vec<(MessageId, f64)>,
) -> f64 {
    let first = parents.len();
    let y = options.spontaneous_delay;
    // All weights are relative to the best choice, which keeps the ratios and prevents all of them
    // from vanishing, however far the delays are from the average.
    let mut best = None;
    for (arrival, delay) in before.within_window(options.window) {
        let exponent = delay as f64 / d;
        let best = *best.get_or_insert(exponent.min(y));
        let weight = (best - exponent).exp();
        if weight < NEGLIGIBLE {
            break;
        }
        debug_assert!(arrival.time <= departure.time);
        parents.push((arrival.message, weight));
    }
    let spontaneous = (best.unwrap_or(y) - y).exp();
    let total: f64 = spontaneous + parents[first..].iter().map(|(_, weight)| weight).sum::<f64>();
    for (_, weight) in &mut parents[first..] {
        *weight /= total;
    }
    spontaneous / total
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Figure 5: X, Y and Z call B at one, two and three seconds. Returns the parents of the
    /// message that B sends at `time` seconds.
    fn figure_5(time: i64) -> (Vec<(MessageId, f64)>, f64) {
        let arrivals = [1, 2, 3].map(|second| PlaceEvent {
            time: second * SECOND,
            message: MessageId::from_index(second as usize),
        });
        let departure = PlaceEvent { time: time * SECOND, message: MessageId::from_index(9) };
        let mut parents = Vec::new();
        let options = Options { window: 100 * SECOND, ..Options::default() };
        let before = EarlierArrivals::new(&arrivals, departure);
        let spontaneous = find_parents(&before, departure, SECOND as f64, &options, &mut parents);
        (parents, spontaneous)
    }

    fn two_digits(value: f64) -> f64 {
        (value * 100.0).round() / 100.0
    }

    /// Figures 6 and 7: with lambda 1 the delays 1, 2, 3 and y = 4 weigh 0.368, 0.135, 0.050 and
    /// 0.018.
    #[test]
    fn figure_7_the_parents_of_b_to_c() {
        let (parents, spontaneous) = figure_5(4);
        let weights = [0.367_879, 0.135_335, 0.049_787, 0.018_316];
        let total: f64 = weights.iter().sum();
        let probabilities: Vec<f64> =
            parents.iter().map(|(_, p)| *p).chain([spontaneous]).collect();
        for (probability, weight) in probabilities.iter().zip(weights) {
            assert!((probability - weight / total).abs() < 1e-5);
        }
        assert_eq!(parents.iter().map(|(parent, _)| parent.index()).collect::<Vec<_>>(), [3, 2, 1]);
        let rounded: Vec<f64> = probabilities.into_iter().map(two_digits).collect();
        assert_eq!(rounded, [0.64, 0.24, 0.09, 0.03]);
    }

    /// B -> D one delay later: 0.61, 0.22 and 0.08, as in the figure. Its fourth number, 0.03,
    /// cannot be right, as the four would then sum to 0.94: exp(-4) weighs 0.08 here.
    #[test]
    fn figure_7_the_parents_of_b_to_d() {
        let (parents, spontaneous) = figure_5(5);
        let rounded: Vec<f64> = parents.iter().map(|(_, p)| two_digits(*p)).collect();
        assert_eq!(rounded, [0.61, 0.22, 0.08]);
        assert_eq!(two_digits(spontaneous), 0.08);
    }

    #[test]
    fn spontaneous_is_most_likely_only_with_nothing_within_y_delays() {
        let likely = |delay: i64| {
            let arrivals = [PlaceEvent { time: -delay, message: MessageId::from_index(0) }];
            let departure = PlaceEvent { time: 0, message: MessageId::from_index(1) };
            let mut parents = Vec::new();
            let before = EarlierArrivals::new(&arrivals, departure);
            let spontaneous =
                find_parents(&before, departure, 1000.0, &Options::default(), &mut parents);
            spontaneous > parents[0].1
        };
        assert!(!likely(3999));
        assert!(likely(4001));
    }

    #[test]
    fn negligible_parents_are_dropped_and_the_rest_sums_to_one() {
        // exp(-13) is worth keeping and exp(-15) not.
        let arrivals = [-15_000, -13_000, 0].map(|time| PlaceEvent {
            time,
            message: MessageId::from_index((time + 15_000) as usize),
        });
        let departure = PlaceEvent { time: 0, message: MessageId::from_index(1) };
        let mut parents = Vec::new();
        let before = EarlierArrivals::new(&arrivals, departure);
        let spontaneous =
            find_parents(&before, departure, 1000.0, &Options::default(), &mut parents);
        assert_eq!(parents.len(), 2);
        assert!((spontaneous + parents[0].1 + parents[1].1 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn delays_far_from_the_average_still_have_probabilities() {
        let arrivals = [PlaceEvent { time: 0, message: MessageId::from_index(0) }];
        let departure = PlaceEvent { time: SECOND, message: MessageId::from_index(1) };
        let options = Options { spontaneous_delay: 1e9, ..Options::default() };
        let mut parents = Vec::new();
        let spontaneous = find_parents(
            &EarlierArrivals::new(&arrivals, departure),
            departure,
            1.0,
            &options,
            &mut parents,
        );
        assert_eq!((parents[0].1, spontaneous), (0.5, 0.5));
    }
}
