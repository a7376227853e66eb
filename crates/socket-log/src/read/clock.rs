//! Conversion of a log's ticks into wall-clock time.
//!
//! The writer leaves anchors: moments read on the tick clock, on `CLOCK_MONOTONIC` and on
//! `CLOCK_REALTIME`. Between two anchors ticks and monotonic time are proportional. The wall clock
//! runs with the monotonic one and jumps only when it is set, so it is the monotonic time plus the
//! difference at the latest preceding anchor.
//!
//! A damaged log may contain any 64 bits as a time. All times that leave this file are within
//! `TIMES`, so that the difference between two of them, and that difference moved by an offset of
//! clocks, fits into 64 bits.

use std::ops::RangeInclusive;

use crate::layout::Anchor;
use crate::tuning::MIN_SETTING_NS;

/// Possible times of a clock, in nanoseconds since the Unix epoch: from 1897 to 2116.
pub(super) const TIMES: RangeInclusive<i64> = -(1 << 61)..=1 << 62;

/// The time of `TIMES` that is nearest to `time`, in nanoseconds since the Unix epoch.
fn clamp_time(time: i64) -> i64 {
    time.clamp(*TIMES.start(), *TIMES.end())
}

/// Clock that converts the ticks of one log into nanoseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
pub struct LogClock {
    anchors: Vec<Anchor>,
    ticks_are_monotonic: bool,
}

/// Setting of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallClockStep {
    /// Monotonic time of the last reading before the setting, in nanoseconds.
    pub since: i64,
    /// Monotonic time of the first reading after the setting, in nanoseconds.
    pub monotonic: i64,
    /// Time that the wall clock would have shown at `monotonic`, in nanoseconds since the Unix
    /// epoch.
    pub shown: i64,
    /// Time by which the wall clock was set forward, in nanoseconds.
    pub offset: i64,
}

/// Time by which the wall clock is ahead of the monotonic one, in nanoseconds.
fn wall_clock_offset(anchor: &Anchor) -> i64 {
    anchor.realtime.wrapping_sub(anchor.monotonic)
}

impl LogClock {
    /// Clock from the anchors of a log, in any order. `ticks_are_monotonic` is whether a tick is a
    /// nanosecond of `CLOCK_MONOTONIC`, so that nothing need be interpolated. Anchors with times
    /// outside `TIMES` are damaged and left out.
    pub fn new(mut anchors: Vec<Anchor>, ticks_are_monotonic: bool) -> LogClock {
        anchors.retain(|anchor| {
            [anchor.monotonic, anchor.realtime].iter().all(|time| TIMES.contains(time))
        });
        anchors.sort_by_key(|anchor| anchor.ticks);
        anchors.dedup_by_key(|anchor| anchor.ticks);
        LogClock { anchors, ticks_are_monotonic }
    }

    /// Wall-clock time of `ticks`, in nanoseconds since the Unix epoch. Before the first anchor and
    /// after the last the nearest rate is extrapolated. Without any anchor the ticks themselves are
    /// returned. The result is within `TIMES`.
    pub fn realtime(&self, ticks: u64) -> i64 {
        let after = self.anchors.partition_point(|anchor| anchor.ticks <= ticks);
        let Some(anchor) = self.anchors.get(after.saturating_sub(1)) else {
            return i64::try_from(ticks).map_or(*TIMES.end(), clamp_time);
        };
        let elapsed = i128::from(ticks) - i128::from(anchor.ticks);
        let nanoseconds =
            if self.ticks_are_monotonic { elapsed } else { self.scale_elapsed(after, elapsed) };
        let nanoseconds = nanoseconds.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        clamp_time(anchor.realtime.saturating_add(nanoseconds))
    }

    /// Wall-clock times of the first and the last anchor, in nanoseconds since the Unix epoch;
    /// `None` without anchors.
    pub fn span(&self) -> Option<(i64, i64)> {
        Some((self.anchors.first()?.realtime, self.anchors.last()?.realtime))
    }

    /// Settings of the wall clock, in order of time: places at which it no longer runs with the
    /// monotonic clock. An anchor with clocks that were not read at one moment is not mistaken for
    /// a setting, since the next anchor agrees with those before.
    pub fn clock_steps(&self) -> Vec<WallClockStep> {
        let mut settings = Vec::new();
        let mut anchors = self.anchors.iter().peekable();
        let Some(first) = anchors.next() else { return settings };
        let (mut now, mut since) = (wall_clock_offset(first), first.monotonic);
        while let Some(anchor) = anchors.next() {
            let set = |anchor: &Anchor| wall_clock_offset(anchor).abs_diff(now) >= MIN_SETTING_NS;
            if set(anchor) && anchors.peek().is_none_or(|next| set(next)) {
                let offset = wall_clock_offset(anchor).wrapping_sub(now);
                let shown = anchor.realtime.saturating_sub(offset);
                settings.push(WallClockStep { since, monotonic: anchor.monotonic, shown, offset });
                now = wall_clock_offset(anchor);
            }
            since = anchor.monotonic;
        }
        settings
    }

    /// The clock as if the wall clock had never been set: each of `settings`, which are this
    /// clock's, is undone for the times after it.
    #[must_use]
    pub fn without_steps(mut self, settings: &[WallClockStep]) -> LogClock {
        for anchor in &mut self.anchors {
            let since = settings.iter().filter(|setting| setting.monotonic <= anchor.monotonic);
            let offset = since.fold(0_i64, |sum, setting| sum.saturating_add(setting.offset));
            anchor.realtime = clamp_time(anchor.realtime.saturating_sub(offset));
        }
        self
    }

    /// Sets the wall clock forward by `by` nanoseconds.
    pub fn shift_wall_clock(&mut self, by: i64) {
        self.anchors
            .iter_mut()
            .for_each(|anchor| anchor.realtime = clamp_time(anchor.realtime.saturating_add(by)));
    }

    /// Monotonic time when the log began, and the time by which the wall clock was ahead of it, in
    /// nanoseconds; `None` without anchors.
    pub fn log_start(&self) -> Option<(i64, i64)> {
        self.anchors.first().map(|anchor| (anchor.monotonic, wall_clock_offset(anchor)))
    }

    /// Cursor for converting many times, most of them near the previous one, faster than
    /// separately.
    pub fn cursor(&self) -> ClockCursor<'_> {
        ClockCursor { clock: self, interval: None }
    }

    /// Duration of `ticks` at the rate of the whole log, in nanoseconds.
    pub fn duration_nanoseconds(&self, ticks: u64) -> u64 {
        match (self.anchors.first(), self.anchors.last()) {
            (Some(first), Some(last)) if !self.ticks_are_monotonic && last.ticks > first.ticks => {
                let (nanoseconds, span) =
                    (last.monotonic.abs_diff(first.monotonic), last.ticks - first.ticks);
                (u128::from(ticks) * u128::from(nanoseconds) / u128::from(span))
                    .min(u64::MAX.into()) as u64
            }
            _ => ticks,
        }
    }

    /// Converts `elapsed` ticks from the anchor before index `after` (or from the first) into
    /// nanoseconds, at the rate between that anchor and the next. If there is none, the rate is
    /// measured over at least as long a time as it is extrapolated, because the rate of two close
    /// anchors is no better than their reading.
    fn scale_elapsed(&self, after: usize, elapsed: i128) -> i128 {
        let [.., last] = self.anchors.as_slice() else { return elapsed };
        let (a, b) = if after == 0 {
            let reach =
                last.ticks.min(self.anchors[0].ticks.saturating_add(elapsed.unsigned_abs() as u64));
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

/// Cursor over a [`LogClock`]: it keeps the interval between two anchors that contained the last
/// time.
#[derive(Clone, Debug)]
pub struct ClockCursor<'clock> {
    clock: &'clock LogClock,
    /// Interval of the last time; `None` if that was not between two anchors.
    interval: Option<AnchorInterval>,
}

/// Interval between two anchors.
#[derive(Clone, Copy, Debug)]
struct AnchorInterval {
    /// First tick, and the tick after the last.
    first: u64,
    end: u64,
    /// Wall-clock time at the first tick, in nanoseconds since the Unix epoch.
    realtime: i64,
    /// Length of the interval in ticks and in nanoseconds.
    span: (u64, u64),
}

impl ClockCursor<'_> {
    /// Wall-clock time of `ticks`, as returned by [`LogClock::realtime`].
    #[inline]
    pub fn realtime(&mut self, ticks: u64) -> i64 {
        match &self.interval {
            Some(interval) if interval.first <= ticks && ticks < interval.end => {
                interval.realtime(ticks)
            }
            _ => self.find_interval(ticks),
        }
    }

    /// Wall-clock time of `ticks`, whose interval is kept for the next time.
    fn find_interval(&mut self, ticks: u64) -> i64 {
        let anchors = &self.clock.anchors;
        let after = anchors.partition_point(|anchor| anchor.ticks <= ticks);
        let around =
            after.checked_sub(1).and_then(|before| anchors.get(before)).zip(anchors.get(after));
        self.interval = around
            .and_then(|(a, b)| AnchorInterval::from_anchors(a, b, self.clock.ticks_are_monotonic));
        self.clock.realtime(ticks)
    }
}

impl AnchorInterval {
    /// Interval between two anchors; `None` if 64-bit arithmetic would not suffice.
    fn from_anchors(a: &Anchor, b: &Anchor, ticks_are_monotonic: bool) -> Option<AnchorInterval> {
        let ticks = b.ticks - a.ticks;
        let nanoseconds = if ticks_are_monotonic {
            ticks
        } else {
            u64::try_from(b.monotonic.checked_sub(a.monotonic)?).ok()?
        };
        let small =
            ticks < 1 << 32 && nanoseconds < 1 << 31 && TIMES.contains(&(a.realtime + (1 << 32)));
        small.then_some(AnchorInterval {
            first: a.ticks,
            end: b.ticks,
            realtime: a.realtime,
            span: (ticks, nanoseconds),
        })
    }

    /// Wall-clock time of `ticks`, which lie in the interval, in nanoseconds since the Unix epoch.
    fn realtime(&self, ticks: u64) -> i64 {
        let (elapsed, (span, nanoseconds)) = (ticks - self.first, self.span);
        let passed = if span == nanoseconds { elapsed } else { elapsed * nanoseconds / span };
        self.realtime + passed as i64
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
        let clock = LogClock::new(vec![anchor(100, 100, 5_000)], true);
        assert_eq!(clock.realtime(100), 5_000);
        assert_eq!(clock.realtime(150), 5_050);
        assert_eq!(clock.realtime(40), 4_940);
    }

    #[test]
    fn a_step_of_the_wall_clock_takes_effect_at_the_next_anchor() {
        let clock = LogClock::new(vec![anchor(300, 300, 90_300), anchor(100, 100, 5_000)], true);
        assert_eq!(clock.realtime(299), 5_199);
        assert_eq!(clock.realtime(310), 90_310);
    }

    #[test]
    fn cycles_are_interpolated() {
        let clock = LogClock::new(vec![anchor(0, 0, 1_000), anchor(3_000, 1_000, 2_000)], false);
        assert_eq!(clock.realtime(1_500), 1_500);
        assert_eq!(clock.realtime(6_000), 3_000);
        assert_eq!(clock.duration_nanoseconds(300), 100);
    }

    #[test]
    fn close_anchors_are_not_extrapolated() {
        // A tick is half a nanosecond. The last two anchors are 10 ns apart and one was read 5 ns
        // late.
        let anchors = vec![
            anchor(0, 0, 1_000_000),
            anchor(2_000_000, 1_000_000, 2_000_000),
            anchor(2_000_020, 1_000_015, 2_000_015),
        ];
        let clock = LogClock::new(anchors, false);
        assert_eq!(clock.realtime(4_000_020), 3_000_015 + 4, "and not half as much again");
        assert_eq!(clock.realtime(2_000_010), 2_000_007, "between them it does not matter");
    }

    #[test]
    fn the_rate_is_extrapolated_before_the_first_anchor() {
        let anchors = vec![
            anchor(1_000, 500, 9_500),
            anchor(1_002, 502, 9_502),
            anchor(3_000, 1_500, 10_500),
        ];
        assert_eq!(LogClock::new(anchors, false).realtime(200), 9_100);
    }

    #[test]
    fn a_step_between_anchors_of_cycles_moves_no_earlier_record() {
        let anchors =
            vec![anchor(0, 0, 1_000), anchor(3_000, 1_000, 90_000), anchor(6_000, 2_000, 91_000)];
        let clock = LogClock::new(anchors, false);
        assert_eq!(clock.realtime(2_997), 1_999);
        assert_eq!(clock.realtime(3_000), 90_000);
        assert_eq!(clock.realtime(9_000), 92_000);
    }

    #[test]
    fn clock_settings_are_found_and_late_readings_are_not_mistaken_for_them() {
        let read = [
            (0, 0),
            (10, 0),
            (20, 3_000_000),
            (30, 0),
            (40, 0),
            (50, -5_000_000_000),
            (60, -5_000_000_000),
        ];
        let anchors = read.map(|(at, off)| anchor(at, at as i64, 1_000_000 + at as i64 + off));
        let clock = LogClock::new(anchors.to_vec(), true);
        let setting =
            WallClockStep { since: 40, monotonic: 50, shown: 1_000_050, offset: -5_000_000_000 };
        assert_eq!(clock.clock_steps(), [setting]);
        assert_eq!(clock.span(), Some((1_000_000, 1_000_060 - 5_000_000_000)));
        assert_eq!((LogClock::default().clock_steps(), LogClock::default().span()), (vec![], None));
        // As if it had never been set: 50 ns in, it shows 50 ns more, also with the one that was
        // read late.
        let mut steady = clock.without_steps(&[setting]);
        assert_eq!(
            [0, 20, 40, 50, 65].map(|ticks| steady.realtime(ticks)),
            [1_000_000, 4_000_020, 1_000_040, 1_000_050, 1_000_065]
        );
        assert!(steady.clock_steps().is_empty());
        steady.shift_wall_clock(-40);
        assert_eq!((steady.realtime(50), steady.log_start()), (1_000_010, Some((0, 999_960))));
    }

    #[test]
    fn a_cursor_agrees_with_the_clock() {
        let clocks = [
            LogClock::default(),
            LogClock::new(vec![anchor(100, 100, 5_000), anchor(300, 300, 90_300)], true),
            LogClock::new(
                vec![
                    anchor(0, 0, 1_000),
                    anchor(3_000, 1_007, 90_000),
                    anchor(6_000, 2_000, 91_000),
                ],
                false,
            ),
            LogClock::new(
                vec![anchor(0, 50, 1_000), anchor(3_000, 7, 90_000), anchor(1 << 40, 1 << 39, 5)],
                false,
            ),
        ];
        for clock in clocks {
            let mut cursor = clock.cursor();
            for ticks in (0..8_000).step_by(7).chain([5, 2_999, 3_000, 1 << 39, (1 << 40) + 9, 0]) {
                assert_eq!(cursor.realtime(ticks), clock.realtime(ticks), "{ticks} of {clock:?}");
            }
        }
    }

    #[test]
    fn without_anchors_ticks_pass_through() {
        assert_eq!(LogClock::default().realtime(7), 7);
        assert_eq!(LogClock::default().realtime(u64::MAX), 1 << 62);
    }

    #[test]
    fn damaged_anchors_are_left_out_and_no_time_is_out_of_range() {
        let read = |realtime: i64| anchor(50, 50, realtime);
        let damaged = [read(i64::MAX), read(i64::MIN), anchor(50, i64::MIN, 1_050)];
        for damaged in damaged {
            let clock = LogClock::new(vec![anchor(0, 0, 1_000), damaged], true);
            assert_eq!(clock.realtime(60), 1_060);
            assert_eq!(clock.cursor().realtime(60), 1_060);
        }
        let late = (1 << 62) - 10;
        let clock = LogClock::new(vec![anchor(0, 0, late), anchor(1_000, 1_000, late + 5)], true);
        for ticks in [0, 9, 10, 999, 1_000, u64::MAX] {
            assert!(TIMES.contains(&clock.realtime(ticks)), "{ticks}");
            assert_eq!(clock.cursor().realtime(ticks), clock.realtime(ticks), "{ticks}");
        }
    }
}
