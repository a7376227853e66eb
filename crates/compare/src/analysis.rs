//! Analysis: from observations to the statistics of each category in both periods. Each category is
//! computed from its own observations alone, on all processors.

mod category_stats;
mod hop;
mod period_sample;

pub use category_stats::CategoryStats;
pub use hop::{CategoryHop, HopKind};
pub use period_sample::PeriodSample;

use message_trace::PathError;
use out_of_core::workers;

use crate::collect::CollectedPeriods;

/// All categories, in the order of their keys.
///
/// # Errors
/// If the temporary file cannot be read.
pub fn analyze_categories(
    collected: &CollectedPeriods<'_>,
) -> Result<Vec<CategoryStats>, PathError> {
    let work = |partition: usize| {
        let mut all: Vec<CategoryStats> = Vec::new();
        for (key, observations) in collected.take_observations(partition)? {
            let Some(structure) = collected.structures.get(&key) else { continue };
            all.push(CategoryStats::from_observations(
                key,
                structure.clone(),
                observations,
                &collected.windows,
            ));
        }
        Ok(all)
    };
    let mut categories = Vec::new();
    workers::run_in_order(
        workers::thread_count(),
        collected.partition_count(),
        work,
        |_, part: Vec<_>| {
            categories.extend(part);
            Ok::<(), PathError>(())
        },
    )?;
    categories.sort_unstable_by_key(|category| category.key);
    Ok(categories)
}
