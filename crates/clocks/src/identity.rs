//! Finds the hosts with one clock: those of one machine, unless the messages between them
//! contradict.
//!
//! Several hosts of one kernel (containers, or names given by hand) read the same clock. An
//! estimate would introduce an error of some microseconds where there is none, so if no message
//! among them arrives before it was sent by uncorrected times, they are one clock exactly. If some
//! do, the clocks were shifted (as in tests), and none of the machine's hosts is trusted. If the
//! machine is only presumed, [`presumed`] decides which clocks differ.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::HostFacts;
use crate::presumed::{self, host_pair};
use crate::samples::DelayMinima;
use crate::tuning::{ONE_WRONG_IN, READING_NS};

/// Returns the clock of each host, by number: hosts with a machine of their own, or an unknown one,
/// have one each.
pub(crate) fn clocks_of_hosts(hosts: &[HostFacts], pairs: &[&DelayMinima]) -> Vec<usize> {
    let machine = |host: u32| hosts.get(host as usize).map_or(0, |host| host.machine);
    // The hosts of one machine with messages that came too early.
    let contradictions: BTreeSet<[u32; 2]> = pairs
        .iter()
        .filter(|pair| machine(pair.from) != 0 && machine(pair.from) == machine(pair.to))
        .filter(|pair| is_too_early(pair))
        .map(|pair| host_pair(pair))
        .collect();
    let separate = presumed::separate_hosts(hosts, pairs, &contradictions);
    let is_presumed = |host: u32| hosts.get(host as usize).is_some_and(|host| host.is_presumed);
    let not_believed: BTreeSet<u128> = contradictions
        .iter()
        .filter(|pair| !pair.iter().all(|host| is_presumed(*host)))
        .map(|[host, _]| machine(*host))
        .collect();
    let mut of_machine: BTreeMap<u128, usize> = BTreeMap::new();
    let mut next = 0;
    hosts
        .iter()
        .zip(separate)
        .map(|(host, is_apart)| {
            let is_shared = host.machine != 0 && !is_apart && !not_believed.contains(&host.machine);
            let known = if is_shared { of_machine.get(&host.machine).copied() } else { None };
            let clock = known.unwrap_or(next);
            next = next.max(clock + 1);
            if is_shared {
                of_machine.insert(host.machine, clock);
            }
            clock
        })
        .collect()
}

/// Returns whether more of the messages with the least delay arrived before they were sent than are
/// expected to be matched wrongly.
fn is_too_early(pair: &DelayMinima) -> bool {
    let early = pair
        .points
        .iter()
        .filter(|sample| sample.received.saturating_sub(sample.sent) < -READING_NS);
    early.count() * ONE_WRONG_IN > pair.points.len()
}
