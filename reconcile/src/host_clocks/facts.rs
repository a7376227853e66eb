//! Facts about the hosts' clocks besides their messages, and the only place where the clocks are
//! estimated.

use clocks::{ClockHints, ClockModel, ClockSamples, ClockSet, HostFacts, estimate_with_hints};
use message_trace::Progress;
use socket_log::WallClockStep;

use crate::logs::capture::Capture;
use crate::logs::steady;

/// The facts of the hosts of `capture`.
pub(crate) fn facts_of_hosts(capture: &Capture) -> Vec<HostFacts> {
    let named =
        capture.hosts.iter().map(|host| HostFacts { name: host.clone(), ..HostFacts::default() });
    let mut facts: Vec<HostFacts> = named.collect();
    for (process, log) in capture.processes.iter().zip(&capture.logs) {
        let Some(host) = facts.get_mut(process.host.index()) else { continue };
        if host.machine == 0 {
            host.machine = if process.boot == 0 { 0 } else { process.kernel.index() as u128 + 1 };
        }
        let span = log.clock.span().into_iter().flat_map(|(first, last)| [first, last]);
        for time in span.chain(process.ended).chain(process.node.start) {
            note_reading(host, time);
        }
    }
    facts
}

/// Adds the recorded settings of the hosts' clocks to `clocks`, which were estimated as if no clock
/// had ever been set (see `steady`), so that they convert times as the clocks showed them.
pub(crate) fn restore_settings(
    clocks: &ClockModel,
    capture: &Capture,
    hosts: &[HostFacts],
) -> ClockModel {
    let mut hosts = hosts.to_vec();
    for (host, settings) in hosts.iter_mut().zip(steady::settings_of_hosts(capture)) {
        let set = |setting: &WallClockStep| ClockSet {
            at: setting.shown,
            before_ns: setting.monotonic.saturating_sub(setting.since).max(0),
            offset_ns: setting.offset,
        };
        host.set = settings.iter().map(set).collect();
    }
    clocks.with_recorded_steps(&hosts)
}

/// Records that the clock of `host` showed `time`.
pub(crate) fn note_reading(host: &mut HostFacts, time: i64) {
    // Before the first reading, both are 0.
    let none = (host.first, host.last) == (0, 0);
    host.first = if none { time } else { host.first.min(time) };
    host.last = if none { time } else { host.last.max(time) };
}

/// Estimates the clocks of `hosts`. The reference is the best-connected host or, if no message
/// connects two clocks, the one with most processes.
pub(crate) fn estimate_clocks(
    capture: &Capture,
    hosts: &[HostFacts],
    samples: &ClockSamples,
    hints: &ClockHints,
    progress: &dyn Progress,
) -> ClockModel {
    progress.begin_step("estimating clocks", 0);
    let processes = |host: usize| {
        capture.processes.iter().filter(|process| process.host.index() == host).count()
    };
    let most =
        || (0..capture.hosts.len()).max_by_key(|host| (processes(*host), std::cmp::Reverse(*host)));
    estimate_with_hints(
        hosts,
        samples,
        hints,
        if samples.message_count() == 0 { most() } else { None },
    )
}
