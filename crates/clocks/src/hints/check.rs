//! Checks whether the timestamps exchanged with the collector agree with the messages, for hosts
//! that messages connect.
//!
//! On the common time of a group, as estimated from messages, all its clocks are equal. So by the
//! exchanges, too, each must equal the others, within the known uncertainties. If a clock does not,
//! its messages were matched wrongly, it was set unseen, its exchanges are another clock's, or a
//! host lies. The check corrects nothing, but the clock that most agree with is trusted, and
//! without a majority, none is.

use crate::hints::clock_groups::{ClockGroups, solve_star};
use crate::hints::majority::find_majority;
use crate::model::{ClockModel, HintCheck, HostClock};
use crate::tuning::MISFIT_NS;

/// Compares the exchanges of each group of two clocks or more with its messages.
pub(crate) fn check_hints(grouped: &ClockGroups, clocks: &mut ClockModel) {
    let hinted: Vec<usize> =
        (0..grouped.hosts.len()).filter(|host| grouped.exchange_count(*host) > 0).collect();
    let mut groups: Vec<usize> =
        hinted.iter().filter_map(|host| grouped.group_root(*host)).collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups {
        let mut members: Vec<GroupMember> = Vec::new();
        for host in hinted.iter().filter(|host| grouped.group_root(**host) == Some(group)) {
            let clock = grouped.clock_of[*host];
            match members.iter_mut().find(|member| member.clock == clock) {
                Some(member) => member.hosts.push(*host),
                None => members.push(GroupMember { clock, hosts: vec![*host] }),
            }
        }
        check_group(grouped, clocks, &members);
    }
}

/// A clock of a group, and its hosts with exchanges.
struct GroupMember {
    clock: usize,
    hosts: Vec<usize>,
}

impl GroupMember {
    /// Returns the clock's uncertainty by messages, in nanoseconds.
    fn uncertainty(&self, grouped: &ClockGroups, clocks: &ClockModel) -> Option<i64> {
        grouped.host_uncertainty(clocks, *self.hosts.first()?)
    }
}

/// Compares the clocks of one group by their exchanges, and stores the result in the hints of their
/// hosts.
fn check_group(grouped: &ClockGroups, clocks: &mut ClockModel, members: &[GroupMember]) {
    // The others are compared with the most certain clock: the one that the group is compared with,
    // if it has exchanges.
    let sureness =
        |place: &usize| members[*place].uncertainty(grouped, clocks).map_or((1, 0), |off| (0, off));
    let Some(surest) = (0..members.len()).min_by_key(sureness).filter(|_| members.len() > 1) else {
        return;
    };
    let mut checks = compare_members(surest, grouped, clocks, members);
    if !is_majority(&checks) {
        // The most certain clock may be the wrong one, or lie: then the majority of the others is
        // right.
        let range = |check: &Option<HintCheck>| check.as_ref().map(difference_range);
        let known: Vec<(usize, [i64; 2])> = checks
            .iter()
            .enumerate()
            .filter_map(|(place, check)| Some((place, range(check)?)))
            .collect();
        let statements: Vec<[i64; 2]> =
            known.iter().map(|(_, bounds)| *bounds).chain([[0, 0]]).collect();
        let agreeing = find_majority(&statements).unwrap_or_default();
        let agreeing = agreeing.iter().filter_map(|place| Some(known.get(*place)?.0));
        match agreeing.min_by_key(sureness) {
            Some(base) => checks = compare_members(base, grouped, clocks, members),
            // Disagreement does not show which is wrong, so none is trusted.
            None => {
                let of_surest = checks
                    .iter()
                    .flatten()
                    .max_by_key(|check| check.difference_ns.saturating_abs());
                let of_surest = of_surest.cloned().map(|check| HintCheck {
                    against: member_name(clocks, members, &check, &checks),
                    difference_ns: check.difference_ns.saturating_neg(),
                    ..check
                });
                checks[surest] = of_surest;
                checks.iter_mut().flatten().for_each(|check| check.contradicts = true);
            }
        }
    }
    for (member, check) in members.iter().zip(checks) {
        let Some(check) = check else { continue };
        for host in &member.hosts {
            if let Some(hinted) = &mut clocks.hosts[*host].hints {
                hinted.check = Some(check.clone());
            }
        }
    }
}

/// Returns the name of the first host of the member with the check `of`.
fn member_name(
    clocks: &ClockModel,
    members: &[GroupMember],
    of: &HintCheck,
    checks: &[Option<HintCheck>],
) -> String {
    let place = checks.iter().position(|check| check.as_ref() == Some(of));
    let host = place.and_then(|place| members[place].hosts.first());
    host.map_or(String::new(), |host| clocks.hosts[*host].host.clone())
}

/// Returns whether the clock that the others are compared with agrees with more than half of all
/// clocks, itself included.
fn is_majority(checks: &[Option<HintCheck>]) -> bool {
    let known = checks.iter().flatten().count() + 1;
    let agreeing = checks.iter().flatten().filter(|check| !check.contradicts).count() + 1;
    agreeing * 2 > known
}

/// Returns the bounds of the difference of the two clocks, in nanoseconds.
fn difference_range(check: &HintCheck) -> [i64; 2] {
    let HintCheck { difference_ns, within_ns, .. } = check;
    [difference_ns.saturating_sub(*within_ns), difference_ns.saturating_add(*within_ns)]
}

/// Compares each member's clock by its exchanges with the clock of the member at index `base`;
/// `None` if the difference is unknown, and for `base` itself.
fn compare_members(
    base: usize,
    grouped: &ClockGroups,
    clocks: &ClockModel,
    members: &[GroupMember],
) -> Vec<Option<HintCheck>> {
    let mut checks = vec![None; members.len()];
    let Some(root_off) = members[base].uncertainty(grouped, clocks) else { return checks };
    let node = |host: usize| members.iter().position(|member| member.hosts.contains(&host));
    let star = grouped.star_samples(clocks, members.len(), |host| Some((node(host)? + 1, 0)));
    let mut spans = vec![None; members.len() + 1];
    for (span, member) in spans.iter_mut().skip(1).zip(members) {
        *span = common_span(grouped, clocks, member);
    }
    let found = solve_star(&star, base + 1, &spans);
    for (place, member) in members.iter().enumerate().filter(|(place, _)| *place != base) {
        let (Some(Some(line)), Some(off)) =
            (found.get(place + 1), member.uncertainty(grouped, clocks))
        else {
            continue;
        };
        let (Some(span), Some(uncertainty)) = (spans[place + 1], line.uncertainty_ns) else {
            continue;
        };
        let difference_ns = max_deviation(line, span);
        let floor = grouped
            .min_half_trip(&member.hosts)
            .saturating_add(grouped.min_half_trip(&members[base].hosts));
        // Clocks are not quite straight: a line may be off by this amount.
        let within_ns = uncertainty
            .max(floor)
            .saturating_add(off)
            .saturating_add(root_off)
            .saturating_add(MISFIT_NS as i64);
        let against = clocks.hosts[members[base].hosts[0]].host.clone();
        let contradicts = difference_ns.saturating_abs() > within_ns;
        checks[place] = Some(HintCheck { against, difference_ns, within_ns, contradicts });
    }
    checks
}

/// Returns the first and the last time at which a clock has both messages and exchanges, in
/// nanoseconds on the common clock of its group; if there is none, twice the time of its messages
/// that is nearest to the exchanges.
fn common_span(
    grouped: &ClockGroups,
    clocks: &ClockModel,
    member: &GroupMember,
) -> Option<[i64; 2]> {
    let spans = member.hosts.iter().filter_map(|host| grouped.host_span(clocks, *host));
    let [first, last] = spans.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)])?;
    let hinted = member.hosts.iter().filter_map(|host| grouped.hinted_span(clocks, *host));
    let [begin, end] = hinted.reduce(|[a, b], [c, d]| [a.min(c), b.max(d)])?;
    let [begin, end] = [begin, end].map(|time| time.clamp(first, last));
    Some([begin, end])
}

/// Returns the greatest deviation of `line` from zero within `span`, in nanoseconds.
fn max_deviation(line: &HostClock, [first, last]: [i64; 2]) -> i64 {
    let inside = |at: &i64| (first..=last).contains(at);
    let steps = line.steps.iter().flat_map(|step| [step.at.saturating_sub(1), step.at]);
    let times = [first, last].into_iter().chain(steps.filter(inside));
    times
        .map(|at| line.shown_time(at).saturating_sub(at))
        .max_by_key(|off| off.saturating_abs())
        .unwrap_or(0)
}
