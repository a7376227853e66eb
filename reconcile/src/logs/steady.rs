//! Steady clocks, one per host: all its logs as if its clock had never been set.
//!
//! A log shows when the wall clock was set, because it holds the monotonic clock as well, and its
//! own times already continue as if that had not happened (`index_pass`). The remaining ones are
//! the logs that began later: their wall clock was set before they began, which only earlier logs
//! know. Their times are put back by as much, if the difference between their two clocks is the
//! expected one after that setting. So the times of a host are in order, and a time that the clock
//! showed twice is unambiguous, which the messages could not achieve.

use std::collections::BTreeMap;

use socket_log::WallClockStep;

use crate::indices::HostIndex;
use crate::logs::capture::Capture;
use crate::tuning::{SETTING_READ_WITHIN_NS, SETTING_SEEN_WITHIN_NS};

/// Puts back the times of the logs that began after their host's clock had been set.
pub(crate) fn align_clocks(capture: &mut Capture) {
    for logs in group_by_boot(capture).into_values() {
        let settings = settings_of_logs(capture, &logs);
        if settings.is_empty() {
            continue;
        }
        let begin = |log: &usize| capture.logs[*log].clock.log_start();
        let Some((_, first)) = logs.iter().filter_map(begin).min() else { continue };
        // Sum of the settings before each period between two settings.
        let mut sums = vec![0_i64];
        sums.extend(settings.iter().scan(0_i64, |sum, setting| {
            *sum = sum.wrapping_add(setting.offset);
            Some(*sum)
        }));
        for log in logs {
            let Some((_, ahead)) = capture.logs[log].clock.log_start() else { continue };
            let fits =
                |sum: &&i64| ahead.wrapping_sub(first).abs_diff(**sum) < SETTING_READ_WITHIN_NS;
            if let Some(sum) = sums.iter().find(fits).filter(|sum| **sum != 0) {
                shift_log(capture, log, sum.wrapping_neg());
            }
        }
    }
}

/// A clock as if it had never been set, for any time that it showed, also long before or after all
/// logs.
#[derive(Clone, Debug)]
pub(crate) struct SteadyClock {
    /// The first and the last time that the clock can have shown between two settings, and the sum
    /// by which it was set forward before, all in nanoseconds.
    pieces: Vec<([i64; 2], i64)>,
}

impl SteadyClock {
    /// The steady clock for these settings, sorted by time.
    pub(crate) fn new(settings: &[WallClockStep]) -> SteadyClock {
        let (mut begin, mut shift) = (i64::MIN, 0_i64);
        let mut pieces = Vec::with_capacity(settings.len() + 1);
        for setting in settings {
            pieces.push(([begin, setting.shown], shift));
            // The clock was set between two checks, at the earliest right after the first.
            let unseen = setting.monotonic.saturating_sub(setting.since).max(0);
            begin = setting.shown.saturating_sub(unseen).saturating_add(setting.offset);
            shift = shift.saturating_add(setting.offset);
        }
        pieces.push(([begin, i64::MAX], shift));
        SteadyClock { pieces }
    }

    /// The time that the clock would have shown, had it never been set, when it showed `time`;
    /// `None` if it may have shown `time` twice, or never.
    pub(crate) fn steady_time(&self, time: i64) -> Option<i64> {
        let mut shown =
            self.pieces.iter().filter(|([begin, end], _)| (*begin..=*end).contains(&time));
        let (_, shift) = shown.next()?;
        shown.next().is_none().then(|| time.saturating_sub(*shift))
    }
}

/// The settings of each host's clock, sorted by time.
pub(crate) fn settings_of_hosts(capture: &Capture) -> Vec<Vec<WallClockStep>> {
    let mut all = vec![Vec::new(); capture.hosts.len()];
    for ((host, _), settings) in settings_of_boots(capture) {
        if let Some(of_host) = all.get_mut(host.index()) {
            of_host.extend(settings);
        }
    }
    all
}

/// The settings for each host and boot with a log.
pub(crate) fn settings_of_boots(
    capture: &Capture,
) -> BTreeMap<(HostIndex, u128), Vec<WallClockStep>> {
    let boots = group_by_boot(capture).into_iter();
    boots.map(|(boot, logs)| (boot, settings_of_logs(capture, &logs))).collect()
}

/// The logs of each host and boot.
fn group_by_boot(capture: &Capture) -> BTreeMap<(HostIndex, u128), Vec<usize>> {
    let mut logs: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (place, process) in capture.processes.iter().enumerate().take(capture.logs.len()) {
        logs.entry((process.host, process.boot)).or_default().push(place);
    }
    logs
}

/// The settings seen by all of `logs`, each once.
fn settings_of_logs(capture: &Capture, logs: &[usize]) -> Vec<WallClockStep> {
    let mut all: Vec<WallClockStep> =
        logs.iter().flat_map(|log| capture.logs[*log].settings.iter().copied()).collect();
    all.sort_by_key(|setting| (setting.monotonic, setting.shown));
    let mut settings: Vec<WallClockStep> = Vec::new();
    for setting in all {
        let known = settings.iter_mut().find(|known| {
            known.monotonic.abs_diff(setting.monotonic) < SETTING_SEEN_WITHIN_NS
                && known.offset.abs_diff(setting.offset) < SETTING_READ_WITHIN_NS
        });
        match known {
            // The log with the latest check before the setting bounds its time best.
            Some(known) => known.since = known.since.max(setting.since.min(known.monotonic)),
            None => settings.push(setting),
        }
    }
    settings
}

/// Makes all times of a log later, by `by` nanoseconds.
fn shift_log(capture: &mut Capture, log: usize, by: i64) {
    let file = &mut capture.logs[log];
    file.clock.shift_wall_clock(by);
    let (flows, range) = (file.flows.clone(), file.flow_range());
    capture.flows.for_each_mut(range, |flow| flow.shift_times(by));
    // Namings are in the order of their flows.
    let namings = &mut capture.namings;
    let [from, to] = [flows.start, flows.end]
        .map(|flow| namings.partition_point(0..namings.len(), |naming| naming.flow < flow));
    namings.for_each_mut(from..to, |naming| naming.shift_times(by));
    let process = &mut capture.processes[log];
    for time in process.ended.iter_mut().chain(&mut process.node.start) {
        *time = time.saturating_add(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_were_shown_twice_are_ambiguous() {
        // From 1000 to 400 within 50 of it, and from 700 to 2000 immediately.
        let setting =
            |since, monotonic, shown, offset| WallClockStep { since, monotonic, shown, offset };
        let clock = SteadyClock::new(&[
            setting(950, 1_000, 1_000, -600),
            setting(1_300, 1_300, 700, 1_300),
        ]);
        // The second piece begins at 350 to 400 and ends at 700.
        let shown = [-9, 349, 350, 700, 701, 1_000, 1_001, 1_999, 2_000, i64::MAX];
        let steady =
            [Some(-9), Some(349), None, None, Some(701), Some(1_000), None, None, Some(1_300)];
        assert_eq!(shown.map(|time| clock.steady_time(time))[..9], steady);
        assert_eq!(clock.steady_time(i64::MAX), Some(i64::MAX - 700));
        assert_eq!(SteadyClock::new(&[]).steady_time(i64::MIN), Some(i64::MIN));
    }
}
