//! Relates groups of hosts that no message connects by way of the collector, with which their hosts
//! exchanged timestamps.
//!
//! A group has one common time already, the time of the clock that it is compared with. So all
//! exchanges of its hosts are exchanges between this clock and the collector's, each with the
//! additional uncertainty of its host's time on the common clock. Relations within a group remain
//! as estimated from messages.

use crate::hints::clock_groups::{ClockGroups, solve_star};
use crate::hints::compose::compose_clocks;
use crate::model::{ClockModel, ClockSource, HostClock};

/// Hosts that messages connect.
struct HostGroup {
    /// The clock that the hosts are compared with.
    root: usize,
    hosts: Vec<usize>,
    /// The hosts with exchanges that are used.
    used: Vec<usize>,
    /// Whether the uncertainties of the `used` hosts are known.
    is_bounded: bool,
}

impl HostGroup {
    fn exchange_count(&self, grouped: &ClockGroups) -> u64 {
        self.used.iter().map(|host| grouped.exchange_count(*host)).sum()
    }
}

/// Puts all groups with exchanges on the common clock of one of them: the reference's group or, if
/// that group has no exchanges, the group with most hosts.
pub(crate) fn join_groups(grouped: &ClockGroups, clocks: &mut ClockModel) {
    let groups = host_groups(grouped, clocks);
    let hinted = |group: &HostGroup| !group.used.is_empty();
    let rank = |place: &usize| {
        let group = &groups[*place];
        (
            group.root == grouped.reference,
            group.hosts.len(),
            group.exchange_count(grouped),
            std::cmp::Reverse(group.root),
        )
    };
    let Some(chosen) = (0..groups.len()).filter(|place| hinted(&groups[*place])).max_by_key(rank)
    else {
        return;
    };
    if groups.iter().filter(|group| hinted(group)).count() < 2 {
        return;
    }
    let group_of = |host: usize| groups.iter().position(|group| group.used.contains(&host));
    let star = grouped.star_samples(clocks, groups.len(), |host| {
        Some((group_of(host)? + 1, grouped.host_uncertainty(clocks, host).unwrap_or(0)))
    });
    let mut spans = vec![None; groups.len() + 1];
    for (span, group) in spans.iter_mut().skip(1).zip(&groups) {
        let of_hosts = group.hosts.iter().filter_map(|host| grouped.host_span(clocks, *host));
        *span = of_hosts.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)]);
    }
    let found = solve_star(&star, chosen + 1, &spans);
    let against = groups[chosen].hosts.first().map(|host| clocks.hosts[*host].against.clone());
    // Time of the offsets: the same as for the other clocks or, if no message involves the common
    // clock, the first time of that clock.
    let root = groups[chosen].hosts.iter().copied().find(|host| grouped.is_root(*host));
    let at = root.map_or(0, |root| {
        let facts = &grouped.hosts[root];
        clocks.hosts[root].at.clamp(facts.first, facts.last.max(facts.first))
    });
    for (place, group) in groups.iter().enumerate().filter(|(place, _)| *place != chosen) {
        let Some(Some(line)) = found.get(place + 1) else { continue };
        let line = HostClock { against: against.clone().unwrap_or_default(), ..line.clone() };
        let floor = grouped
            .min_half_trip(&group.used)
            .saturating_add(grouped.min_half_trip(&groups[chosen].used));
        let off = line.uncertainty_ns.filter(|_| group.is_bounded && groups[chosen].is_bounded);
        for host in &group.hosts {
            let own = grouped.host_uncertainty(clocks, *host);
            let clock = &clocks.hosts[*host];
            let skew = if grouped.is_root(*host) { Some(0.0) } else { clock.skew_uncertainty_ppm };
            clocks.hosts[*host] = HostClock {
                uncertainty_ns: off.zip(own).map(|(off, own)| off.max(floor).saturating_add(own)),
                skew_uncertainty_ppm: line
                    .skew_uncertainty_ppm
                    .zip(skew)
                    .map(|(line, own)| line + own),
                source: if clock.source == ClockSource::OneWay {
                    ClockSource::OneWay
                } else {
                    ClockSource::Hints
                },
                hints: clock.hints.clone(),
                ..compose_clocks(clock, &line, at)
            };
        }
        convert_evidence(grouped, clocks, group, &line);
    }
}

/// Returns all groups, in the order of their clocks.
fn host_groups(grouped: &ClockGroups, clocks: &ClockModel) -> Vec<HostGroup> {
    let mut groups: Vec<HostGroup> = Vec::new();
    for host in 0..grouped.hosts.len().min(clocks.hosts.len()) {
        let Some(root) = grouped.group_root(host) else { continue };
        match groups.iter_mut().find(|group| group.root == root) {
            Some(group) => group.hosts.push(host),
            None => groups.push(HostGroup {
                root,
                hosts: vec![host],
                used: Vec::new(),
                is_bounded: true,
            }),
        }
    }
    for group in &mut groups {
        // If exchanges contradict messages, one of them is wrong, and other exchanges may be
        // usable.
        let contradicts = |host: usize| {
            let check = clocks.hosts[host].hints.as_ref().and_then(|hinted| hinted.check.as_ref());
            check.is_some_and(|check| check.contradicts)
        };
        let hinted = |host: &&usize| grouped.exchange_count(**host) > 0 && !contradicts(**host);
        let bounded = |host: &&usize| grouped.host_uncertainty(clocks, **host).is_some();
        group.used = group.hosts.iter().filter(hinted).filter(bounded).copied().collect();
        if group.used.is_empty() {
            // A one-sided estimate is better than none.
            group.used = group.hosts.iter().filter(hinted).copied().collect();
            group.is_bounded = false;
        }
    }
    groups
}

/// Converts the sending times of the messages that are the evidence of a group's clocks to the
/// clock that the group is now compared with.
fn convert_evidence(
    grouped: &ClockGroups,
    clocks: &mut ClockModel,
    group: &HostGroup,
    line: &HostClock,
) {
    let is_of_group =
        |name: &String| group.hosts.iter().any(|host| grouped.hosts[*host].name == *name);
    for link in clocks.links.iter_mut().filter(|link| is_of_group(&link.hosts[0])) {
        link.least.iter_mut().flatten().for_each(|[sent, _]| *sent = line.common_time(*sent));
    }
}
