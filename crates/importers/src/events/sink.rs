//! Where the events of an import go: through a piece to the writer of the table.

use std::path::{Path, PathBuf};

use ::events::{EventWriter, Piece};
use message_trace::{DataDir, DataPath, PathError};
use out_of_core::Names;

use crate::error::Error;
use crate::summary::{At, Summary};
use crate::tuning::{EVENT_PIECE_BYTES, MAX_NAMES};
use crate::unfinished::{check_name, nothing};

/// The table that reconcile writes.
const OWN: &str = "sockcap";

/// Events on their way to a table.
pub(super) struct EventSink {
    /// `None`: what would be written is only counted.
    writer: Option<(EventWriter, DataPath)>,
    /// Names of all events.
    pub(super) names: Names,
    /// Where events are added; [`EventSink::taken`] is called after each.
    pub(super) piece: Piece,
    made: u64,
}

impl EventSink {
    /// Begins the import `name` in `data`.
    ///
    /// # Errors
    /// When the table cannot be made.
    pub(super) fn create(data: &DataDir, name: &str) -> Result<EventSink, Error> {
        check_name(name)?;
        if name == OWN {
            let why = "this is the name of what sockcap recorded; give another with --name";
            return Err(Error::malformed(Path::new(name), At::File, why));
        }
        let directory = data.events_dir();
        directory.create_dir_all().map_err(|error| Error::io(&directory, error))?;
        let path = directory.join(format!("{name}.parquet"));
        let writer = EventWriter::create(&path)?;
        Ok(EventSink { writer: Some((writer, path)), ..EventSink::dry() })
    }

    /// A sink that writes nothing.
    pub(super) fn dry() -> EventSink {
        EventSink { writer: None, names: Names::default(), piece: Piece::default(), made: 0 }
    }

    /// Number of events so far.
    pub(super) fn made(&self) -> u64 {
        self.made + self.piece.len() as u64
    }

    /// Hands events on where there are enough.
    ///
    /// # Errors
    /// When they cannot be written, or there are too many different names in `file`.
    pub(super) fn taken(&mut self, file: &Path) -> Result<(), Error> {
        if self.piece.bytes() < EVENT_PIECE_BYTES {
            return Ok(());
        }
        if self.names.len() > MAX_NAMES {
            let why = format!(
                "it has more than {MAX_NAMES} different names of events, attributes and hosts; are \
                 values taken for names?"
            );
            return Err(Error::malformed(file, At::File, why));
        }
        Ok(self.hand_on()?)
    }

    fn hand_on(&mut self) -> Result<(), PathError> {
        if let Some((writer, _)) = &mut self.writer {
            writer.push_piece(&self.piece, &self.names)?;
        }
        self.made += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }

    /// Ends the import, of `files`; `summary` is told. One without any event replaces nothing, and
    /// `none` says what was looked for.
    ///
    /// # Errors
    /// When the table cannot be written, or there is no event.
    pub(super) fn finish(
        mut self,
        files: &[PathBuf],
        none: &str,
        summary: &mut Summary,
    ) -> Result<(), Error> {
        self.hand_on()?;
        summary.made = self.made;
        if self.made == 0 {
            return Err(nothing(files, none, summary));
        }
        let Some((writer, path)) = self.writer else { return Ok(()) };
        summary.replaced = path.exists();
        writer.finish(&self.names)?;
        summary.written.push(path);
        Ok(())
    }
}
