//! Comparison: the steps in sequence, from two periods to what changed.

use std::path::Path;

use message_trace::{PathError, Progress};
use out_of_core::MemoryBudget;
use request_flow::NameInterner;

use crate::analysis::{self, CategoryStats};
use crate::collect::{CollectedPeriods, PeriodTotals};
use crate::mutations::{
    KindChange, Mutation, kind_changes, kind_tests, rank_mutations, rate_changes, rate_tests,
    time_changes, time_tests,
};
use crate::options::Options;
use crate::overall::OverallChange;
use crate::period::Period;
use crate::request_kinds::{RequestKind, group_by_kind};
use crate::sites::CallSites;
use crate::statistics::adjust_p_values;
use crate::suspects::{SiteEvidence, SuspectNode, drop_redundant, gather_evidence, rank_suspects};
use crate::tuning::MAX_CHANCE;

/// What changed between two periods.
#[derive(Debug)]
pub struct Comparison {
    /// The names to which all numbers of names refer.
    pub names: NameInterner,
    /// Totals of each period.
    pub totals: [PeriodTotals; 2],
    /// All categories, in the order of their keys.
    pub categories: Vec<CategoryStats>,
    /// All kinds of requests.
    pub kinds: Vec<RequestKind>,
    /// Response times of all requests together.
    pub overall: OverallChange,
    /// Categories that changed, in descending order of contribution.
    pub mutations: Vec<Mutation>,
    /// All call sites.
    pub sites: CallSites,
    /// Kinds of requests that occur in one period only.
    pub new_kinds: Vec<KindChange>,
    /// Changes at call sites, in their order.
    pub evidence: Vec<SiteEvidence>,
    /// Nodes that became slower, fail, or behave differently, in descending order of suspicion.
    pub suspects: Vec<SuspectNode>,
    /// Nodes that became faster, or behave differently.
    pub faster: Vec<SuspectNode>,
    /// Whether any change is larger than chance explains.
    pub is_changed: bool,
}

/// Compares two periods. Data beyond `memory` bytes goes to a temporary file in `directory`.
///
/// # Errors
/// If the tables cannot be read, or the temporary file cannot be written.
pub fn compare_periods(
    periods: [&Period<'_>; 2],
    options: &Options,
    memory: u64,
    directory: &Path,
    progress: &dyn Progress,
) -> Result<Comparison, PathError> {
    let budget = MemoryBudget::new(memory);
    let collected = CollectedPeriods::read_periods(periods, options, &budget, directory, progress)?;
    let categories = analysis::analyze_categories(&collected)?;
    let lengths = collected.totals.map(|totals| totals.length());
    let CollectedPeriods { names, sites, totals, response, .. } = collected;
    let kinds = group_by_kind(&categories);
    let mut overall = OverallChange::from_categories(&categories, &response, lengths);

    // All tests are adjusted together, so that the false discovery rate holds for the whole report.
    let mut times = time_tests(&categories, lengths, options);
    let mut rates = rate_tests(&categories, &kinds);
    let mut new_kinds = kind_tests(&kinds);
    let mut evidence =
        gather_evidence(&sites, &totals, totals.map(|totals| totals.mean_response()));
    let mut slots: Vec<(f64, &mut f64)> = vec![(overall.p_value, &mut overall.adjusted)];
    slots.extend(times.iter_mut().map(|of| (of.p_value, &mut of.adjusted)));
    slots.extend(new_kinds.iter_mut().map(|of| (of.p_value, &mut of.adjusted)));
    slots.extend(rates.iter_mut().map(|of| (of.p_value, &mut of.adjusted)));
    slots.extend(evidence.iter_mut().map(|of| (of.p_value, &mut of.adjusted)));
    let p_values: Vec<f64> = slots.iter().map(|(p_value, _)| *p_value).collect();
    let is_controlled = !options.paper && !options.without.control;
    let all = if is_controlled { adjust_p_values(&p_values) } else { p_values };
    slots.into_iter().zip(all).for_each(|((_, slot), adjusted)| *slot = adjusted);

    let times = time_changes(times, &categories, lengths, options);
    let rates = rate_changes(rates, &categories, options);
    let new_kinds = kind_changes(new_kinds, options);
    let mutations = rank_mutations(&categories, &kinds, &times, &rates, options);
    let response = totals[0].mean_response().min(totals[1].mean_response());
    for of in &mut evidence {
        of.is_sure = of.adjusted <= options.false_discoveries;
    }
    evidence.retain(|of| of.adjusted <= MAX_CHANCE && of.is_large(options, response));
    // If there is a sure change, possible changes are worth reporting; otherwise they are not. A
    // category that became rarer is no mutation, but still a change.
    let has_changed_part =
        !mutations.is_empty() || !rates.is_empty() || evidence.iter().any(|of| of.is_sure);
    overall.decide_change(options, has_changed_part);
    let is_changed = has_changed_part || overall.is_changed || !new_kinds.is_empty();
    evidence.retain(|of| of.is_sure || is_changed && is_controlled);
    drop_redundant(&mut evidence);
    let [suspects, faster] =
        [true, false].map(|worse| rank_suspects(&evidence, &sites, &names, worse, options.without));
    Ok(Comparison {
        names,
        totals,
        categories,
        kinds,
        overall,
        mutations,
        new_kinds,
        sites,
        evidence,
        suspects,
        faster,
        is_changed,
    })
}
