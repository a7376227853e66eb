//! The pieces of a clock between its steps, and the piece of a given time.
//!
//! A clock that was set forward never showed the times in between; one that was set back showed
//! some times twice. A step is thus described by the begin and end of each piece on the clock
//! itself.

use crate::tuning::STEP_MARGIN_NS;

/// A setting of a clock, or a change of its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepTime {
    /// Bounds of the step's time, on this clock as if it had never been set, in nanoseconds.
    pub(crate) between: [i64; 2],
    /// Amount by which the clock was set forward, in nanoseconds.
    pub(crate) jump: i64,
}

/// The pieces of one clock: one more than there are steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClockPieces {
    /// The first time that the clock showed, in nanoseconds.
    pub(crate) since: i64,
    /// The last time that the clock showed, in nanoseconds.
    pub(crate) until: i64,
    /// The steps in the order of time.
    pub(crate) steps: Vec<StepTime>,
}

impl ClockPieces {
    /// Creates the pieces of a clock with these steps and with `shown` as its first and last time,
    /// in nanoseconds.
    pub(crate) fn new(shown: [i64; 2], mut steps: Vec<StepTime>) -> ClockPieces {
        steps.sort_by_key(|step| (step.between, step.jump));
        ClockPieces { since: shown[0], until: shown[1], steps }
    }

    /// Returns the number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.steps.len() + 1
    }

    /// Returns the nanoseconds by which the clock was set forward before a piece, in all.
    pub(crate) fn shift_before(&self, piece: usize) -> i64 {
        self.steps.iter().take(piece).fold(0, |sum, step| sum.saturating_add(step.jump))
    }

    /// Returns the piece of a time that the clock showed; `None` if it may be in several, or is too
    /// near a step.
    pub(crate) fn piece_at(&self, time: i64) -> Option<usize> {
        if self.steps.is_empty() {
            return Some(0);
        }
        let is_in = |[begin, end]: &[i64; 2]| *begin <= time && time <= *end;
        let mut found = self.piece_ranges().enumerate().filter(|(_, range)| is_in(range));
        match (found.next(), found.next()) {
            (Some((piece, _)), None) => return Some(piece),
            (Some(_), Some(_)) => return None,
            _ => {}
        }
        // Before or after all known times.
        let [begins, ends] = [0, 1].map(|end| self.piece_ranges().map(move |range| range[end]));
        if begins.min().is_some_and(|begin| time < begin && begin == self.since) {
            return Some(0);
        }
        ends.max().filter(|end| time > *end && *end == self.until).map(|_| self.steps.len())
    }

    /// Returns the first and the last time that the clock showed in each piece.
    fn piece_ranges(&self) -> impl Iterator<Item = [i64; 2]> {
        let mut shift = 0_i64;
        let mut begin = self.since;
        (0..self.len()).map(move |piece| {
            let Some(step) = self.steps.get(piece) else { return [begin, self.until] };
            let margin = STEP_MARGIN_NS.min(step.jump.saturating_abs() / 4);
            let end = step.between[0].saturating_add(shift).saturating_add(margin);
            shift = shift.saturating_add(step.jump);
            let next = step.between[1].saturating_add(shift).saturating_sub(margin);
            [std::mem::replace(&mut begin, next), end]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_step(at: i64, jump: i64) -> StepTime {
        StepTime { between: [at - 10, at + 10], jump }
    }

    #[test]
    fn the_piece_of_a_time_is_found() {
        let (second, none) = (1_000_000_000, None);
        // Set forward by an hour at 30 s: 30 s to 3630 s were never shown.
        let forward =
            ClockPieces::new([0, 3_660 * second], vec![make_step(30 * second, 3_600 * second)]);
        assert_eq!(
            [10, 29, 1_000, 3_631].map(|time| forward.piece_at(time * second)),
            [Some(0), Some(0), none, Some(1)]
        );
        // Set back by an hour: the later times come before all others.
        let back =
            ClockPieces::new([0, -3_540 * second], vec![make_step(30 * second, -3_600 * second)]);
        assert_eq!(
            [10, -3_569, -3_550].map(|time| back.piece_at(time * second)),
            [Some(0), Some(1), Some(1)]
        );
        // Set back by ten seconds: 20 s to 30 s were shown twice.
        let twice = ClockPieces::new([0, 50 * second], vec![make_step(30 * second, -10 * second)]);
        assert_eq!(
            [10, 25, 31].map(|time| twice.piece_at(time * second)),
            [Some(0), none, Some(1)]
        );
        // Only the rate changed. Times before the first are in the first piece, times after the
        // last in the last.
        let slewed = ClockPieces::new([0, 60 * second], vec![make_step(30 * second, 0)]);
        assert_eq!(
            [-5, 10, 30, 31, 70].map(|time| slewed.piece_at(time * second)),
            [Some(0), Some(0), none, Some(1), Some(1)]
        );
        assert_eq!(ClockPieces::new([0, 1], Vec::new()).piece_at(5), Some(0));
    }
}
