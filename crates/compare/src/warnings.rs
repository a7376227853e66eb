//! Warnings: reasons why a comparison is unreliable, in words, for its first lines.

use message_trace::units::{count_noun, format_whole_percent, to_printable};
use request_flow::NameId;
use rustc_hash::FxHashSet;

use crate::comparison::Comparison;
use crate::statistics::rates_differ;
use crate::tuning::{
    MAX_OPEN_DIFFERENCE, MAX_TORN_SHARE, MIN_COMMON_SHARE, MIN_EXECUTIONS, MIN_MEAN_PROBABILITY,
    MIN_REQUESTS, MIN_SHARED_NODES, MIN_SHARED_RATIO, MIN_SHARED_TIME,
};

/// Maximum number of nodes that a warning names.
const MAX_NAMES: usize = 4;

/// All warnings of a comparison with the names `periods` for its periods.
pub(crate) fn find_warnings(comparison: &Comparison, periods: [&str; 2]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (totals, name) in comparison.totals.iter().zip(periods) {
        if totals.requests < MIN_REQUESTS {
            let requests = count_noun(totals.requests, "request", "requests");
            warnings.push(format!(
                "{name} has only {requests}: few changes can be distinguished from chance"
            ));
        }
        let all = totals.requests.max(1) as f64;
        if totals.torn as f64 / all > MAX_TORN_SHARE {
            let share = format_whole_percent(totals.torn as f64 / all);
            warnings.push(format!(
                "{share} of the requests of {name} are torn: their roots were not seen"
            ));
        }
        if totals.requests > 0 && totals.expected / all < MIN_MEAN_PROBABILITY {
            let share = format_whole_percent(totals.expected / all);
            warnings
                .push(format!("the mean probability of the requests of {name} is only {share}"));
        }
    }
    if comparison.overall.effect.is_none() {
        warnings.push("times could not be tested: too few, or all at about one time".to_owned());
    }
    warnings.extend(unfinished_warning(comparison, periods));
    warnings.extend(unlike_periods_warning(comparison));
    warnings.extend(shared_cause_warning(comparison));
    warnings
}

/// Warning that one period has more requests without an end, which have no response time; `None` if
/// that is not so.
fn unfinished_warning(comparison: &Comparison, periods: [&str; 2]) -> Option<String> {
    let all = comparison.totals.map(|totals| totals.expected);
    let open = comparison.totals.map(|totals| (totals.expected - totals.timed).max(0.0));
    let shares = [0, 1].map(|side| if all[side] > 0.0 { open[side] / all[side] } else { 0.0 });
    let differ = (shares[1] - shares[0]).abs() >= MAX_OPEN_DIFFERENCE;
    if !differ || rates_differ(open, all, 1.0) > 0.01 {
        return None;
    }
    let more = usize::from(shares[1] > shares[0]);
    let [other, here] = [1 - more, more].map(|side| format_whole_percent(shares[side]));
    let name = periods[more];
    Some(format!(
        "{here} of the requests of {name} have no end, and so no response time; {other} of those of \
         the other period"
    ))
}

/// Warning that nearly all nodes became slower, or faster, by a similar ratio: then a change in
/// something that they share is likelier than one in each of them. `None` if that is not so.
fn shared_cause_warning(comparison: &Comparison) -> Option<String> {
    if !comparison.is_changed {
        return None;
    }
    // Own times by call site: the node, the ratio of its change, and its time.
    let tested = comparison
        .sites
        .iter()
        .filter(|(_, site)| [0, 1].iter().all(|side| site.own.count(*side) >= MIN_EXECUTIONS));
    let mut changes: Vec<(NameId, f64, f64)> = tested
        .map(|(key, site)| {
            let [before, after] = [0, 1].map(|side| site.own.mean(side).max(1.0));
            (key.node, (after / before).ln(), site.own.weight(0) * before)
        })
        .collect();
    changes.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
    let all: f64 = changes.iter().map(|(_, _, time)| time).sum();
    let mut sum = 0.0;
    let (_, middle, _) = *changes.iter().find(|(_, _, time)| {
        sum += time;
        sum >= all / 2.0
    })?;
    let is_alike = |ratio: f64| {
        ratio.signum() == middle.signum()
            && (middle.abs() / 2.0..=2.0 * middle.abs()).contains(&ratio.abs())
    };
    let alike = changes.iter().filter(|(_, ratio, _)| is_alike(*ratio));
    let nodes: FxHashSet<NameId> = alike.clone().map(|(node, ..)| *node).collect();
    let share: f64 = alike.map(|(_, _, time)| time).sum::<f64>() / all;
    let is_shared = middle.abs() >= MIN_SHARED_RATIO
        && share >= MIN_SHARED_TIME
        && nodes.len() >= MIN_SHARED_NODES;
    is_shared.then(|| {
        let how = if middle > 0.0 { "slower" } else { "faster" };
        let by = format_whole_percent(middle.abs().exp() - 1.0);
        format!(
            "nearly all nodes are about {by} {how}: the cause may be the machine or the load, not a node"
        )
    })
}

/// Warning that the periods have different workloads, or nodes with different names; `None` if that
/// is not so.
fn unlike_periods_warning(comparison: &Comparison) -> Option<String> {
    let alike = [0, 1].map(|side| {
        let of = |all: bool| -> f64 {
            let kinds = comparison.kinds.iter();
            let here = kinds.filter(|kind| all || kind.counts.iter().all(|count| *count > 0.0));
            here.map(|kind| kind.counts[side]).sum()
        };
        of(false) / of(true).max(f64::MIN_POSITIVE)
    });
    let least = alike[0].min(alike[1]);
    if least >= MIN_COMMON_SHARE {
        return None;
    }
    let share = format_whole_percent(least);
    let words = format!("only {share} of the requests of one period are of kinds that both have: ");
    let nodes = [0, 1].map(|side| nodes_of_period(comparison, side));
    let only = [0, 1].map(|side| {
        let mut names: Vec<String> = nodes[side]
            .difference(&nodes[1 - side])
            .map(|name| to_printable(comparison.names.name_of(*name)))
            .collect();
        names.sort();
        let more = names.len().saturating_sub(MAX_NAMES);
        names.truncate(MAX_NAMES);
        let list = names.join(", ");
        if more > 0 { format!("{list} and {more} more") } else { list }
    });
    Some(match only.iter().all(|names| !names.is_empty()) {
        true => format!(
            "{words}if {} are now called {}, give both one name (docs/names.md)",
            only[0], only[1]
        ),
        false => format!("{words}the workloads differ"),
    })
}

/// The nodes of a period.
fn nodes_of_period(comparison: &Comparison, side: usize) -> FxHashSet<NameId> {
    let here = comparison.sites.iter().filter(|(_, site)| site.all.period_sum(side) > 0.0);
    here.map(|(key, _)| key.node).collect()
}
