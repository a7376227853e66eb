//! Numbers patterns by descending total time: described patterns are partitioned into the row
//! groups of the table by their numbers, and each group is sorted and encoded by itself.

use message_trace::table::{RowGroup, RowGroupWriter};
use message_trace::{DataPath, PathError, Progress};
use out_of_core::workers::run_in_order;
use out_of_core::{PartitionStore, PartitionWriter};

use super::hop_texts::HopTexts;
use super::rows::PatternRows;
use super::{rows, table};
use crate::naming::Naming;
use crate::paths::storage::bytes::{PathByteReader, put_number, put_slice};

/// Properties of a pattern that decide its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankedPattern {
    /// The total time of the pattern, in nanoseconds.
    pub(crate) total_time: f64,
    /// The number of the pattern's first instance.
    pub(crate) first: u64,
    /// Number of the pattern's messages.
    pub(crate) rows: u32,
    /// The pattern's index among all patterns in the order of description.
    pub(crate) id: u32,
}

/// Described patterns in the row groups of their table.
pub(crate) struct PatternRanking<'a> {
    groups: PartitionStore<'a, u8>,
    /// The number of the first pattern of each group, and the total number.
    firsts: Vec<u32>,
}

impl<'a> PatternRanking<'a> {
    /// Numbers the `patterns`, and returns the number of each as well. `before` is the number of
    /// patterns before each partition of `described`. They are partitioned into `groups`, of at
    /// least this many `rows` each.
    pub(crate) fn rank_patterns(
        mut patterns: Vec<RankedPattern>,
        before: &[u32],
        mut groups: PartitionStore<'a, u8>,
        described: PartitionStore<'a, u8>,
        threads: usize,
        rows: usize,
    ) -> Result<(PatternRanking<'a>, Vec<u32>), PathError> {
        patterns.sort_unstable_by(|one, other| {
            other.total_time.total_cmp(&one.total_time).then(one.first.cmp(&other.first))
        });
        let mut numbers = vec![0; patterns.len()];
        let mut firsts = Vec::new();
        let (least, mut rows) = (rows, rows);
        for (number, pattern) in (0..).zip(&patterns) {
            numbers[pattern.id as usize] = number;
            if rows >= least {
                firsts.push(number);
                rows = 0;
            }
            rows += pattern.rows as usize;
        }
        groups.add_partitions(firsts.len());
        firsts.push(patterns.len() as u32);
        drop(patterns);
        let work = |partition: usize| {
            let mut writer = PartitionWriter::new(&groups, partition);
            let mut id = before.get(partition).copied().unwrap_or_default() as usize;
            let mut record = Vec::new();
            for block in described.take_each_block(partition) {
                let block = block?;
                let mut reader = PathByteReader(&block);
                while !reader.is_empty() {
                    let number = numbers.get(id).copied().unwrap_or_default();
                    let group = firsts.partition_point(|first| *first <= number) - 1;
                    record.clear();
                    put_number(&mut record, u64::from(number));
                    put_slice(&mut record, reader.read_slice());
                    writer.partition_records(group, &record)?;
                    id += 1;
                }
            }
            writer.finish()
        };
        run_in_order(threads, described.partition_count(), work, |_, ()| Ok(()))?;
        Ok((PatternRanking { groups, firsts }, numbers))
    }

    /// Writes the table of patterns, with the names of `operations` if these are known.
    pub(crate) fn write_table(
        self,
        naming: &Naming,
        operations: Option<&[String]>,
        path: &DataPath,
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<(), PathError> {
        let texts = HopTexts::from_naming(naming, operations);
        let schema = table::pattern_schema(operations.is_some());
        let mut writer = RowGroupWriter::create(path, schema, rows::column_encoding)?;
        let encoder = writer.encoder();
        let work = |group: usize| {
            let blocks = self.groups.take_blocks(group)?;
            let range = self.firsts[group]..self.firsts[group + 1];
            let mut patterns: Vec<&[u8]> = vec![&[]; range.len()];
            for block in &blocks {
                let mut reader = PathByteReader(block);
                while !reader.is_empty() {
                    let number = reader.read_number() as u32;
                    if let Some(slot) =
                        patterns.get_mut(number.saturating_sub(range.start) as usize)
                    {
                        *slot = reader.read_slice();
                    }
                }
            }
            let mut rows = PatternRows::new(&texts, &encoder)?;
            for (number, pattern) in range.zip(patterns) {
                rows.push_pattern(number, pattern)?;
            }
            rows.finish()
        };
        run_in_order(threads, self.groups.partition_count(), work, |group, encoded: RowGroup| {
            progress.advance_step(u64::from(self.firsts[group + 1] - self.firsts[group]));
            writer.append_group(encoded)
        })?;
        writer.finish()
    }
}
