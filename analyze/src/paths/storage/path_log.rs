//! The instances as rows of `paths.parquet`, one row per message in depth-first order: kept in the
//! order in which they were built until the numbers of their patterns are known, and then written.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array};
use message_trace::table::{RowGroup, RowGroupEncoder, RowGroupWriter};
use message_trace::{DataPath, MessageId, PathError, Progress};
use out_of_core::workers::run_in_order;
use out_of_core::{MemoryBudget, PartitionStore};

use super::bytes::{PathByteReader, put_float, put_number, put_signed};
use super::path_table;
use crate::tuning::paths::path_log::{BLOCK_BYTES, ROWS_AT_ONCE};

/// Bit below the depth of a message: the sender waited for the connection.
const CONNECTING: u64 = 1;
/// Bit below the depth of a message: the message is known to be a response.
const OUTCOME: u64 = 2;
/// Bit below the depth of a message: the response reports a failure.
const ERROR: u64 = 4;
/// Number of these bits.
const FLAG_BITS: u32 = 3;

/// A block of instances, as bytes. An instance is: varint number of messages, f64 probability, and
/// for each message varint depth << 3 | bits, signed varint connect time in nanoseconds (if
/// [`CONNECTING`] is set), signed varint number of the message minus that of the previous one.
#[derive(Default)]
pub(crate) struct PathBlock {
    bytes: Vec<u8>,
    instances: u64,
    rows: usize,
    /// The number of the last root, relative to which the next root is stored.
    root: i64,
}

/// Writes instances into blocks.
pub(crate) struct PathLogger {
    /// Number of messages of the trace before this batch, by which message numbers are shifted.
    before: i64,
    /// The block that is being filled.
    block: PathBlock,
    /// The blocks before it.
    full: Vec<PathBlock>,
}

impl PathLogger {
    pub(crate) fn new(before: u64) -> PathLogger {
        PathLogger { before: before as i64, block: PathBlock::default(), full: Vec::new() }
    }

    /// Adds a tree of messages with their depths. `connecting` are the nanoseconds for which each
    /// sender waited for its connection. `is_error` returns for a response whether its call failed;
    /// `None` if the message is not known to be a response.
    pub(crate) fn push_tree(
        &mut self,
        tree: &[(MessageId, u32)],
        connecting: &[i64],
        is_error: impl Fn(MessageId) -> Option<bool>,
        probability: f64,
    ) {
        let PathBlock { bytes, instances, rows, root } = &mut self.block;
        put_number(bytes, tree.len() as u64);
        put_float(bytes, probability);
        let mut last = *root;
        for (place, ((message, depth), connecting)) in tree.iter().zip(connecting).enumerate() {
            let outcome = match is_error(*message) {
                None => 0,
                Some(is_error) => OUTCOME | if is_error { ERROR } else { 0 },
            };
            let message = self.before + message.index() as i64;
            let flags = outcome | if *connecting > 0 { CONNECTING } else { 0 };
            put_number(bytes, u64::from(*depth) << FLAG_BITS | flags);
            if *connecting > 0 {
                put_signed(bytes, *connecting);
            }
            put_signed(bytes, message - last);
            last = message;
            if place == 0 {
                *root = message;
            }
        }
        *instances += 1;
        *rows += tree.len();
        if bytes.len() >= BLOCK_BYTES {
            self.full.push(std::mem::take(&mut self.block));
        }
    }

    /// Returns the blocks, in order.
    pub(crate) fn finish(mut self) -> Vec<PathBlock> {
        if self.block.instances > 0 {
            self.full.push(self.block);
        }
        self.full
    }
}

/// All instances, in blocks.
pub(crate) struct PathLog<'a> {
    /// One block per partition.
    store: PartitionStore<'a, u8>,
    /// Number of instances and rows of each block.
    sizes: Vec<(u64, usize)>,
}

impl<'a> PathLog<'a> {
    pub(crate) fn new(budget: &'a MemoryBudget, directory: &Path) -> PathLog<'a> {
        PathLog { store: PartitionStore::new(budget, directory, 0), sizes: Vec::new() }
    }

    /// Appends a block.
    pub(crate) fn push_block(&mut self, block: PathBlock) -> Result<(), PathError> {
        self.sizes.push((block.instances, block.rows));
        self.store.push_partition(block.bytes.as_slice().to_vec())
    }

    /// Writes the table of paths, with the number of each instance's pattern, in row groups of
    /// about this many `rows`. `has_operations` is whether operations are known for any message.
    pub(crate) fn write_table(
        self,
        patterns: &[u32],
        has_operations: bool,
        path: &DataPath,
        threads: usize,
        rows: usize,
        progress: &dyn Progress,
    ) -> Result<(), PathError> {
        let groups = self.row_groups(rows);
        let mut writer = RowGroupWriter::create(
            path,
            path_table::path_schema(has_operations),
            path_table::column_encoding,
        )?;
        let encoder = writer.encoder();
        let work =
            |group: usize| self.encode_group(&groups[group], patterns, has_operations, &encoder);
        run_in_order(threads, groups.len(), work, |group, encoded: RowGroup| {
            progress.advance_step(groups[group].instances);
            writer.append_group(encoded)
        })?;
        writer.finish()
    }

    /// Returns the blocks of each row group of the table. A group of several blocks has at most
    /// `most` rows.
    fn row_groups(&self, most: usize) -> Vec<BlockGroup> {
        let mut groups: Vec<BlockGroup> = Vec::new();
        let mut before = 0;
        for (block, (instances, rows)) in self.sizes.iter().enumerate() {
            match groups.last_mut().filter(|group| group.rows + rows <= most) {
                Some(group) => {
                    group.end = block + 1;
                    group.instances += instances;
                    group.rows += rows;
                }
                None => groups.push(BlockGroup {
                    first: block,
                    end: block + 1,
                    before,
                    instances: *instances,
                    rows: *rows,
                }),
            }
            before += instances;
        }
        groups
    }

    fn encode_group(
        &self,
        group: &BlockGroup,
        patterns: &[u32],
        has_operations: bool,
        encoder: &RowGroupEncoder,
    ) -> Result<RowGroup, PathError> {
        let mut builder = encoder.begin_group()?;
        let mut rows = PathRows::default();
        let mut number = group.before;
        for block in group.first..group.end {
            let mut root = 0;
            for bytes in self.store.take_blocks(block)? {
                let mut reader = PathByteReader(&bytes);
                while !reader.is_empty() {
                    let messages = reader.read_number();
                    let probability = reader.read_float();
                    let pattern = patterns.get(number as usize).copied().unwrap_or_default();
                    let mut last = root;
                    for place in 0..messages {
                        let depth = reader.read_number();
                        let has = |flag: u64| depth & flag != 0;
                        rows.depth.push((depth >> FLAG_BITS) as i32);
                        rows.connecting.push(has(CONNECTING).then(|| reader.read_signed()));
                        rows.is_error.push(has(OUTCOME).then(|| has(ERROR)));
                        last += reader.read_signed();
                        rows.message.push(last);
                        if place == 0 {
                            root = last;
                        }
                    }
                    let end = rows.depth.len();
                    rows.path.resize(end, number as i64);
                    rows.pattern.resize(end, i64::from(pattern));
                    rows.probability.resize(end, probability);
                    number += 1;
                    if end >= ROWS_AT_ONCE {
                        builder.write_rows(&rows.take_arrays(has_operations))?;
                    }
                }
            }
        }
        builder.write_rows(&rows.take_arrays(has_operations))?;
        builder.finish_group()
    }
}

/// Consecutive blocks that become one row group.
struct BlockGroup {
    /// Index of the first block.
    first: usize,
    /// Index after the last block.
    end: usize,
    /// Number of instances before the first block.
    before: u64,
    instances: u64,
    rows: usize,
}

/// Rows of the table, by columns.
#[derive(Default)]
struct PathRows {
    path: Vec<i64>,
    pattern: Vec<i64>,
    probability: Vec<f64>,
    depth: Vec<i32>,
    message: Vec<i64>,
    connecting: Vec<Option<i64>>,
    is_error: Vec<Option<bool>>,
}

impl PathRows {
    /// Returns the rows as columns, and clears them.
    fn take_arrays(&mut self, has_operations: bool) -> Vec<ArrayRef> {
        let PathRows { path, pattern, probability, depth, message, connecting, is_error } =
            std::mem::take(self);
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(path)),
            Arc::new(Int64Array::from(pattern)),
            Arc::new(Float64Array::from(probability)),
            Arc::new(Int32Array::from(depth)),
            Arc::new(Int64Array::from(message)),
            Arc::new(Int64Array::from(connecting)),
        ];
        arrays.extend(has_operations.then(|| Arc::new(BooleanArray::from(is_error)) as ArrayRef));
        arrays
    }
}
