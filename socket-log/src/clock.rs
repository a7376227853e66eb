//! From a log's ticks to wall-clock time.
//!
//! The writer leaves anchors: moments read on the tick clock, on `CLOCK_MONOTONIC` and on `CLOCK_REALTIME`.
//! Between two anchors ticks and monotonic time run in proportion; the wall clock runs with the monotonic one and
//! jumps only when it is set, so it is the monotonic time plus the difference at the latest anchor before.

use crate::layout::Anchor;

/// Converts the ticks of one log into nanoseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    anchors: Vec<Anchor>,
    ticks_are_monotonic: bool,
}

impl Clock {
    /// A clock from the anchors of a log, in any order. `ticks_are_monotonic` says that a tick is a nanosecond of
    /// `CLOCK_MONOTONIC`, so that nothing need be interpolated.
    pub fn new(mut anchors: Vec<Anchor>, ticks_are_monotonic: bool) -> Clock {
        anchors.sort_by_key(|anchor| anchor.ticks);
        anchors.dedup_by_key(|anchor| anchor.ticks);
        Clock { anchors, ticks_are_monotonic }
    }

    /// The wall-clock time of `ticks`, in nanoseconds since the Unix epoch. Before the first anchor and after the
    /// last the nearest rate is carried on. Without any anchor the ticks themselves are returned.
    pub fn realtime(&self, ticks: u64) -> i64 {
        let after = self.anchors.partition_point(|anchor| anchor.ticks <= ticks);
        let Some(anchor) = self.anchors.get(after.saturating_sub(1)) else { return ticks as i64 };
        let elapsed = i128::from(ticks) - i128::from(anchor.ticks);
        let nanoseconds = if self.ticks_are_monotonic { elapsed } else { self.scale(after, elapsed) };
        anchor.realtime.saturating_add(nanoseconds.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// How long `ticks` last at the rate of the whole log, in nanoseconds.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        match (self.anchors.first(), self.anchors.last()) {
            (Some(first), Some(last)) if !self.ticks_are_monotonic && last.ticks > first.ticks => {
                let (nanoseconds, span) =
                    (last.monotonic.abs_diff(first.monotonic), last.ticks - first.ticks);
                (u128::from(ticks) * u128::from(nanoseconds) / u128::from(span)).min(u64::MAX.into()) as u64
            }
            _ => ticks,
        }
    }

    /// `elapsed` ticks from the anchor before index `after` (or from the first) in nanoseconds: at the rate between
    /// that anchor and the next, or where there is none, at a rate measured over at least as long a time as it is
    /// carried on, because that of two anchors close together is no better than the reading of them.
    fn scale(&self, after: usize, elapsed: i128) -> i128 {
        let [.., last] = self.anchors.as_slice() else { return elapsed };
        let (a, b) = if after == 0 {
            let reach = last.ticks.min(self.anchors[0].ticks.saturating_add(elapsed.unsigned_abs() as u64));
            let far = self.anchors.partition_point(|anchor| anchor.ticks < reach);
            (&self.anchors[0], &self.anchors[far])
        } else if after == self.anchors.len() {
            let reach = last.ticks.saturating_sub(elapsed as u64);
            let far = self.anchors.partition_point(|anchor| anchor.ticks <= reach);
            (&self.anchors[far.saturating_sub(1)], last)
        } else {
            (&self.anchors[after - 1], &self.anchors[after])
        };
        let span = i128::from(b.ticks) - i128::from(a.ticks);
        if span == 0 {
            return elapsed;
        }
        elapsed.saturating_mul(i128::from(b.monotonic) - i128::from(a.monotonic)) / span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn anchor(ticks: u64, monotonic: i64, realtime: i64) -> Anchor {
        Anchor { ticks, monotonic, realtime }
    }

    #[test]
    fn monotonic_ticks_are_shifted() {
        let clock = Clock::new(vec![anchor(100, 100, 5_000)], true);
        assert_eq!(clock.realtime(100), 5_000);
        assert_eq!(clock.realtime(150), 5_050);
        assert_eq!(clock.realtime(40), 4_940);
    }

    #[test]
    fn a_step_of_the_wall_clock_takes_effect_at_the_next_anchor() {
        let clock = Clock::new(vec![anchor(300, 300, 90_300), anchor(100, 100, 5_000)], true);
        assert_eq!(clock.realtime(299), 5_199);
        assert_eq!(clock.realtime(310), 90_310);
    }

    #[test]
    fn cycles_are_interpolated() {
        let clock = Clock::new(vec![anchor(0, 0, 1_000), anchor(3_000, 1_000, 2_000)], false);
        assert_eq!(clock.realtime(1_500), 1_500);
        assert_eq!(clock.realtime(6_000), 3_000);
        assert_eq!(clock.nanoseconds(300), 100);
    }

    #[test]
    fn two_anchors_close_together_are_not_carried_on() {
        // A tick is half a nanosecond. The last two anchors are 10 ns apart and one was read 5 ns late.
        let anchors = vec![
            anchor(0, 0, 1_000_000),
            anchor(2_000_000, 1_000_000, 2_000_000),
            anchor(2_000_020, 1_000_015, 2_000_015),
        ];
        let clock = Clock::new(anchors, false);
        assert_eq!(clock.realtime(4_000_020), 3_000_015 + 4, "and not half as much again");
        assert_eq!(clock.realtime(2_000_010), 2_000_007, "between them it does not matter");
    }

    #[test]
    fn before_the_first_anchor_the_rate_goes_back() {
        let anchors =
            vec![anchor(1_000, 500, 9_500), anchor(1_002, 502, 9_502), anchor(3_000, 1_500, 10_500)];
        assert_eq!(Clock::new(anchors, false).realtime(200), 9_100);
    }

    #[test]
    fn a_step_between_anchors_of_cycles_moves_no_earlier_record() {
        let anchors = vec![anchor(0, 0, 1_000), anchor(3_000, 1_000, 90_000), anchor(6_000, 2_000, 91_000)];
        let clock = Clock::new(anchors, false);
        assert_eq!(clock.realtime(2_997), 1_999);
        assert_eq!(clock.realtime(3_000), 90_000);
        assert_eq!(clock.realtime(9_000), 92_000);
    }

    #[test]
    fn without_anchors_ticks_pass_through() {
        assert_eq!(Clock::default().realtime(7), 7);
    }
}
