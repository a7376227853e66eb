//! Concurrency by kind: calls that one caller makes concurrently, although by chance they did not
//! overlap in every request. Section 6.2 of the paper omits concurrent calls.
//!
//! ```text
//! seen 17 times   a |------|        twice   a |---|              once   a         |-----|
//!                 b    |-----|              b       |-----|             b |----|
//! ```
//!
//! No call waited for another one here, so all 20 executions are of the same structure. The
//! evidence is the share of the executions in which a pair of calls overlapped. Executions of one
//! caller are compared if they make the same calls in any order. Of several calls of one operation
//! the first, the second and so on are distinguished, so that a loop around two concurrent calls
//! remains a loop.
//!
//! This module is independent of contexts and classes: operations and contexts are any numbers.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::tuning::{CONCURRENT_SHARE, MAX_COMPARED_CALLS};

/// Separator of groups in [`CallGroups`]; no operation has this number.
const GROUP_END: u32 = u32::MAX;

/// The calls of one execution: for each group of concurrent calls the operations in their order,
/// and [`GROUP_END`] after each group.
type CallGroups = Box<[u32]>;

/// The calls of executions in many contexts.
#[derive(Clone, Debug, Default)]
pub struct ConcurrencyByKind {
    /// By context and by the called operations, sorted.
    structures: FxHashMap<(usize, Box<[u32]>), CallStructure>,
}

/// Executions in one context that make the same calls.
#[derive(Clone, Debug, Default)]
struct CallStructure {
    /// For each grouping of the calls, how often they were made in it.
    executions: BTreeMap<CallGroups, u64>,
    /// Whether each pair of calls is concurrent by kind, row by row.
    is_concurrent: Vec<bool>,
}

impl ConcurrencyByKind {
    /// Adds `executions` executions in a context. `calls` has the operation and the group of each
    /// call, in the order of groups.
    pub fn add_executions(&mut self, context: usize, calls: &[(u32, u32)], executions: u64) {
        let (called, groups) = operations_and_groups(calls);
        let structure = self.structures.entry((context, called)).or_default();
        *structure.executions.entry(groups).or_default() += executions;
    }

    /// Finds the calls that are concurrent by kind, after all executions were added.
    pub fn find_concurrent(&mut self) {
        for ((_, called), structure) in &mut self.structures {
            structure.find_concurrent(called);
        }
    }

    /// For each of these calls, whether it is concurrent by kind with the calls of the previous
    /// group, so that both groups are one. The value is the same for all calls of a group.
    pub fn joined_calls(&self, context: usize, calls: &[(u32, u32)]) -> Vec<bool> {
        let (called, _) = operations_and_groups(calls);
        let structure = self.structures.get(&(context, called.clone()));
        let Some(structure) = structure.filter(|of| !of.is_concurrent.is_empty()) else {
            return vec![false; calls.len()];
        };
        let numbers = call_numbers(&called, calls.iter().map(|(operation, _)| *operation));
        let all: Vec<((u32, u32), usize)> = calls.iter().copied().zip(numbers).collect();
        let (mut joined, mut block) = (Vec::with_capacity(calls.len()), Vec::new());
        for group in all.chunk_by(|((_, one), _), ((_, other), _)| one == other) {
            let is_joined = group.iter().any(|(_, call)| {
                block.iter().any(|before| structure.is_concurrent(called.len(), *before, *call))
            });
            if !is_joined {
                block.clear();
            }
            block.extend(group.iter().map(|(_, call)| *call));
            joined.extend(group.iter().map(|_| is_joined));
        }
        joined
    }
}

impl CallStructure {
    fn is_concurrent(&self, calls: usize, one: usize, other: usize) -> bool {
        self.is_concurrent.get(one * calls + other).copied().unwrap_or(false)
    }

    fn find_concurrent(&mut self, called: &[u32]) {
        // If all executions have the same groups, there is nothing to join.
        if self.executions.len() < 2 || called.len() > MAX_COMPARED_CALLS {
            return;
        }
        let mut overlaps = vec![0_u64; called.len() * called.len()];
        for (groups, executions) in &self.executions {
            let operations = groups.iter().copied().filter(|word| *word != GROUP_END);
            let mut numbers = call_numbers(called, operations).into_iter();
            for group in groups.split(|word| *word == GROUP_END) {
                let calls: Vec<usize> = numbers.by_ref().take(group.len()).collect();
                for one in &calls {
                    for other in calls.iter().filter(|other| *other != one) {
                        if let Some(count) = overlaps.get_mut(one * called.len() + other) {
                            *count += executions;
                        }
                    }
                }
            }
        }
        let all: u64 = self.executions.values().sum();
        let is_most = |count: &u64| *count as f64 > CONCURRENT_SHARE * all as f64;
        self.is_concurrent = overlaps.iter().map(is_most).collect();
    }
}

/// The operations of calls in their order, and their groups.
fn operations_and_groups(calls: &[(u32, u32)]) -> (Box<[u32]>, CallGroups) {
    let mut called: Vec<u32> = calls.iter().map(|(operation, _)| *operation).collect();
    called.sort_unstable();
    let mut groups: Vec<u32> = Vec::with_capacity(2 * calls.len());
    for group in calls.chunk_by(|(_, one), (_, other)| one == other) {
        let first = groups.len();
        groups.extend(group.iter().map(|(operation, _)| *operation));
        groups.get_mut(first..).unwrap_or_default().sort_unstable();
        groups.push(GROUP_END);
    }
    (called.into(), groups.into())
}

/// The index of each call in `called`, which is sorted: the first call of an operation has the
/// first index of that operation, the second call the second.
fn call_numbers(called: &[u32], operations: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut made: FxHashMap<u32, usize> = FxHashMap::default();
    operations
        .map(|operation| {
            let before = made.entry(operation).or_default();
            let number = called.partition_point(|one| *one < operation) + *before;
            *before += 1;
            number
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u32 = 1;
    const B: u32 = 2;
    const C: u32 = 3;

    /// Calls of these groups.
    fn calls(groups: &[&[u32]]) -> Vec<(u32, u32)> {
        let of = |(group, calls): (u32, &&[u32])| {
            calls.iter().map(|call| (*call, group)).collect::<Vec<_>>()
        };
        (0..).zip(groups).flat_map(of).collect()
    }

    fn settled(executions: &[(&[&[u32]], u64)]) -> ConcurrencyByKind {
        let mut concurrency = ConcurrencyByKind::default();
        for (groups, count) in executions {
            concurrency.add_executions(7, &calls(groups), *count);
        }
        concurrency.find_concurrent();
        concurrency
    }

    /// The number of remaining groups.
    fn left(concurrency: &ConcurrencyByKind, groups: &[&[u32]]) -> usize {
        let calls = calls(groups);
        let joined = concurrency.joined_calls(7, &calls);
        let begins = |place: usize| place == 0 || calls[place].1 != calls[place - 1].1;
        (0..calls.len()).filter(|place| begins(*place) && !joined[*place]).count()
    }

    #[test]
    fn the_picture_above() {
        // The pair overlapped in 17 of 20.
        let found = settled(&[(&[&[A, B]], 17), (&[&[A], &[B]], 2), (&[&[B], &[A]], 1)]);
        assert_eq!(left(&found, &[&[A], &[B]]), 1);
        assert_eq!(left(&found, &[&[B], &[A]]), 1);
        // Another context, and other calls, are no evidence for these.
        assert_eq!(found.joined_calls(8, &calls(&[&[A], &[B]])), [false, false]);
        assert_eq!(left(&found, &[&[A], &[B], &[C]]), 3);
    }

    #[test]
    fn calls_with_rare_overlaps_are_sequential() {
        // 13 of 20 are less than two in three, 14 are more.
        let found = settled(&[(&[&[A, B]], 13), (&[&[A], &[B]], 7)]);
        assert_eq!((left(&found, &[&[A, B]]), left(&found, &[&[A], &[B]])), (1, 2));
        let found = settled(&[(&[&[A, B]], 14), (&[&[A], &[B]], 6)]);
        assert_eq!(left(&found, &[&[A], &[B]]), 1);
    }

    #[test]
    fn each_pair_of_three_concurrent_calls_counts() {
        // a and b overlapped in 14 of 20, b and c in 14, a and c in 10, all three in 10.
        let found = settled(&[
            (&[&[A, B, C]], 10),
            (&[&[A, B], &[C]], 4),
            (&[&[A], &[B, C]], 4),
            (&[&[A], &[B], &[C]], 2),
        ]);
        for groups in [&[&[A, B], &[C][..]][..], &[&[A], &[B, C]], &[&[A], &[B], &[C]]] {
            assert_eq!(left(&found, groups), 1, "{groups:?}");
        }
        // c was between them: there is no evidence that it is concurrent with a.
        assert_eq!(left(&found, &[&[A], &[C], &[B]]), 2);
    }

    #[test]
    fn sequential_calls_stay_sequential() {
        let found = settled(&[(&[&[A, B], &[C]], 9), (&[&[B], &[A], &[C]], 1)]);
        assert_eq!(left(&found, &[&[A, B], &[C]]), 2);
        assert_eq!(left(&found, &[&[B], &[A], &[C]]), 2);
        assert_eq!(left(&found, &[&[C], &[A], &[B]]), 2);
    }

    #[test]
    fn a_loop_of_concurrent_calls_stays_a_loop() {
        let found = settled(&[(&[&[A, B], &[A, B]], 9), (&[&[A], &[B], &[A, B]], 1)]);
        assert_eq!(left(&found, &[&[A, B], &[A, B]]), 2);
        assert_eq!(left(&found, &[&[A], &[B], &[A, B]]), 2);
        // One operation is called twice concurrently.
        let found = settled(&[(&[&[A, A]], 9), (&[&[A], &[A]], 1)]);
        assert_eq!(left(&found, &[&[A], &[A]]), 1);
    }

    #[test]
    fn too_many_calls_are_not_compared() {
        let many: Vec<u32> = (0..=MAX_COMPARED_CALLS as u32).collect();
        let (first, rest) = many.split_at(1);
        let found = settled(&[(&[&many], 9), (&[first, rest], 1)]);
        assert_eq!(left(&found, &[first, rest]), 2);
    }
}
