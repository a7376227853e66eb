//! Credibility of the pieces of the difference of two clocks. Clocks are rarely set, but wrong
//! times are common: a caller that gives up logs its time-out as the receipt of a response that is
//! sent an hour later. A few such messages fit a line of their own, because nothing contradicts
//! them while nothing else is sent.
//!
//! Delays have no upper bound, so late messages show nothing; only messages that arrive before they
//! were sent contradict a line. So a piece has to be bounded on both sides, about as tightly as the
//! others: by messages in both directions, without delays that explain away the step.

use crate::pairs::pair::{AxisOrigin, TimestampPair, fit_stamps};
use crate::tuning::{MAX_SLACK_RATIO, MIN_PIECE_PAIRS, MISFIT_NS};

/// Returns whether each piece is credible. The pieces are of one pair of clocks, on one axis; the
/// piece with most timestamp pairs is credible in any case.
pub(crate) fn credible_pieces(
    pieces: &[Vec<TimestampPair>],
    second: bool,
    origin: AxisOrigin,
) -> Vec<bool> {
    let longest = (0..pieces.len()).rev().max_by_key(|piece| pieces[*piece].len());
    let has = |above: bool| pieces.iter().flatten().any(|stamp| stamp.above == above);
    let is_two_sided = has(true) && has(false);
    let room = |piece: &[TimestampPair]| line_slack(piece, second, origin);
    let most = longest
        .map_or(f64::INFINITY, |longest| MAX_SLACK_RATIO * room(&pieces[longest]).max(MISFIT_NS));
    let is_bounded = |piece: &[TimestampPair]| !is_two_sided || room(piece) <= most;
    let is_believed = |(place, piece): (usize, &Vec<TimestampPair>)| {
        Some(place) == longest || piece.len() >= MIN_PIECE_PAIRS && is_bounded(piece)
    };
    pieces.iter().enumerate().map(is_believed).collect()
}

/// Returns the slack that the messages leave the line in the middle of their time, in nanoseconds;
/// infinite if they have one direction only.
fn line_slack(piece: &[TimestampPair], second: bool, origin: AxisOrigin) -> f64 {
    let Some(fit) = fit_stamps(piece.iter(), second, origin).filter(|fit| fit.is_two_sided())
    else {
        return f64::INFINITY;
    };
    let [low, high] = fit.range_at(fit.line.at);
    high - low
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const HOUR: i64 = 3_600_000 * MS;

    /// Messages in both directions each second from `begin` on, of clocks that differ by `ahead`,
    /// with these `delays`.
    fn exchange_pairs(begin: i64, count: i64, ahead: i64, delays: [i64; 2]) -> Vec<TimestampPair> {
        let at = |number: i64| begin + 1_000 * MS * number;
        let pair = |number| {
            let there =
                TimestampPair { a: at(number), b: at(number) + ahead + delays[0], above: true };
            let back = at(number) + 500 * MS;
            [there, TimestampPair { a: back, b: back + ahead - delays[1], above: false }]
        };
        (0..count).flat_map(pair).collect()
    }

    fn is_believed(pieces: [Vec<TimestampPair>; 2]) -> bool {
        let origin = AxisOrigin::from_stamps(&pieces[0], false);
        credible_pieces(&pieces, false, origin)[1]
    }

    #[test]
    fn messages_in_both_directions_make_a_credible_piece() {
        let before = exchange_pairs(0, 100, 0, [MS, MS]);
        assert!(is_believed([before.clone(), exchange_pairs(HOUR, 4, HOUR, [MS, MS])]));
        // These messages leave a slack of 40 ms, the others of 2 ms.
        assert!(is_believed([before.clone(), exchange_pairs(HOUR, 2, HOUR, [30 * MS, 10 * MS])]));
        assert!(!is_believed([before, exchange_pairs(HOUR, 1, HOUR, [MS, MS])]));
    }

    #[test]
    fn one_way_messages_make_no_credible_piece_if_others_have_both_directions() {
        let before = exchange_pairs(0, 100, 0, [MS, MS]);
        for above in [true, false] {
            let mut later = exchange_pairs(HOUR, 40, HOUR, [MS, MS]);
            later.retain(|stamp| stamp.above == above);
            assert!(!is_believed([before.clone(), later]));
        }
        // If all have one direction, nothing contradicts anything.
        let there = |mut stamps: Vec<TimestampPair>| {
            stamps.retain(|stamp| stamp.above);
            stamps
        };
        assert!(is_believed([there(before), there(exchange_pairs(HOUR, 40, HOUR, [MS, MS]))]));
    }

    #[test]
    fn messages_that_leave_seconds_of_slack_are_time_outs() {
        // Requests that waited an hour, and callers that had given up after ten seconds.
        let late = exchange_pairs(HOUR, 20, HOUR - 10_000 * MS, [10_000 * MS, 0]);
        assert!(!is_believed([exchange_pairs(0, 100, 0, [MS, MS]), late]));
    }

    #[test]
    fn one_piece_is_always_credible() {
        let [one, other] = [0, HOUR].map(|begin| exchange_pairs(begin, 1, begin, [MS, MS]));
        assert_eq!(credible_pieces(&[one, other], false, AxisOrigin::default()), [true, false]);
    }
}
