//! The pairs among all half flows, one step after the other.

use message_trace::PathError;
use out_of_core::SpillableVec;

use super::candidates::{self, Rare};
use super::half_flow::HalfFlow;
use super::halves::Halves;
use super::offsets::{self, Offset};
use super::pair::Pair;
use super::{assignment, confidence};

/// Finds the pairs among `halves` whose confidence is at least `least`, each half in one pair at
/// most, in the order of the connecting ends. `known` says how clocks differ, where that is known
/// from elsewhere.
///
/// # Errors
/// There are none, as all of it is in memory.
pub fn pairs(halves: &[HalfFlow], known: &[Offset], least: f64) -> Result<Vec<Pair>, PathError> {
    Ok(pairs_of(&Halves::of(halves)?, known, least)?.iter().copied().collect())
}

/// The same, with everything in columns that there is once for each half flow or candidate.
///
/// # Errors
/// When there is no room for them.
pub(crate) fn pairs_of(
    halves: &Halves,
    known: &[Offset],
    least: f64,
) -> Result<SpillableVec<Pair>, PathError> {
    let field = candidates::Field::of(halves)?;
    let Rare { mut edges, crowds } = field.rare()?;
    let mut clocks = offsets::Clocks::new(halves, known);
    clocks.vote(&field, &edges, &crowds)?;
    field.near_in_time(&crowds, &clocks, &mut edges)?;
    drop(crowds);
    edges.retain(|edge| clocks.allow(&field, edge));
    clocks.learn_widths(&field, &edges)?;
    let judged = confidence::judge(&field, &edges, &clocks)?;
    assignment::assign(&field, &edges, &judged, least)
}
