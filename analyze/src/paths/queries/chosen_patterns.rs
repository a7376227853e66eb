//! A selection of the patterns of `patterns.parquet`, since all of them may not fit in memory, nor
//! be read by people. First the totals of each pattern are read, then the hops of the selected
//! ones.

use std::cmp::Ordering;

use message_trace::{DataPath, PathError, table};

use crate::paths::patterns::pattern::PathPattern;
use crate::paths::patterns::table::{append_hops, for_each_pattern};

/// Some patterns, and the totals of all: of the table, or of those that match a filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChosenPatterns {
    /// The selected patterns, in the order of the table.
    pub patterns: Vec<PathPattern>,
    /// Number of all patterns.
    pub all: u64,
    /// Number of instances of all patterns.
    pub instances: i64,
    /// Expected number of real instances of all patterns: the sum of their probabilities.
    pub expected: f64,
    /// The sum of the total times of all patterns, in nanoseconds.
    pub total_time: f64,
}

impl ChosenPatterns {
    /// Reads the first `most` patterns of the table at `path` by `order`, which gets patterns
    /// without hops. Equal patterns are in the order of the table.
    ///
    /// # Errors
    /// If the table cannot be read, or is not a table of patterns.
    pub fn read(
        path: impl Into<DataPath>,
        most: usize,
        order: impl Fn(&PathPattern, &PathPattern) -> Ordering,
    ) -> Result<ChosenPatterns, PathError> {
        let path = &path.into();
        ChosenPatterns::read_wanted(path, most, order, |_| true)
    }

    /// Reads patterns as [`ChosenPatterns::read`] does, but only those with `wanted` numbers.
    ///
    /// # Errors
    /// As for [`ChosenPatterns::read`].
    pub(crate) fn read_wanted(
        path: &DataPath,
        most: usize,
        order: impl Fn(&PathPattern, &PathPattern) -> Ordering,
        wanted: impl Fn(i64) -> bool,
    ) -> Result<ChosenPatterns, PathError> {
        let mut chosen = ChosenPatterns::default();
        let mut best: Vec<PathPattern> = Vec::new();
        for_each_pattern(path, |pattern| {
            if wanted(pattern.id) {
                chosen.count_pattern(&pattern);
                best.push(pattern);
                if best.len() >= most.saturating_mul(2).max(64 * 1024) {
                    prune_patterns(&mut best, most, &order);
                }
            }
        })?;
        prune_patterns(&mut best, most, &order);
        let mut wanted: Vec<i64> = best.into_iter().map(|pattern| pattern.id).collect();
        wanted.sort_unstable();
        chosen.patterns = read_with_hops(path, &wanted)?;
        Ok(chosen)
    }

    /// Counts a pattern in the totals of all.
    pub(crate) fn count_pattern(&mut self, pattern: &PathPattern) {
        self.all += 1;
        self.instances = self.instances.saturating_add(pattern.count);
        self.expected += pattern.expected;
        self.total_time += pattern.total_time;
    }
}

/// Reduces `patterns` to the first `most` by `order`; of equal ones the first.
pub(crate) fn prune_patterns(
    patterns: &mut Vec<PathPattern>,
    most: usize,
    order: impl Fn(&PathPattern, &PathPattern) -> Ordering,
) {
    // Sorting is stable.
    patterns.sort_by(order);
    patterns.truncate(most);
}

/// Reads the patterns of the table at `path` with these numbers, which ascend.
pub(crate) fn read_with_hops(
    path: &DataPath,
    wanted: &[i64],
) -> Result<Vec<PathPattern>, PathError> {
    let mut patterns = Vec::new();
    let Some(last) = wanted.last() else { return Ok(patterns) };
    for batch in table::read_batches(path)? {
        let is_wanted = |id: i64| wanted.binary_search(&id).is_ok();
        if append_hops(path, &batch?, &mut patterns, is_wanted)? > Some(*last) {
            break;
        }
    }
    Ok(patterns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::{Fixture, collected};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_first_of_all_patterns_are_chosen_and_all_are_counted(
            trees in proptest::collection::vec((1u32..10, 0u32..6, 1u32..4), 0..40),
            most in 0usize..20,
            by_count in any::<bool>(),
        ) {
            let mut trace = Fixture::new();
            for message in 0..10 {
                trace.send("a", &format!("b{message}"), 10 * message, 10 * message + 7 % (message + 1));
            }
            let trees: Vec<(f64, Vec<(u32, u32)>)> = trees
                .into_iter()
                .map(|(weight, first, length)| {
                    (f64::from(weight) / 10.0, (0..length).map(|depth| (first + depth, depth)).collect())
                })
                .collect();
            let trees: Vec<(f64, &[(u32, u32)])> = trees.iter().map(|(p, tree)| (*p, tree.as_slice())).collect();
            let (_directory, dir) = collected(&trace.trace(), &trees);

            let mut all = PathPattern::read_all(dir.patterns_path()).unwrap();
            let order = |one: &PathPattern, other: &PathPattern| {
                if by_count { other.count.cmp(&one.count) } else { other.total_time.total_cmp(&one.total_time) }
            };
            let chosen = ChosenPatterns::read(dir.patterns_path(), most, order).unwrap();
            prop_assert_eq!(chosen.all, all.len() as u64);
            prop_assert_eq!(chosen.instances as usize, trees.len());
            prop_assert_eq!(chosen.expected, all.iter().fold(0.0, |sum, one| sum + one.expected));
            prop_assert_eq!(chosen.total_time, all.iter().fold(0.0, |sum, one| sum + one.total_time));
            all.sort_by(order);
            all.truncate(most);
            all.sort_by_key(|pattern| pattern.id);
            prop_assert_eq!(chosen.patterns, all);
        }
    }
}
