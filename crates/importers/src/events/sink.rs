//! Sink for the events of an import: a batch that is passed to the table's writer.

use std::path::{Path, PathBuf};

use ::events::{EventBatch, EventWriter};
use message_trace::{DataDir, DataPath, PathError};
use out_of_core::NameInterner;

use crate::error::Error;
use crate::summary::{FilePosition, ImportSummary};
use crate::tuning::{EVENT_BATCH_BYTES, MAX_NAMES};
use crate::unfinished::{check_name, nothing_imported};

/// Name of the table that reconcile writes.
const OWN_TABLE: &str = "sockcap";

/// Events on their way to a table.
pub(super) struct EventSink {
    /// `None` to only count events.
    writer: Option<(EventWriter, DataPath)>,
    /// Names of all events.
    pub(super) names: NameInterner,
    /// Batch to which events are added; [`EventSink::flush_if_full`] is called after each.
    pub(super) batch: EventBatch,
    made: u64,
}

impl EventSink {
    /// Begins the import `name` in `data`.
    ///
    /// # Errors
    /// When the table cannot be created.
    pub(super) fn create(data: &DataDir, name: &str) -> Result<EventSink, Error> {
        check_name(name)?;
        if name == OWN_TABLE {
            let why = "this name is reserved for sockcap's own recording; choose another with \
                       --name";
            return Err(Error::malformed_at(Path::new(name), FilePosition::File, why));
        }
        let directory = data.events_dir();
        directory.create_dir_all().map_err(|error| Error::from_io(&directory, error))?;
        let path = directory.join(format!("{name}.parquet"));
        let writer = EventWriter::create(&path)?;
        Ok(EventSink { writer: Some((writer, path)), ..EventSink::without_output() })
    }

    /// Creates a sink that writes nothing.
    pub(super) fn without_output() -> EventSink {
        EventSink {
            writer: None,
            names: NameInterner::default(),
            batch: EventBatch::default(),
            made: 0,
        }
    }

    /// Number of events so far.
    pub(super) fn event_count(&self) -> u64 {
        self.made + self.batch.len() as u64
    }

    /// Passes the events of the batch to the table's writer if there are enough.
    ///
    /// # Errors
    /// When the events cannot be written, or `file` has too many different names.
    pub(super) fn flush_if_full(&mut self, file: &Path) -> Result<(), Error> {
        if self.batch.bytes() < EVENT_BATCH_BYTES {
            return Ok(());
        }
        if self.names.len() > MAX_NAMES {
            let why = format!(
                "it has more than {MAX_NAMES} different names of events, attributes and hosts; are \
                 values used as names?"
            );
            return Err(Error::malformed_at(file, FilePosition::File, why));
        }
        Ok(self.write_events()?)
    }

    fn write_events(&mut self) -> Result<(), PathError> {
        if let Some((writer, _)) = &mut self.writer {
            writer.push_batch(&self.batch, &self.names)?;
        }
        self.made += self.batch.len() as u64;
        self.batch.clear();
        Ok(())
    }

    /// Ends the import of `files` and completes `summary`. An import without events replaces
    /// nothing, and its error states the expected content, `none`.
    ///
    /// # Errors
    /// When the table cannot be written, or there is no event.
    pub(super) fn finish(
        mut self,
        files: &[PathBuf],
        none: &str,
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        self.write_events()?;
        summary.made = self.made;
        if self.made == 0 {
            return Err(nothing_imported(files, none, summary));
        }
        let Some((writer, path)) = self.writer else { return Ok(()) };
        summary.replaced = path.exists();
        writer.finish(&self.names)?;
        summary.written.push(path);
        Ok(())
    }
}
