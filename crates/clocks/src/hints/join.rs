//! Groups of hosts that no message connects become related by way of the collector, with which
//! their hosts exchanged timestamps.
//!
//! A group has one common time already, that of the clock it is compared with, so all exchanges of
//! its hosts are exchanges between that and the collector's clock, each as much less sure as its
//! host's time on the common clock is. What messages say within a group stays as it is.

use crate::hints::grouped::{Grouped, solved};
use crate::hints::through::through;
use crate::model::{Clocks, HostClock, Source};

/// Hosts that messages connect.
struct Group {
    /// The clock that they are compared with.
    root: usize,
    hosts: Vec<usize>,
    /// The hosts whose exchanges are used.
    used: Vec<usize>,
    /// Whether it is known how far these may be off.
    is_bounded: bool,
}

impl Group {
    fn exchanges(&self, grouped: &Grouped) -> u64 {
        self.used.iter().map(|host| grouped.exchanges(*host)).sum()
    }
}

/// Puts all groups with exchanges on the common clock of one of them: the reference's or, where
/// that has none, the one with most hosts.
pub(crate) fn join(grouped: &Grouped, clocks: &mut Clocks) {
    let groups = groups(grouped, clocks);
    let hinted = |group: &Group| !group.used.is_empty();
    let rank = |place: &usize| {
        let group = &groups[*place];
        (
            group.root == grouped.reference,
            group.hosts.len(),
            group.exchanges(grouped),
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
    let star = grouped.star(clocks, groups.len(), |host| {
        Some((group_of(host)? + 1, grouped.off(clocks, host).unwrap_or(0)))
    });
    let mut spans = vec![None; groups.len() + 1];
    for (span, group) in spans.iter_mut().skip(1).zip(&groups) {
        let of_hosts = group.hosts.iter().filter_map(|host| grouped.span(clocks, *host));
        *span = of_hosts.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)]);
    }
    let found = solved(&star, chosen + 1, &spans);
    let against = groups[chosen].hosts.first().map(|host| clocks.hosts[*host].against.clone());
    // When offsets are told: when the others' are, or, where no message tells of the clock that all
    // is compared with, when that was first seen.
    let root = groups[chosen].hosts.iter().copied().find(|host| grouped.is_root(*host));
    let at = root.map_or(0, |root| {
        let facts = &grouped.hosts[root];
        clocks.hosts[root].at.clamp(facts.first, facts.last.max(facts.first))
    });
    for (place, group) in groups.iter().enumerate().filter(|(place, _)| *place != chosen) {
        let Some(Some(line)) = found.get(place + 1) else { continue };
        let line = HostClock { against: against.clone().unwrap_or_default(), ..line.clone() };
        let floor = grouped.floor(&group.used).saturating_add(grouped.floor(&groups[chosen].used));
        let off = line.uncertainty_ns.filter(|_| group.is_bounded && groups[chosen].is_bounded);
        for host in &group.hosts {
            let own = grouped.off(clocks, *host);
            let clock = &clocks.hosts[*host];
            let skew = if grouped.is_root(*host) { Some(0.0) } else { clock.skew_uncertainty_ppm };
            clocks.hosts[*host] = HostClock {
                uncertainty_ns: off.zip(own).map(|(off, own)| off.max(floor).saturating_add(own)),
                skew_uncertainty_ppm: line
                    .skew_uncertainty_ppm
                    .zip(skew)
                    .map(|(line, own)| line + own),
                source: if clock.source == Source::OneWay { Source::OneWay } else { Source::Hints },
                hints: clock.hints.clone(),
                ..through(clock, &line, at)
            };
        }
        on_common_clock(grouped, clocks, group, &line);
    }
}

/// All groups, in the order of their clocks.
fn groups(grouped: &Grouped, clocks: &Clocks) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for host in 0..grouped.hosts.len().min(clocks.hosts.len()) {
        let Some(root) = grouped.group(host) else { continue };
        match groups.iter_mut().find(|group| group.root == root) {
            Some(group) => group.hosts.push(host),
            None => {
                groups.push(Group { root, hosts: vec![host], used: Vec::new(), is_bounded: true })
            }
        }
    }
    for group in &mut groups {
        // Where exchanges contradict messages, one of them is wrong, and there may be others.
        let contradicts = |host: usize| {
            let check = clocks.hosts[host].hints.as_ref().and_then(|hinted| hinted.check.as_ref());
            check.is_some_and(|check| check.contradicts)
        };
        let hinted = |host: &&usize| grouped.exchanges(**host) > 0 && !contradicts(**host);
        let bounded = |host: &&usize| grouped.off(clocks, **host).is_some();
        group.used = group.hosts.iter().filter(hinted).filter(bounded).copied().collect();
        if group.used.is_empty() {
            // Better by what is known of one side only than not at all.
            group.used = group.hosts.iter().filter(hinted).copied().collect();
            group.is_bounded = false;
        }
    }
    groups
}

/// Puts the times of the messages that a group's clocks rest on, on the clock that it is compared
/// with now.
fn on_common_clock(grouped: &Grouped, clocks: &mut Clocks, group: &Group, line: &HostClock) {
    let is_of_group =
        |name: &String| group.hosts.iter().any(|host| grouped.hosts[*host].name == *name);
    for link in clocks.links.iter_mut().filter(|link| is_of_group(&link.hosts[0])) {
        link.least.iter_mut().flatten().for_each(|[sent, _]| *sent = line.common(*sent));
    }
}
