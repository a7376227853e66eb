//! Reader of event tables: several files as one stream, in the order of time.

use message_trace::{DataPath, PathError};
use out_of_core::NameInterner;

use crate::event_batch::EventBatch;
use crate::merge::{EventRanks, EventStream, StreamMerger};
use crate::table::TableReader;

/// Event tables that are read as one stream.
///
/// ```
/// use events::{Event, EventReader, EventWriter, EventBatch, AttributeValue};
/// use out_of_core::NameInterner;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("perf.parquet");
/// let mut names = NameInterner::default();
/// let (kind, bytes) = (names.intern("sockcap/Send"), names.intern("bytes"));
/// let mut writer = EventWriter::create(&path)?;
/// for time in [30, 10, 20] {
///     let event = Event { time, kind, ..Event::default() };
///     writer.push_event(event, [(bytes, AttributeValue::Int(time))], &names)?;
/// }
/// assert_eq!(writer.finish(&names)?, 3);
///
/// let (mut reader, mut piece) = (EventReader::open(&[path])?, EventBatch::default());
/// let mut times = Vec::new();
/// while reader.read_next(&mut names, &mut piece)? {
///     times.extend(piece.events().iter().map(|event| event.time));
/// }
/// assert_eq!(times, [10, 20, 30]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EventReader {
    merge: StreamMerger<OneTable>,
    ranks: EventRanks,
    events: u64,
}

impl EventReader {
    /// Opens the tables at `paths`. Events of equal time come in the order of their tables.
    ///
    /// # Errors
    /// When a table cannot be read, or is not a table of events.
    pub fn open<P: Clone + Into<DataPath>>(paths: &[P]) -> Result<EventReader, PathError> {
        let mut tables = Vec::with_capacity(paths.len());
        let mut events = 0;
        for (rank, path) in paths.iter().enumerate() {
            let table = TableReader::open(path.clone())?;
            events += table.event_count();
            tables.push(OneTable { table, rank: rank as u64 });
        }
        Ok(EventReader { merge: StreamMerger::new(tables), ranks: EventRanks::new(), events })
    }

    /// Number of events of all tables.
    pub fn event_count(&self) -> u64 {
        self.events
    }

    /// Replaces the contents of `piece` with the next events, some thousands at most; returns
    /// `false` at the end. Names get their numbers from `names`, which is the same interner in each
    /// call.
    ///
    /// # Errors
    /// When a table cannot be read or is damaged.
    pub fn read_next(
        &mut self,
        names: &mut NameInterner,
        piece: &mut EventBatch,
    ) -> Result<bool, PathError> {
        self.merge.read_next(names, piece, &mut self.ranks)
    }
}

/// A table with the rank of all its events.
struct OneTable {
    table: TableReader,
    rank: u64,
}

impl EventStream for OneTable {
    fn read_next(
        &mut self,
        names: &mut NameInterner,
        piece: &mut EventBatch,
        ranks: &mut EventRanks,
    ) -> Result<bool, PathError> {
        let more = self.table.read_next(names, piece)?;
        ranks.clear();
        ranks.push((piece.len(), self.rank));
        Ok(more)
    }
}

/// All event tables in `directory`, sorted by name; empty if the directory does not exist.
///
/// # Errors
/// When the directory cannot be read.
pub fn find_tables(directory: impl Into<DataPath>) -> Result<Vec<DataPath>, PathError> {
    let directory = &directory.into();
    let entries = directory.entries().map_err(|error| PathError::io(directory, error))?;
    let is_table = |path: &DataPath| path.extension().is_some_and(|it| it == "parquet");
    let paths = entries.into_iter().map(|entry| entry.path);
    Ok(paths.filter(is_table).collect())
}
