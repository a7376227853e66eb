//! Which hosts have one clock: those of one machine, unless the messages between them say
//! otherwise.
//!
//! Several hosts of one kernel (containers, or names given by hand) read the same clock. An
//! estimate would put an error of some microseconds where there is none, so if no message among
//! them arrives before it was sent by the times as they are, they are one clock exactly. If some
//! do, somebody shifted the clocks (as tests do), and none of the machine's hosts is believed.

use crate::tuning::{ONE_WRONG_IN, READING_NS};
use std::collections::BTreeMap;

use crate::facts::HostFacts;
use crate::samples::Minima;

/// The clock of each host, by number: those with a machine of their own, or none that is known,
/// have one each.
pub(crate) fn clocks(hosts: &[HostFacts], pairs: &[&Minima]) -> Vec<usize> {
    let machine = |host: u32| hosts.get(host as usize).map_or(0, |host| host.machine);
    // Of each machine's messages between its hosts: how many there are, and how many came too
    // early.
    let mut early: BTreeMap<u128, bool> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| machine(pair.from) == machine(pair.to)) {
        let too_early = pair
            .points
            .iter()
            .filter(|sample| sample.received.saturating_sub(sample.sent) < -READING_NS);
        *early.entry(machine(pair.from)).or_default() |=
            too_early.count() * ONE_WRONG_IN > pair.points.len();
    }
    let mut of_machine: BTreeMap<u128, usize> = BTreeMap::new();
    let mut next = 0;
    hosts
        .iter()
        .map(|host| {
            let is_shared =
                host.machine != 0 && !early.get(&host.machine).copied().unwrap_or(false);
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
