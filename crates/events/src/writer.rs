//! Writer of an event table from events in any order.
//!
//! ```text
//!  push -> waiting events --sort--> the earlier half, not before the end of the table --> table
//!                                    late events --> sorted runs, in a temporary file
//!  finish: runs, if any, and the table are merged into a new table
//! ```
//!
//! Events in order, or nearly, are thus written once; events in no order are written three times,
//! in bounded memory.

use message_trace::{DataPath, PathError};
use out_of_core::{NameId, NameInterner};

use crate::event::Event;
use crate::event_batch::EventBatch;
use crate::merge::{EventRanks, EventStream, StreamMerger};
use crate::sorted_runs::{BlockFile, RunReader, SortedRun};
use crate::table::{TableReader, TableWriter};
use crate::tuning::{BATCH_EVENTS, BLOCK_EVENTS, MAX_RUNS, WAITING_BYTES};
use crate::value::AttributeValue;

/// Writer of an event table. Events may come in any order; events of equal time keep the order in
/// which they came.
pub struct EventWriter {
    path: DataPath,
    table: TableWriter,
    /// Time of the last event of the table, and the ranks of its events.
    table_end: (i64, EventRanks),
    /// Events that are neither in the table nor in a run yet, in any order.
    waiting: EventBatch,
    /// Size of the waiting events, in bytes, from which on some are written.
    limit: usize,
    /// File of the runs, which have the events that came too late for the table.
    late: Option<BlockFile>,
    runs: Vec<SortedRun>,
    /// Rank of the events that are written next.
    rank: u64,
}

impl EventWriter {
    /// Begins the table at `path`. The table gets its name when it is finished; until then, a
    /// previous table of that name stays.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: impl Into<DataPath>) -> Result<EventWriter, PathError> {
        let path = &path.into();
        Ok(EventWriter {
            path: path.to_owned(),
            table: TableWriter::create(path)?,
            table_end: (i64::MIN, EventRanks::new()),
            waiting: EventBatch::default(),
            limit: WAITING_BYTES,
            late: None,
            runs: Vec::new(),
            rank: 0,
        })
    }

    /// Adds an event with its attributes. The names of the event are in `names`, which is the same
    /// interner in each call.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn push_event<'value>(
        &mut self,
        event: Event,
        attributes: impl IntoIterator<Item = (NameId, AttributeValue<'value>)>,
        names: &NameInterner,
    ) -> Result<(), PathError> {
        self.waiting.push_event(event, attributes);
        self.flush_if_full(names)
    }

    /// Adds all events of a batch, as [`EventWriter::push_event`] does.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn push_batch(
        &mut self,
        piece: &EventBatch,
        names: &NameInterner,
    ) -> Result<(), PathError> {
        self.waiting.append_range(piece, 0..piece.len());
        self.flush_if_full(names)
    }

    /// Number of events so far.
    pub fn event_count(&self) -> u64 {
        self.table.event_count() + self.late_events() + self.waiting.len() as u64
    }

    /// Finishes the table, gives it its name, and returns the number of its events.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(mut self, names: &NameInterner) -> Result<u64, PathError> {
        let order = self.sorted_order();
        self.write_events(&order, names)?;
        let events = self.event_count() - self.waiting.len() as u64;
        let Some(late) = self.late.take() else {
            self.table.finish()?;
            return Ok(events);
        };
        let mut sources =
            vec![MergeInput::from_table(&self.path, &mut self.table, self.table_end.1)?];
        for run in self.runs.drain(..) {
            sources.push(MergeInput::Run(late.read_run(run)?));
        }
        let (mut merge, mut names) = (StreamMerger::new(sources), names.clone());
        let mut merged = TableWriter::create(&self.path)?;
        let (mut piece, mut ranks) = (EventBatch::default(), EventRanks::new());
        while merge.read_next(&mut names, &mut piece, &mut ranks)? {
            merged.write_batch(&piece, &initial_order(piece.len()), &names)?;
        }
        merged.finish()?;
        Ok(events)
    }

    fn late_events(&self) -> u64 {
        self.runs.iter().map(SortedRun::event_count).sum()
    }

    /// Writes the earlier half of the waiting events if they exceed the limit.
    fn flush_if_full(&mut self, names: &NameInterner) -> Result<(), PathError> {
        if self.waiting.bytes() < self.limit {
            return Ok(());
        }
        let order = self.sorted_order();
        let (early, later) = order.split_at(order.len().div_ceil(2));
        self.write_events(early, names)?;
        let mut rest = EventBatch::default();
        append_all(&mut rest, &self.waiting, later);
        self.waiting = rest;
        Ok(())
    }

    /// Places of the waiting events, in the order of time.
    fn sorted_order(&self) -> Vec<usize> {
        let events = self.waiting.events();
        let mut order = initial_order(events.len());
        if !events.is_sorted_by_key(|event| event.time) {
            order.sort_by_key(|place| events.get(*place).map(|event| event.time));
        }
        order
    }

    /// Writes the waiting events at `order`, which are in the order of time.
    fn write_events(&mut self, order: &[usize], names: &NameInterner) -> Result<(), PathError> {
        let time = |place: &usize| self.waiting.event_at(*place).time;
        let late = order.partition_point(|place| time(place) < self.table_end.0);
        let (late, rest) = order.split_at(late);
        if let Some(last) = rest.last() {
            self.table_end.0 = time(last);
        }
        for places in rest.chunks(BATCH_EVENTS) {
            self.table.write_batch(&self.waiting, places, names)?;
        }
        self.table_end.1.push((self.table.event_count() as usize, self.rank));
        self.add_late_events(late)?;
        self.rank += 1;
        Ok(())
    }

    /// Appends late events to the run with the latest end before them, or to a new run.
    fn add_late_events(&mut self, late: &[usize]) -> Result<(), PathError> {
        let Some(first) = late.first() else { return Ok(()) };
        let mut file = match self.late.take() {
            Some(file) => file,
            None => BlockFile::create(self.path.parent())?,
        };
        let first = self.waiting.event_at(*first).time;
        let before = self.runs.iter().enumerate().filter(|(_, run)| run.last <= first);
        let place = before.max_by_key(|(_, run)| run.last).map(|(place, _)| place);
        let mut run = place.map_or_else(SortedRun::new, |place| self.runs.swap_remove(place));
        let mut piece = EventBatch::default();
        for places in late.chunks(BLOCK_EVENTS) {
            append_all(&mut piece, &self.waiting, places);
            file.append_block(&mut run, &piece, vec![(piece.len(), self.rank)])?;
            piece.clear();
        }
        self.runs.push(run);
        if self.runs.len() > MAX_RUNS {
            self.merge_runs(&mut file)?;
        }
        self.late = Some(file);
        Ok(())
    }

    /// Merges all runs into one.
    fn merge_runs(&mut self, file: &mut BlockFile) -> Result<(), PathError> {
        let runs: Result<Vec<_>, _> = self.runs.drain(..).map(|run| file.read_run(run)).collect();
        let mut merge = StreamMerger::new(runs?);
        let mut merged = SortedRun::new();
        let (mut piece, mut ranks) = (EventBatch::default(), EventRanks::new());
        let mut names = NameInterner::default();
        while merge.read_next(&mut names, &mut piece, &mut ranks)? {
            file.append_block(&mut merged, &piece, std::mem::take(&mut ranks))?;
        }
        self.runs.push(merged);
        Ok(())
    }
}

/// Appends the events of `from` at these places.
fn append_all(piece: &mut EventBatch, from: &EventBatch, places: &[usize]) {
    for neighbours in places.chunk_by(|a, b| a + 1 == *b) {
        if let Some(first) = neighbours.first() {
            piece.append_range(from, *first..*first + neighbours.len());
        }
    }
}

fn initial_order(events: usize) -> Vec<usize> {
    (0..events).collect()
}

/// Inputs of the final merge.
enum MergeInput {
    /// The table, with the ranks of its events, and the number of events that were read.
    Table {
        table: Box<TableReader>,
        ranks: EventRanks,
        at: usize,
    },
    Run(RunReader),
}

impl MergeInput {
    fn from_table(
        path: &DataPath,
        table: &mut TableWriter,
        ranks: EventRanks,
    ) -> Result<MergeInput, PathError> {
        let table = Box::new(TableReader::from_file(path, table.end_table()?)?);
        Ok(MergeInput::Table { table, ranks, at: 0 })
    }
}

impl EventStream for MergeInput {
    fn read_next(
        &mut self,
        names: &mut NameInterner,
        piece: &mut EventBatch,
        into: &mut EventRanks,
    ) -> Result<bool, PathError> {
        match self {
            MergeInput::Run(run) => run.read_next(names, piece, into),
            MergeInput::Table { table, ranks, at } => {
                let more = table.read_next(names, piece)?;
                into.clear();
                let before = ranks.partition_point(|(end, _)| *end <= *at);
                let end = *at + piece.len();
                for (of, rank) in ranks.get(before..).unwrap_or_default() {
                    into.push(((*of).min(end) - *at, *rank));
                    if *of >= end {
                        break;
                    }
                }
                *at = end;
                Ok(more)
            }
        }
    }
}

#[cfg(test)]
mod tests;
