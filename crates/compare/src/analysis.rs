//! Analysis: from observations to what each category is like in both periods. Each category is
//! worked out from its own observations alone, on all processors.

mod category_stats;
mod hop;
mod sample;

pub use category_stats::CategoryStats;
pub use hop::{Hop, HopKind};
pub use sample::Sample;

use message_trace::PathError;
use out_of_core::workers;

use crate::collect::Collected;

/// All categories, in the order of their keys.
///
/// # Errors
/// When the temporary file cannot be read.
pub fn categories(collected: &Collected<'_>) -> Result<Vec<CategoryStats>, PathError> {
    let work = |partition: usize| {
        let mut all: Vec<CategoryStats> = Vec::new();
        for (key, observations) in collected.take(partition)? {
            let Some(structure) = collected.structures.get(&key) else { continue };
            all.push(CategoryStats::of(key, structure.clone(), observations, &collected.stretches));
        }
        Ok(all)
    };
    let mut categories = Vec::new();
    workers::in_order(workers::threads(), collected.partitions(), work, |_, part: Vec<_>| {
        categories.extend(part);
        Ok::<(), PathError>(())
    })?;
    categories.sort_unstable_by_key(|category| category.key);
    Ok(categories)
}
