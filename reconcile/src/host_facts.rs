//! What is known of the hosts' clocks beside their messages, and the one place where the clocks are
//! estimated.

use message_trace::Progress;
use socket_log::Setting;

use crate::capture::Capture;
use crate::steady;
use clocks::{ClockSet, Clocks, Hints, HostFacts, Samples, estimate_with};

/// The facts of the hosts of `capture`.
pub(crate) fn of(capture: &Capture) -> Vec<HostFacts> {
    let named =
        capture.hosts.iter().map(|host| HostFacts { name: host.clone(), ..HostFacts::default() });
    let mut facts: Vec<HostFacts> = named.collect();
    for (process, log) in capture.processes.iter().zip(&capture.logs) {
        let Some(host) = facts.get_mut(process.host as usize) else { continue };
        if host.machine == 0 {
            host.machine = if process.boot == 0 { 0 } else { u128::from(process.kernel) + 1 };
        }
        let span = log.clock.span().into_iter().flat_map(|(first, last)| [first, last]);
        for time in span.chain(process.ended).chain(process.node.start) {
            saw(host, time);
        }
    }
    facts
}

/// The clocks as they were, for whoever has a time that one of them showed: in `clocks` no log's
/// clock was ever set (see `steady`).
pub(crate) fn as_set(clocks: &Clocks, capture: &Capture, hosts: &[HostFacts]) -> Clocks {
    let mut hosts = hosts.to_vec();
    for (host, settings) in hosts.iter_mut().zip(steady::settings_of_hosts(capture)) {
        let set = |setting: &Setting| ClockSet {
            at: setting.shown,
            before_ns: setting.monotonic.saturating_sub(setting.since).max(0),
            offset_ns: setting.offset,
        };
        host.set = settings.iter().map(set).collect();
    }
    clocks.as_set(&hosts)
}

/// The clock of `host` showed `time`.
pub(crate) fn saw(host: &mut HostFacts, time: i64) {
    // Before the first, both are 0.
    let none = (host.first, host.last) == (0, 0);
    host.first = if none { time } else { host.first.min(time) };
    host.last = if none { time } else { host.last.max(time) };
}

/// The clocks of `hosts`. The reference is the host that is best connected or, where no message
/// tells of two clocks, the one with most processes.
pub(crate) fn clocks(
    capture: &Capture,
    hosts: &[HostFacts],
    samples: &Samples,
    hints: &Hints,
    progress: &dyn Progress,
) -> Clocks {
    progress.step("estimating clocks", 0);
    let processes = |host: usize| {
        capture.processes.iter().filter(|process| process.host as usize == host).count()
    };
    let most =
        || (0..capture.hosts.len()).max_by_key(|host| (processes(*host), std::cmp::Reverse(*host)));
    estimate_with(hosts, samples, hints, if samples.messages() == 0 { most() } else { None })
}
