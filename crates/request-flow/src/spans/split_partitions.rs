//! Splits partitions with more bytes than a limit into smaller ones, so that memory for one of them
//! does not grow with the number of spans.
//!
//! Each record has a key. A partition is split by its keys, estimated from a sample of its blocks,
//! so that each part gets about the same number of bytes:
//!
//! ```text
//! partition 7, 12 MB   [ keys 0 to 900 ]            limit 4 MB
//! becomes              [ 0.. | 310.. | 620.. ]      three new partitions, in order of keys
//! ```

use message_trace::PathError;
use out_of_core::workers;
use out_of_core::{PartitionStore, PartitionWriter};

use crate::tuning::{REFINEMENTS, SAMPLED_BLOCKS};

/// Takes the first record from `bytes`: its key and all of its bytes. `None` at the end.
pub(super) type NextRecord = for<'b> fn(&mut &'b [u8]) -> Option<(i64, &'b [u8])>;

/// Splits partitions of more than `limit` bytes into smaller ones. Returns the numbers of all
/// resulting partitions; those from one partition are adjacent, in order of keys. Records with
/// equal keys stay together and in their order.
///
/// # Errors
/// If the temporary file cannot be read or written.
pub(super) fn split_large_partitions(
    store: &mut PartitionStore<'_, u8>,
    limit: usize,
    next: NextRecord,
) -> Result<Vec<usize>, PathError> {
    let mut order: Vec<usize> = (0..store.partition_count()).collect();
    for _ in 0..REFINEMENTS {
        let mut splits = Vec::new();
        for &partition in &order {
            let bytes = store.partition_bytes(partition);
            if bytes <= limit {
                continue;
            }
            let parts = bytes.div_ceil(limit);
            let bounds = split_bounds(store, partition, parts, next)?;
            if !bounds.is_empty() {
                let first = store.partition_count();
                store.add_partitions(bounds.len() + 1);
                splits.push(PartitionSplit { partition, first, bounds });
            }
        }
        if splits.is_empty() {
            break;
        }
        let store = &*store;
        let work = |split: usize| {
            splits.get(split).map_or(Ok(()), |split| split.split_partition(store, next))
        };
        workers::run_in_order(workers::thread_count(), splits.len(), work, |_, ()| {
            Ok::<(), PathError>(())
        })?;
        let mut splits = splits.iter().peekable();
        let mut refined = Vec::with_capacity(store.partition_count());
        for partition in order {
            match splits.next_if(|split| split.partition == partition) {
                Some(split) => refined.extend(split.first..=split.first + split.bounds.len()),
                None => refined.push(partition),
            }
        }
        order = refined;
    }
    Ok(order)
}

/// How a partition is split into new ones.
struct PartitionSplit {
    partition: usize,
    /// Number of the new partition with the lowest keys; the other new ones follow it.
    first: usize,
    /// The first key of each new partition but the first.
    bounds: Vec<i64>,
}

impl PartitionSplit {
    fn split_partition(
        &self,
        store: &PartitionStore<'_, u8>,
        next: NextRecord,
    ) -> Result<(), PathError> {
        let mut writer = PartitionWriter::new(store, self.partition);
        for block in store.take_each_block(self.partition) {
            let block = block?;
            let mut rest = block.as_slice();
            while let Some((key, record)) = next(&mut rest) {
                let part = self.bounds.partition_point(|bound| *bound <= key);
                writer.partition_records(self.first + part, record)?;
            }
        }
        writer.finish()
    }
}

/// Returns the keys that divide the bytes of the partition into about equal `parts`; fewer parts if
/// many keys are equal.
fn split_bounds(
    store: &PartitionStore<'_, u8>,
    partition: usize,
    parts: usize,
    next: NextRecord,
) -> Result<Vec<i64>, PathError> {
    let blocks = store.order_blocks(partition);
    let mut keys: Vec<(i64, usize)> = Vec::new();
    let mut block = Vec::new();
    for number in (0..blocks).step_by(blocks.div_ceil(SAMPLED_BLOCKS).max(1)) {
        store.read_records(partition, number, 0, usize::MAX, &mut block)?;
        let mut rest = block.as_slice();
        keys.extend(std::iter::from_fn(|| next(&mut rest)).map(|(key, of)| (key, of.len())));
    }
    keys.sort_unstable();
    let total: usize = keys.iter().map(|(_, bytes)| bytes).sum();
    let mut bounds: Vec<i64> = Vec::with_capacity(parts);
    let mut passed = 0;
    for (key, bytes) in &keys {
        // The first key is the lowest: nothing would lie before a bound there.
        let is_new = bounds.last().or(keys.first().map(|(first, _)| first)) != Some(key);
        if is_new && passed * parts >= total * (bounds.len() + 1) {
            bounds.push(*key);
        }
        passed += bytes;
    }
    Ok(bounds)
}

#[cfg(test)]
mod tests {
    use out_of_core::MemoryBudget;

    use super::*;

    /// Takes a test record: its key, its length and its number, each 8 bytes, and padding.
    fn next<'b>(bytes: &mut &'b [u8]) -> Option<(i64, &'b [u8])> {
        let key = i64::from_le_bytes(*bytes.first_chunk()?);
        let length = u64::from_le_bytes(*bytes.get(8..)?.first_chunk()?) as usize;
        let (record, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some((key, record))
    }

    fn record(key: i64, length: usize, number: u64) -> Vec<u8> {
        let mut record =
            [key.to_le_bytes(), (length as u64).to_le_bytes(), number.to_le_bytes()].concat();
        record.resize(length, 7);
        record
    }

    /// Returns the keys and numbers in each partition, after splitting.
    fn refined(records: &[Vec<u8>], memory: u64, limit: usize) -> Vec<Vec<(i64, u64)>> {
        let directory = tempfile::tempdir().unwrap();
        let budget = MemoryBudget::new(memory);
        let mut store = PartitionStore::new(&budget, directory.path(), 2);
        let mut writer = PartitionWriter::new(&store, 0);
        for record in records {
            let (key, _) = next(&mut record.as_slice()).unwrap();
            writer.partition_records(usize::from(key >= 500), record).unwrap();
        }
        writer.finish().unwrap();
        let order = split_large_partitions(&mut store, limit, next).unwrap();
        let content = |partition: usize| {
            let bytes = store.take_blocks(partition).unwrap().concat();
            let mut rest = bytes.as_slice();
            let mut list = Vec::new();
            while let Some((key, record)) = next(&mut rest) {
                list.push((key, u64::from_le_bytes(*record[16..].first_chunk().unwrap())));
            }
            assert!(rest.is_empty());
            list
        };
        order.into_iter().map(content).collect()
    }

    #[test]
    fn parts_are_small_and_in_order_of_keys_and_nothing_is_lost() {
        // Keys in a mixed order, each three or four times.
        let records: Vec<Vec<u8>> = (0..10_000_u64)
            .map(|number| {
                record((number * 7_919 % 3_000) as i64, 100 + number as usize % 50, number)
            })
            .collect();
        let parts = refined(&records, u64::MAX, 100_000);
        assert_eq!(parts, refined(&records, 0, 100_000), "in memory or not");
        assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), 10_000);
        assert!(parts.len() >= 13, "1.25 MB in parts of 100 kB: {}", parts.len());
        for part in &parts {
            assert!(part.len() < 1_600, "{}: twice the limit", part.len());
        }
        for pair in parts.windows(2).filter(|pair| !pair[0].is_empty() && !pair[1].is_empty()) {
            assert!(pair[0].iter().max().unwrap().0 < pair[1].iter().min().unwrap().0);
        }
        // Stable: equal keys are in the order of their numbers.
        for part in &parts {
            for key in part.iter().map(|(key, _)| *key) {
                let numbers: Vec<u64> =
                    part.iter().filter(|(other, _)| *other == key).map(|(_, of)| *of).collect();
                assert!(numbers.is_sorted());
            }
        }
        let mut numbers: Vec<u64> = parts.iter().flatten().map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..10_000));
    }

    #[test]
    fn records_with_one_key_are_not_split() {
        let records: Vec<Vec<u8>> = (0..100).map(|number| record(3, 1_000, number)).collect();
        let parts = refined(&records, 0, 5_000);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [100, 0]);
        // Next to another key, it alone is too large.
        let records: Vec<Vec<u8>> =
            (0..100).map(|number| record(i64::from(number == 40), 1_000, number)).collect();
        let parts = refined(&records, 0, 5_000);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [99, 1, 0]);
    }
}
