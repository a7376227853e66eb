//! Finds hosts that do not have the one clock that they are presumed to have.
//!
//! Nothing states that hosts of one presumed machine share a clock; it is assumed because an
//! estimate would introduce an error where there may be none. So if messages contradict, only the
//! hosts that they contradict get a clock of their own:
//!
//! ```text
//! a --- b    If c's messages contradict both a and b, c is set apart: it explains two
//!  \   /     contradictions, and each of the others one. Then c's messages with a and with b
//!    c       have to fit one line. If they do not, a and b are not one clock, either, and they
//!            are set apart as well.
//! ```

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::facts::HostFacts;
use crate::pairs::pair::{self, AxisOrigin, ClockPair};
use crate::samples::DelayMinima;
use crate::tuning::MISFIT_NS;

/// Returns for each host whether it is set apart. `contradictions` are the pairs of hosts of one
/// machine with messages that show different clocks; only hosts of a presumed machine are examined.
pub(crate) fn separate_hosts(
    hosts: &[HostFacts],
    pairs: &[&DelayMinima],
    contradictions: &BTreeSet<[u32; 2]>,
) -> Vec<bool> {
    let is_presumed = |host: u32| hosts.get(host as usize).is_some_and(|host| host.is_presumed);
    let presumed = |[a, b]: &[u32; 2]| is_presumed(*a) && is_presumed(*b);
    let contradictions: Vec<[u32; 2]> =
        contradictions.iter().copied().filter(|pair| presumed(pair)).collect();
    let mut separate = vec![false; hosts.len()];
    while let Some(host) = most_contradicted(hosts, pairs, &contradictions, &separate) {
        separate[host as usize] = true;
    }
    while let Some(host) = without_a_line(hosts, pairs, &separate) {
        let before = separate.clone();
        for [a, b] in &contradictions {
            if *a == host || *b == host {
                (separate[*a as usize], separate[*b as usize]) = (true, true);
            }
        }
        if separate == before {
            break;
        }
    }
    separate
}

/// Returns the host that explains most of the contradictions that are not explained yet. Of two
/// that explain equally many it is the one with fewer peers, then with fewer messages.
fn most_contradicted(
    hosts: &[HostFacts],
    pairs: &[&DelayMinima],
    contradictions: &[[u32; 2]],
    separate: &[bool],
) -> Option<u32> {
    let is_separate = |host: u32| separate.get(host as usize).copied().unwrap_or(true);
    let open = || contradictions.iter().filter(|pair| !pair.iter().any(|host| is_separate(*host)));
    let all: BTreeSet<u32> = open().flatten().copied().collect();
    all.into_iter().max_by_key(|host| {
        let explained = open().filter(|pair| pair.contains(host)).count();
        let of_host = || pairs.iter().filter(|pair| pair.from == *host || pair.to == *host);
        let talks_to: BTreeSet<[u32; 2]> = of_host().map(|pair| host_pair(pair)).collect();
        let messages: u64 = of_host().map(|pair| pair.messages).sum();
        let name = hosts.get(*host as usize).map(|host| host.name.as_str());
        (explained, Reverse((talks_to.len(), messages)), name)
    })
}

/// Returns a host that was set apart and has messages with the hosts of one clock that fit no line:
/// no constant skew explains their times.
fn without_a_line(hosts: &[HostFacts], pairs: &[&DelayMinima], separate: &[bool]) -> Option<u32> {
    let is_separate = |host: usize| separate.get(host).copied().unwrap_or(true);
    // Hosts that are not set apart have the number of their machine's first host; all others have
    // numbers of their own.
    let first = |of: &HostFacts| {
        (0..hosts.len()).find(|host| !is_separate(*host) && hosts[*host].machine == of.machine)
    };
    let clock_of: Vec<usize> = hosts
        .iter()
        .enumerate()
        .map(|(host, of)| match of.is_presumed && !is_separate(host) {
            true => first(of).unwrap_or(host),
            false => host,
        })
        .collect();
    let fits = |pair: &ClockPair| {
        let fit = pair::fit_stamps(
            pair.timestamps.iter(),
            false,
            AxisOrigin::from_stamps(&pair.timestamps, false),
        );
        fit.is_none_or(|fit| fit.slack <= MISFIT_NS)
    };
    let is_shared =
        |host: usize| hosts.get(host).is_some_and(|of| of.is_presumed) && !is_separate(host);
    let found = pair::clock_pairs(pairs, &clock_of, |_, time| Some(time));
    found.iter().filter(|pair| !fits(pair)).find_map(|pair| match [pair.a, pair.b] {
        [a, b] if is_separate(a) && is_shared(b) => Some(a as u32),
        [a, b] if is_separate(b) && is_shared(a) => Some(b as u32),
        _ => None,
    })
}

/// Returns the two hosts of messages, in either direction.
pub(crate) fn host_pair(pair: &DelayMinima) -> [u32; 2] {
    [pair.from.min(pair.to), pair.from.max(pair.to)]
}
