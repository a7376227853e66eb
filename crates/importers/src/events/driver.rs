//! Importer that all kinds of events share, and a variant without a directory for fuzzing.

use std::path::PathBuf;

use message_trace::{DataDir, Progress};

use super::format::EventFormat;
use super::sink::EventSink;
use super::source::EventSource;
use crate::error::Error;
use crate::importer::Importer;
use crate::summary::ImportSummary;
use crate::unfinished::name_of_files;

/// Importer of events in one format.
#[derive(Clone, Debug)]
pub(super) struct EventImporter<F> {
    /// Name of the import; `None` to use the name of the import's first file.
    pub(super) name: Option<String>,
    /// Reader of the files' format.
    pub(super) format: F,
}

impl<F: EventFormat> Importer for EventImporter<F> {
    fn input_nouns(&self) -> [&'static str; 2] {
        ["record", "records"]
    }

    fn output_nouns(&self) -> [&'static str; 2] {
        ["event", "events"]
    }

    fn next_command(&self) -> &'static str {
        "requests"
    }

    fn import_files(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<ImportSummary, Error> {
        let name = self.name.clone().unwrap_or_else(|| name_of_files(files));
        loop {
            let mut sink = EventSink::create(data, &name)?;
            let mut summary = ImportSummary::default();
            for file in files {
                summary.begin_file(file, progress);
                self.format.read_source(
                    &EventSource::File(file, progress),
                    &mut sink,
                    &mut summary,
                )?;
            }
            if !self.format.begins_anew() {
                sink.finish(files, F::NONE, &mut summary)?;
                return Ok(summary);
            }
        }
    }
}

/// Lets `format` read `bytes` as one file. Panics if the format violates its contract: every record
/// that is read is an event or is counted as skipped.
pub(super) fn fuzz_format(format: &impl EventFormat, bytes: &[u8]) {
    let (mut sink, mut summary) = (EventSink::without_output(), ImportSummary::default());
    match format.read_source(&EventSource::Bytes(bytes), &mut sink, &mut summary) {
        Ok(()) => {
            let (read, made, skipped) = (summary.read, sink.event_count(), summary.skipped.total());
            assert!(made <= read, "{made} events of {read} records");
            assert!(made + skipped >= read, "{read} records, {made} events, {skipped} skipped");
        }
        Err(error) => assert!(error.to_string().contains("input"), "{error}"),
    }
}
