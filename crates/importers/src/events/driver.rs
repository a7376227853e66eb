//! The importer that all kinds of events share, and the same without a directory for fuzzing.

use std::path::PathBuf;

use message_trace::{DataDir, Progress};

use super::format::Format;
use super::sink::EventSink;
use super::source::Source;
use crate::error::Error;
use crate::importer::Importer;
use crate::summary::Summary;
use crate::unfinished::name_of;

/// The importer of events in one format.
#[derive(Clone, Debug)]
pub(super) struct EventImporter<F> {
    /// What the import is called; `None`: after its first file.
    pub(super) name: Option<String>,
    /// How its files are read.
    pub(super) format: F,
}

impl<F: Format> Importer for EventImporter<F> {
    fn reads(&self) -> [&'static str; 2] {
        ["record", "records"]
    }

    fn makes(&self) -> [&'static str; 2] {
        ["event", "events"]
    }

    fn next(&self) -> &'static str {
        "requests"
    }

    fn import(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<Summary, Error> {
        let name = self.name.clone().unwrap_or_else(|| name_of(files));
        loop {
            let mut sink = EventSink::create(data, &name)?;
            let mut summary = Summary::default();
            for file in files {
                summary.begin(file, progress);
                self.format.read(&Source::File(file, progress), &mut sink, &mut summary)?;
            }
            if !self.format.begins_anew() {
                sink.finish(files, F::NONE, &mut summary)?;
                return Ok(summary);
            }
        }
    }
}

/// Has `format` read `bytes` as one file. It panics where the format breaks its word: every record
/// that is read is an event or counted as skipped.
pub(super) fn fuzz(format: &impl Format, bytes: &[u8]) {
    let (mut sink, mut summary) = (EventSink::dry(), Summary::default());
    match format.read(&Source::Bytes(bytes), &mut sink, &mut summary) {
        Ok(()) => {
            let (read, made, skipped) = (summary.read, sink.made(), summary.skipped.total());
            assert!(made <= read, "{made} events of {read} records");
            assert!(made + skipped >= read, "{read} records, {made} events, {skipped} skipped");
        }
        Err(error) => assert!(error.to_string().contains("input"), "{error}"),
    }
}
