//! Sorted runs of events, in one unnamed temporary file.

use std::fs::File;
use std::os::unix::fs::FileExt;

use message_trace::{DataPath, PathError};
use out_of_core::NameInterner;

use crate::event_batch::EventBatch;
use crate::merge::{EventRanks, EventStream};

/// File of consecutive event blocks.
pub(crate) struct BlockFile {
    directory: DataPath,
    file: File,
    /// Number of bytes that were written.
    end: u64,
    /// Buffer for an encoded block.
    bytes: Vec<u8>,
}

/// Sorted run: events in the order of time, in blocks of the file.
#[derive(Debug)]
pub(crate) struct SortedRun {
    /// Time of the last event, in nanoseconds.
    pub(crate) last: i64,
    events: u64,
    blocks: Vec<RunBlock>,
}

/// Place of a block in the file, and the ranks of its events.
#[derive(Debug)]
struct RunBlock {
    begin: u64,
    size: usize,
    ranks: EventRanks,
}

impl BlockFile {
    /// Creates the file in `directory`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub(crate) fn create(directory: impl Into<DataPath>) -> Result<BlockFile, PathError> {
        let directory = &directory.into();
        let file = directory.temporary_file().map_err(|error| PathError::io(directory, error))?;
        Ok(BlockFile { directory: directory.to_owned(), file, end: 0, bytes: Vec::new() })
    }

    /// Appends a block to a run.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn append_block(
        &mut self,
        run: &mut SortedRun,
        piece: &EventBatch,
        ranks: EventRanks,
    ) -> Result<(), PathError> {
        let Some(last) = piece.events().last() else { return Ok(()) };
        self.bytes.clear();
        let bytes = postcard::to_extend(piece, std::mem::take(&mut self.bytes));
        self.bytes = bytes.map_err(|error| PathError::malformed(&self.directory, error))?;
        let written = self.file.write_all_at(&self.bytes, self.end);
        written.map_err(|error| PathError::io(&self.directory, error))?;
        run.last = last.time;
        run.events += piece.len() as u64;
        run.blocks.push(RunBlock { begin: self.end, size: self.bytes.len(), ranks });
        self.end += self.bytes.len() as u64;
        Ok(())
    }

    /// Returns a reader of the events of a run, from the first.
    ///
    /// # Errors
    /// When the file cannot be opened a second time.
    pub(crate) fn read_run(&self, run: SortedRun) -> Result<RunReader, PathError> {
        let file = self.file.try_clone().map_err(|error| PathError::io(&self.directory, error))?;
        let (directory, blocks) = (self.directory.clone(), run.blocks.into_iter());
        Ok(RunReader { directory, file, blocks, bytes: Vec::new() })
    }
}

impl SortedRun {
    /// Creates a run without events.
    pub(crate) fn new() -> SortedRun {
        SortedRun { last: i64::MIN, events: 0, blocks: Vec::new() }
    }

    /// Number of events of the run.
    pub(crate) fn event_count(&self) -> u64 {
        self.events
    }
}

/// A run that is being read.
pub(crate) struct RunReader {
    directory: DataPath,
    file: File,
    blocks: std::vec::IntoIter<RunBlock>,
    bytes: Vec<u8>,
}

impl EventStream for RunReader {
    fn read_next(
        &mut self,
        _: &mut NameInterner,
        piece: &mut EventBatch,
        ranks: &mut EventRanks,
    ) -> Result<bool, PathError> {
        piece.clear();
        let Some(block) = self.blocks.next() else { return Ok(false) };
        self.bytes.resize(block.size, 0);
        let read = self.file.read_exact_at(&mut self.bytes, block.begin);
        read.map_err(|error| PathError::io(&self.directory, error))?;
        *piece = postcard::from_bytes(&self.bytes)
            .map_err(|error| PathError::malformed(&self.directory, error))?;
        *ranks = block.ranks;
        Ok(true)
    }
}
