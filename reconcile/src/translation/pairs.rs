//! Search for the pairs among all half flows, step by step.

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};

use super::candidates::{self, RareKeyPairs};
use super::half_flow::HalfFlow;
use super::half_flow_table::HalfFlowTable;
use super::offsets::{self, KnownOffset};
use super::pair::HalfFlowPair;
use super::{assignment, confidence};

/// Finds the pairs among `halves` with a confidence of at least `least`, each half in one pair at
/// most, in the order of the connecting ends. `known` has differences of clocks that are known from
/// elsewhere, and `pool` the columns of the search.
///
/// # Errors
/// Fails if `pool` is full and its columns cannot be moved to files.
pub fn find_pairs(
    halves: &[HalfFlow],
    known: &[KnownOffset],
    least: f64,
    pool: &MemoryPool,
) -> Result<Vec<HalfFlowPair>, PathError> {
    let table = HalfFlowTable::from_flows(halves, pool)?;
    Ok(find_pairs_in(&table, known, least)?.iter().copied().collect())
}

/// Finds pairs as [`find_pairs`] does, with a column for all data that exists once for each half
/// flow or candidate.
///
/// # Errors
/// Fails if there is no space for the columns.
pub(crate) fn find_pairs_in(
    halves: &HalfFlowTable,
    known: &[KnownOffset],
    least: f64,
) -> Result<SpillableVec<HalfFlowPair>, PathError> {
    let field = candidates::HalfFlowField::from_table(halves)?;
    let RareKeyPairs { mut edges, crowds } = field.pair_rare_keys()?;
    let mut clocks = offsets::ClockDifferences::new(halves, known);
    clocks.learn_from_votes(&field, &edges, &crowds)?;
    field.add_near_in_time(&crowds, &clocks, &mut edges)?;
    drop(crowds);
    edges.retain(|edge| clocks.allows_edge(&field, edge));
    clocks.learn_widths(&field, &edges)?;
    let scores = confidence::score_candidates(&field, &edges, &clocks)?;
    assignment::assign_pairs(&field, &edges, &scores, least)
}
