//! Wall clocks for clock hints: the clock of this machine and, for tests, a clock with a deliberate
//! error, the same as in the programs that are recorded here.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since the Unix epoch.
pub fn unix_nanoseconds() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |before| -before)
        }
    }
}

/// Clock by which the logs of this host are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostClock {
    /// Nanoseconds that the clock is ahead when `CLOCK_MONOTONIC` is 0.
    offset: i64,
    /// Parts per million by which the clock runs fast.
    skew: i64,
    /// Times of `CLOCK_MONOTONIC` at which the clock is set, and the size of each step, in
    /// nanoseconds.
    steps: Vec<(i64, i64)>,
}

impl HostClock {
    /// The machine's own clock, unless `SOCKCAP_TEST_CLOCK` gives its error (docs/capture.md).
    pub(crate) fn from_environment() -> HostClock {
        env::var("SOCKCAP_TEST_CLOCK")
            .ok()
            .and_then(|text| HostClock::parse(&text))
            .unwrap_or_default()
    }

    /// Parses a value of `SOCKCAP_TEST_CLOCK`: `OFFSET,SKEW[,AT:STEP]...`.
    fn parse(text: &str) -> Option<HostClock> {
        let mut parts = text.split(',');
        let offset = parts.next()?.parse().ok()?;
        let skew = parts.next()?.parse().ok()?;
        let step = |part: &str| {
            let (at, by) = part.split_once(':')?;
            Some((at.parse().ok()?, by.parse().ok()?))
        };
        Some(HostClock { offset, skew, steps: parts.map(step).collect::<Option<_>>()? })
    }

    /// Nanoseconds since the Unix epoch by this clock.
    pub fn unix_nanoseconds(&self) -> i64 {
        if *self == HostClock::default() {
            return unix_nanoseconds();
        }
        let time = clock_gettime(ClockId::Monotonic);
        let monotonic = time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
        unix_nanoseconds().saturating_add(self.offset_at(monotonic))
    }

    fn offset_at(&self, monotonic: i64) -> i64 {
        let steps: i64 =
            self.steps.iter().filter(|(at, _)| *at <= monotonic).map(|(_, by)| by).sum();
        let gained = i128::from(monotonic) * i128::from(self.skew) / 1_000_000;
        self.offset.saturating_add(steps).saturating_add(i64::try_from(gained).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_clock_has_its_offset_skew_and_steps() {
        let clock = HostClock::parse("-500,20,3000000:7,5000000:-1").unwrap();
        // 20 ppm of 4 ms are 80 ns.
        assert_eq!(clock.offset_at(4_000_000), -500 + 80 + 7);
        assert_eq!(clock.offset_at(5_000_000), -500 + 100 + 7 - 1);
        assert_eq!(HostClock::parse("1"), None);
        assert_eq!(HostClock::parse("1,2,3"), None);
    }
}
