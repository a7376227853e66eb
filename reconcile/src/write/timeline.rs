//! The timeline: the messages of all flows, sorted by time and written.
//!
//! A sample of all rows determines how time is cut into batches of about as many messages as one
//! group of the table holds. Rows are distributed over the batches, and then each batch is
//! sorted and encoded independently. So nothing is merged, all processors work, and each of them
//! has only one batch in memory.

use std::fmt;
use std::path::{Path, PathBuf};

use message_trace::table::{GROUP_ROWS, GroupEncoder, GroupWriter, MessageTexts, RowGroup};
use message_trace::{DataPath, EndpointId, PathError, Progress};
use out_of_core::{ExternalSorter, MemoryBudget, PartitionStore, PartitionWriter, workers};

use crate::rows::imported_row::ImportedRow;
use crate::rows::message_span::MessageSpan;
use crate::rows::operation_start::OperationStart;
use crate::rows::row::{CommonClock, MessageRow, RowKey};
use crate::rows::row_sink::{RowSink, StoredRows};
use crate::tuning::ROWS_A_SAMPLE;
use crate::write::call_ids::CallIdFile;
use crate::write::entity_tables::EntityTables;

/// The rows of all partitions, before they have an order.
pub(crate) struct PartitionedRows<'a> {
    budget: &'a MemoryBudget,
    directory: PathBuf,
    store: PartitionStore<'a, MessageRow>,
    /// First slot of each partition's rows among all slots.
    begins: Vec<u32>,
    /// Some rows of each partition, with its number.
    sample: Vec<(u32, MessageRow)>,
    imported: PartitionStore<'a, ImportedRow>,
    imported_sample: Vec<ImportedRow>,
    /// Number of rows, including imported ones.
    count: u64,
}

/// Sorters of the keys by which other passes join their records with messages; `None` if no log has
/// such records.
pub(crate) struct MessageSorters<'a> {
    /// Messages that begin operations.
    pub(crate) begun: Option<ExternalSorter<'a, OperationStart>>,
    /// All messages, at each end that saw them.
    pub(crate) spans: Option<ExternalSorter<'a, MessageSpan>>,
}

/// Records for [`MessageSorters`], of a batch of messages.
#[derive(Default)]
struct BatchRecords {
    begun: Vec<OperationStart>,
    spans: Vec<MessageSpan>,
}

/// Inputs of writing rows.
pub(crate) struct RowWriting<'a, 'b> {
    pub(crate) output: &'a EntityTables<'b>,
    pub(crate) common: &'a CommonClock<'a>,
    pub(crate) calls: Option<&'a CallIdFile>,
    pub(crate) threads: usize,
    pub(crate) progress: &'a dyn Progress,
}

impl<'a> PartitionedRows<'a> {
    pub(crate) fn new(budget: &'a MemoryBudget, directory: &Path) -> PartitionedRows<'a> {
        PartitionedRows {
            budget,
            directory: directory.to_owned(),
            store: PartitionStore::new(budget, directory, 0),
            begins: Vec::new(),
            sample: Vec::new(),
            imported: PartitionStore::new(budget, directory, 0),
            imported_sample: Vec::new(),
            count: 0,
        }
    }

    /// Adds `partitions` partitions. Returns the number of the first.
    /// [`PartitionedRows::set_begin`] sets later where their slots begin.
    pub(crate) fn add_partitions(&mut self, partitions: usize) -> usize {
        let first = self.begins.len();
        self.begins.resize(first + partitions, 0);
        self.store.add_partitions(partitions);
        first
    }

    /// The sink for the rows of a partition. Its [`StoredRows`] have to be added.
    pub(crate) fn row_sink(&self, partition: usize) -> RowSink<'_, 'a> {
        RowSink::new(&self.store, partition)
    }

    /// Adds the summaries of partitions. `first` is the first of them; the others follow it.
    pub(crate) fn add_stored(&mut self, first: usize, taken: Vec<StoredRows>) {
        for (partition, taken) in (first as u32..).zip(taken) {
            self.count += taken.count;
            self.sample.extend(taken.sample.into_iter().map(|row| (partition, row)));
        }
    }

    /// Adds imported rows.
    pub(crate) fn add_imported(&mut self, rows: Vec<ImportedRow>) -> Result<(), PathError> {
        self.count += rows.len() as u64;
        self.imported_sample.extend(rows.iter().step_by(ROWS_A_SAMPLE));
        self.imported.push_partition(rows)
    }

    /// Sets the first slot of a partition's rows.
    pub(crate) fn set_begin(&mut self, partition: usize, begin: u32) {
        if let Some(slot) = self.begins.get_mut(partition) {
            *slot = begin;
        }
    }

    /// The keys between the batches.
    fn boundaries(&self, output: &EntityTables, common: &CommonClock) -> Vec<RowKey> {
        let own = self.sample.iter().map(|(partition, row)| {
            let begin = self.begins.get(*partition as usize).copied().unwrap_or(0);
            row.row_key(&output.slots[(begin + row.slot) as usize], common)
        });
        let imported = self.imported_sample.iter();
        let imported =
            imported.map(|row| row.row_key(&output.slots[row.row.slot as usize], common));
        let mut keys: Vec<RowKey> = own.chain(imported).collect();
        keys.sort_unstable();
        let mut boundaries: Vec<RowKey> =
            keys.chunks(GROUP_ROWS / ROWS_A_SAMPLE).skip(1).map(|chunk| chunk[0]).collect();
        boundaries.dedup();
        boundaries
    }

    /// Writes the rows to `path`, sorted by the common time. The keys by which other passes join
    /// records with messages go to `sorters`.
    pub(crate) fn write_table(
        self,
        path: &DataPath,
        writing: &RowWriting,
        sorters: &mut MessageSorters,
    ) -> Result<(), PathError> {
        let RowWriting { output, common, threads, progress, .. } = *writing;
        progress.begin_step("sorting messages", self.count);
        let boundaries = self.boundaries(output, common);
        let many = boundaries.len() + 1;
        let batches = RowBatches {
            own: PartitionStore::new(self.budget, &self.directory, many),
            imported: PartitionStore::new(self.budget, &self.directory, many),
        };
        let mut counts = vec![0u64; many];
        let partitions = self.begins.len();
        let distribute = |piece: usize| {
            let mut counts = vec![0u64; many];
            let mut finder = BatchFinder { boundaries: &boundaries, latest: 0 };
            if let Some(piece) = piece.checked_sub(partitions) {
                let mut partitioner = PartitionWriter::new(&batches.imported, piece);
                for row in self.imported.take_blocks(piece)?.into_iter().flatten() {
                    let batch = finder
                        .find_batch(row.row_key(&output.slots[row.row.slot as usize], common));
                    counts[batch] += 1;
                    partitioner.partition_record(batch, row)?;
                }
                partitioner.finish()?;
                return Ok(counts);
            }
            let begin = self.begins[piece];
            let mut partitioner = PartitionWriter::new(&batches.own, piece);
            for block in self.store.take_each_block(piece) {
                for row in block? {
                    let row = MessageRow { slot: begin + row.slot, ..row };
                    let batch =
                        finder.find_batch(row.row_key(&output.slots[row.slot as usize], common));
                    counts[batch] += 1;
                    partitioner.partition_record(batch, row)?;
                }
            }
            partitioner.finish()?;
            Ok(counts)
        };
        workers::run_in_order(
            threads,
            partitions + self.imported.partition_count(),
            distribute,
            |_, of_piece: Vec<u64>| {
                progress.advance_step(of_piece.iter().sum());
                counts.iter_mut().zip(of_piece).for_each(|(count, more)| *count += more);
                Ok::<_, PathError>(())
            },
        )?;

        progress.begin_step("writing messages", self.count);
        let mut firsts = Vec::with_capacity(counts.len());
        let mut first = 0;
        for count in &counts {
            firsts.push(first);
            first += *count as i64;
        }
        let mut writer = GroupWriter::create(path)?;
        let encoder = writer.encoder();
        let wanted = [sorters.begun.is_some(), sorters.spans.is_some()];
        let encode = |batch: usize| {
            let mut records = BatchRecords::default();
            let first = firsts[batch];
            let groups =
                batches.encode_batch(batch, &encoder, first, writing, (wanted, &mut records))?;
            Ok::<_, PathError>((groups, records))
        };
        workers::run_in_order(
            threads,
            many,
            encode,
            |batch, (groups, records): (Vec<RowGroup>, BatchRecords)| {
                progress.advance_step(counts[batch]);
                if let Some(begun) = &mut sorters.begun {
                    records.begun.into_iter().try_for_each(|one| begun.push(one))?;
                }
                if let Some(spans) = &mut sorters.spans {
                    records.spans.into_iter().try_for_each(|one| spans.push(one))?;
                }
                groups.into_iter().try_for_each(|group| writer.append_group(group))
            },
        )?;
        writer.finish()
    }
}

/// Finds the batches of keys. Most keys are in the batch of the previous key.
struct BatchFinder<'a> {
    /// The first key of each batch except the first batch.
    boundaries: &'a [RowKey],
    /// The batch of the previous key.
    latest: usize,
}

impl BatchFinder<'_> {
    /// The number of the batch to which a key belongs.
    #[inline]
    fn find_batch(&mut self, key: RowKey) -> usize {
        let before = self.latest.checked_sub(1).and_then(|before| self.boundaries.get(before));
        let end = self.boundaries.get(self.latest);
        if before.is_some_and(|boundary| key < *boundary)
            || end.is_some_and(|boundary| *boundary <= key)
        {
            self.latest = self.boundaries.partition_point(|boundary| *boundary <= key);
        }
        self.latest
    }
}

/// Rows by batch of time.
struct RowBatches<'a> {
    own: PartitionStore<'a, MessageRow>,
    imported: PartitionStore<'a, ImportedRow>,
}

impl RowBatches<'_> {
    /// Sorts and encodes the rows of one batch; in several groups if more rows are of one moment
    /// than a group holds. If wanted, `records` get the rows that begin operations (`with_begun`),
    /// and the spans of all rows (`with_spans`). `first` is the number of the first message.
    fn encode_batch(
        &self,
        batch: usize,
        encoder: &GroupEncoder,
        first: i64,
        writing: &RowWriting,
        ([with_begun, with_spans], records): ([bool; 2], &mut BatchRecords),
    ) -> Result<Vec<RowGroup>, PathError> {
        let RowWriting { output, common, .. } = *writing;
        let (own, imported) =
            (self.own.take_blocks(batch)?.concat(), self.imported.take_blocks(batch)?.concat());
        let slot = |row: &MessageRow| &output.slots[row.slot as usize];
        // Rows of one flow and direction at one time stay in their order. Imported ones are ordered
        // by their content, as files may have them in any order.
        let keys = own.iter().map(|row| row.row_key(slot(row), common));
        let keys = keys.chain(imported.iter().map(|row| row.row_key(slot(&row.row), common)));
        let mut order: Vec<(RowKey, u32)> = keys.zip(0..).collect();
        order.sort_unstable();
        if !imported.is_empty() {
            let row = |at: u32| imported.get((at as usize).checked_sub(own.len())?);
            let equal = order.chunk_by_mut(|(one, _), (other, _)| one == other);
            for equal in equal.filter(|equal| equal.len() > 1) {
                equal.sort_by_cached_key(|(_, at)| row(*at).map(ImportedRow::tie_breaker));
            }
        }
        let of_own = || {
            let rows = (first as u64..).zip(&order);
            let rows = rows.filter_map(|(number, (_, at))| Some((number, own.get(*at as usize)?)));
            rows.flat_map(|(number, row)| [0, 1].map(|side| (number, row, side)))
        };
        if with_begun {
            records
                .begun
                .extend(of_own().filter_map(|(number, row, side)| {
                    row.operation_start(slot(row), side, number)
                }));
        }
        if with_spans {
            records.spans.extend(
                of_own()
                    .filter_map(|(number, row, side)| row.message_span(slot(row), side, number)),
            );
        }
        let mut groups = Vec::new();
        for (number, chunk) in order.chunks(2 * GROUP_ROWS).enumerate() {
            let import = |at: usize| {
                (chunk[at].1 as usize).checked_sub(own.len()).map(|place| &imported[place])
            };
            let message = |at: usize| match import(at) {
                None => {
                    let row = &own[chunk[at].1 as usize];
                    row.to_message(slot(row), output.connection_setup(row), common)
                }
                Some(row) => row.to_message(slot(&row.row), common),
            };
            let mut calls = Vec::new();
            if let Some(reader) = writing.calls.filter(|_| !imported.is_empty()) {
                let mut reader = reader.reader();
                for at in 0..chunk.len() {
                    calls.push(import(at).map_or(Ok(None), |row| reader.get(row.call))?);
                }
            }
            let first = first + (2 * GROUP_ROWS * number) as i64;
            groups.push(encoder.encode_group(
                first,
                chunk.len(),
                message,
                &EntityTexts { output, calls },
            )?);
        }
        Ok(groups)
    }
}

/// The texts of the messages of a group.
struct EntityTexts<'a, 'b> {
    output: &'a EntityTables<'b>,
    calls: Vec<Option<String>>,
}

impl MessageTexts for EntityTexts<'_, '_> {
    fn write_endpoint(&self, id: EndpointId, text: &mut impl fmt::Write) {
        self.output.write_endpoint(id, text);
    }

    fn call_id(&self, row: usize) -> Option<&str> {
        self.calls.get(row)?.as_deref()
    }
}
