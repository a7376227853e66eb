//! A spillable vector behaves like a vector, with little of it in memory.

use std::path::Path;

use super::*;
use crate::tuning::ALWAYS_IN_MEMORY_BYTES;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum VecStep {
    Push(u32),
    Extend(Vec<u32>),
    Resize(usize, u32),
    Truncate(usize),
    Set(usize, u32),
    Add(usize, usize),
    Retain(u32),
    Sort(usize),
}

fn any_step() -> impl Strategy<Value = VecStep> {
    prop_oneof![
        any::<u32>().prop_map(VecStep::Push),
        prop::collection::vec(any::<u32>(), 0..5_000).prop_map(VecStep::Extend),
        (0usize..60_000, any::<u32>()).prop_map(|(len, value)| VecStep::Resize(len, value)),
        (0usize..60_000).prop_map(VecStep::Truncate),
        (any::<usize>(), any::<u32>()).prop_map(|(at, value)| VecStep::Set(at, value)),
        (0usize..60_000, 0usize..60_000).prop_map(|(from, to)| VecStep::Add(from, to)),
        (1u32..5).prop_map(VecStep::Retain),
        (1usize..5_000).prop_map(VecStep::Sort),
    ]
}

proptest! {
    /// After any operations, in memory or in a file, it has the same rows as a `Vec`.
    #[test]
    fn it_is_a_vector(steps in prop::collection::vec(any_step(), 1..30), memory in prop_oneof![0u64..100_000, Just(u64::MAX)]) {
        let directory = tempfile::tempdir().unwrap();
        let tables = MemoryPool::new(memory, directory.path());
        let mut column = SpillableVec::new(&tables);
        let mut rows: Vec<u32> = Vec::new();
        for step in steps {
            match step {
                VecStep::Push(value) => {
                    column.push(value).unwrap();
                    rows.push(value);
                }
                VecStep::Extend(values) => {
                    column.extend(values.iter().copied()).unwrap();
                    rows.extend(values);
                }
                VecStep::Resize(len, value) => {
                    column.resize(len, value).unwrap();
                    rows.resize(len, value);
                }
                VecStep::Truncate(len) => {
                    column.truncate(len);
                    rows.truncate(len);
                }
                VecStep::Set(at, value) => {
                    let at = at % (rows.len() + 1);
                    prop_assert_eq!(column.get(at), rows.get(at));
                    if at < rows.len() {
                        column[at] = value;
                        rows[at] = value;
                    }
                }
                VecStep::Add(from, to) => {
                    column.for_each_mut(from..to, |row| *row = row.wrapping_add(1));
                    let (to, len) = (to.min(rows.len()), rows.len());
                    rows[from.min(len).min(to)..to].iter_mut().for_each(|row| *row = row.wrapping_add(1));
                    prop_assert_eq!(column.slice(from..to), &rows[from.min(to)..to]);
                    prop_assert!(column.range(from..to).rev().eq(rows[from.min(to)..to].iter().rev()));
                }
                VecStep::Retain(part) => {
                    column.retain(|row| row % part == 0);
                    rows.retain(|row| row % part == 0);
                }
                VecStep::Sort(most) => {
                    // The key is a part of the row, to show that the sort is stable.
                    column.sort_runs_by_key(most, |row| row % 1_000).unwrap();
                    rows.sort_by_key(|row| row % 1_000);
                    let middle = rows.partition_point(|row| row % 1_000 < 500);
                    prop_assert_eq!(column.partition_point(0..rows.len(), |row| row % 1_000 < 500), middle);
                    prop_assert_eq!(column.end_where(0, |row| row % 1_000 < 500), middle);
                }
            }
            prop_assert!(column.iter().eq(&rows));
            prop_assert_eq!(column.len(), rows.len());
        }
        let is_in_file = matches!(column.storage, VecStorage::File(..));
        prop_assert!(memory > 0 || is_in_file || size_of_val(rows.as_slice()) <= ALWAYS_IN_MEMORY_BYTES);
        drop(column);
        prop_assert_eq!(tables.in_memory(), 0);
    }
}

/// Number of bytes of mapped files in this process's memory.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let of_files = lines.filter(|(name, _)| ["RssFile", "RssShmem"].contains(name));
    of_files
        .map(|(_, size)| size.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10)
        .sum()
}

#[test]
fn memory_is_bounded_for_any_length() {
    const ROWS: usize = 12 << 20;
    let directory = tempfile::tempdir().unwrap();
    let tables = MemoryPool::new(16 << 20, directory.path());
    let before = resident_bytes();
    let mut column: SpillableVec<u64> = SpillableVec::new(&tables);
    let mut most = 0;
    let value = |row: usize| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for row in 0..ROWS {
        column.push(value(row)).unwrap();
        if row % (1 << 16) == 0 {
            most = most.max(resident_bytes());
        }
    }
    // Sequential and random access.
    for at in 0..ROWS {
        assert_eq!(column[at], value(at));
        if at % (1 << 7) == 0 {
            let anywhere = at.wrapping_mul(0x9e37_79b9) % ROWS;
            assert_eq!(column[anywhere], value(anywhere));
        }
        if at % (1 << 16) == 0 {
            most = most.max(resident_bytes());
        }
    }
    column.sort_by_key(|row| *row).unwrap();
    most = most.max(resident_bytes());
    assert!(column.iter().is_sorted());
    most = most.max(resident_bytes());
    // A quarter of the memory, the blocks that a thread does not count again, and the run that is
    // being sorted.
    assert!(most < before + (40 << 20), "{} MB of {} MB", (most - before) >> 20, (8 * ROWS) >> 20);
    assert!(tables.in_memory() <= 8 << 20);
}

#[test]
fn several_threads_may_read_concurrently() {
    let directory = tempfile::tempdir().unwrap();
    let tables = MemoryPool::new(0, directory.path());
    let column = SpillableVec::collect(&tables, 0..1u64 << 20).unwrap();
    std::thread::scope(|scope| {
        // Meanwhile all pages are repeatedly returned to the kernel.
        scope.spawn(|| (0..2_000).for_each(|_| tables.count_arrived(1 << 20)));
        for thread in 0..4 {
            let column = &column;
            scope.spawn(move || {
                for at in 0..1usize << 18 {
                    let at = at.wrapping_mul(0x9e37_79b9 + 2 * thread) % column.len();
                    assert_eq!(column[at], at as u64);
                }
            });
        }
    });
}

#[test]
fn a_full_disk_is_an_error() {
    let tables = MemoryPool::new(0, Path::new("/nonexistent/here"));
    let error = SpillableVec::filled(&tables, 10_000, 0u8).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/here"), "{error}");
    let directory = tempfile::tempdir().unwrap();
    let file = tempfile::tempfile_in(directory.path()).unwrap();
    assert!(MappedFile::new(file, 1 << 60).is_err(), "there is no disk of an exabyte");
}
