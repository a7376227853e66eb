//! What is known of the hosts' clocks beside their messages, and the one place where the clocks are estimated.

use message_trace::Progress;

use crate::capture::Capture;
use crate::clocks::{ClockSet, Clocks, HostFacts, Samples, estimate};

/// The facts of the hosts of `capture`.
pub(crate) fn of(capture: &Capture) -> Vec<HostFacts> {
    let named = capture.hosts.iter().map(|host| HostFacts { name: host.clone(), ..HostFacts::default() });
    let mut facts: Vec<HostFacts> = named.collect();
    for (process, log) in capture.processes.iter().zip(&capture.logs) {
        let Some(host) = facts.get_mut(process.host as usize) else { continue };
        if host.machine == 0 {
            host.machine = process.boot;
        }
        let span = log.clock.span().into_iter().flat_map(|(first, last)| [first, last]);
        for time in span.chain(process.ended).chain(process.node.start) {
            saw(host, time);
        }
        for (at, offset_ns) in log.clock.settings() {
            set(host, ClockSet { at, offset_ns });
        }
    }
    facts
}

/// The clock of `host` showed `time`.
pub(crate) fn saw(host: &mut HostFacts, time: i64) {
    // Before the first, both are 0.
    let none = (host.first, host.last) == (0, 0);
    host.first = if none { time } else { host.first.min(time) };
    host.last = if none { time } else { host.last.max(time) };
}

/// A log of `host` tells that its clock was set. Others may have told, too, each when it next looked.
fn set(host: &mut HostFacts, told: ClockSet) {
    const LOOKS_APART: u64 = 10_000_000_000;
    const READ_APART: u64 = 1_000_000;
    let same = |other: &&mut ClockSet| {
        other.at.abs_diff(told.at) < LOOKS_APART && other.offset_ns.abs_diff(told.offset_ns) < READ_APART
    };
    match host.set.iter_mut().find(same) {
        Some(known) => known.at = known.at.min(told.at),
        None => {
            host.set.push(told);
            host.set.sort_by_key(|set| set.at);
        }
    }
}

/// The clocks of `hosts`. The reference is the host that is best connected or, where no message tells of two clocks,
/// the one with most processes.
pub(crate) fn clocks(
    capture: &Capture,
    hosts: &[HostFacts],
    samples: &Samples,
    progress: &dyn Progress,
) -> Clocks {
    progress.step("estimating clocks", 0);
    let processes =
        |host: usize| capture.processes.iter().filter(|process| process.host as usize == host).count();
    let most = || (0..capture.hosts.len()).max_by_key(|host| (processes(*host), std::cmp::Reverse(*host)));
    estimate(hosts, samples, if samples.messages() == 0 { most() } else { None })
}
