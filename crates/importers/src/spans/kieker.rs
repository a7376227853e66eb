//! `import kieker`: logs of the Kieker monitoring framework, which are folders of text files.
//!
//! [`folders`] finds the files of a log and [`types`] its table of types. [`log`] processes the
//! records one by one; a record is `fields`. An operation is reported by one record at its end
//! ([`executions`]), or by one event at its beginning and one at its end ([`events`]). The node of
//! the operation is the class that its `signature` names.

mod events;
mod executions;
mod fields;
mod folders;
mod log;
mod signature;
mod types;

use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use registry::{EntryHelp, Spec};

use super::driver::SpanImporter;
use super::format::SpanFormat;
use super::fuzz::fuzz_reader;
use super::lines::LineTexts;
use super::span_import::{SpanBatch, SpanImport};
use super::texts::TextSource;
use crate::error::Error;
use crate::flags::NameFlag;
use crate::fuzz::input_of;
use crate::import_input::ImportInput;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::{FilePlace, FilePosition, SkippedItem};
use folders::{KiekerLogFiles, find_named_logs};
use log::KiekerLogReader;
use types::RecordTypes;

#[derive(Args)]
struct KiekerFlags {
    #[command(flatten)]
    name: NameFlag,
    /// If a log has its operations twice, as executions and as events, use the events
    #[arg(long)]
    events: bool,
}

/// Registry entry.
pub(crate) static KIEKER: ImporterSpec = Spec {
    about: EntryHelp {
        name: "kieker",
        summary: "Logs of Kieker: folders with a .map and .dat files",
        details: "\
Folders as Kieker writes them, with kieker.map (or tpmon.map) and .dat files, plain or compressed \
(gzip, zstd, xz), or folders of such folders. Records of executions of all versions since 2010 are \
read, and events before and after operations and constructors. An operation's node is its class. \
Operations that did not end are steps without an end.",
        notes: "",
        examples: &[
            "sockcap import kieker kieker-20141008-101258768-UTC && sockcap report",
            "sockcap import kieker --name bookstore logs/",
        ],
    },
    flags: KiekerFlags::augment_args,
    entry: ImporterEntry {
        files: "The folders, which become one import, or .dat files next to their .map",
        files_by: None,
        make: |given| {
            let KiekerFlags { name, events } = KiekerFlags::from_arg_matches(given)?;
            Ok(Box::new(SpanImporter { name: name.name, format: KiekerFormat { events } }))
        },
        fuzz: fuzz_log,
        #[cfg(test)]
        samples: tests::samples,
    },
};

/// The format.
#[derive(Clone, Copy, Debug)]
struct KiekerFormat {
    /// Whether events are used if there are executions, too.
    events: bool,
}

impl SpanFormat for KiekerFormat {
    const NONE: &str = "there are no records of operations";

    fn read_file(
        &self,
        input: ImportInput<'_>,
        reading: &mut SpanImport<'_, '_>,
    ) -> Result<(), Error> {
        let named = [input.file];
        self.read_all_files(&named, reading)
    }

    fn read_all_files(
        &self,
        files: &[PathBuf],
        reading: &mut SpanImport<'_, '_>,
    ) -> Result<(), Error> {
        for KiekerLogFiles { map, records, others } in find_named_logs(files)? {
            let map = reading.open(&map)?;
            let mut batch = reading.begin_batch();
            let mut log =
                KiekerLogReader::new(RecordTypes::read_table(map, &mut batch)?, self.events);
            for file in &records {
                let input = reading.open(file)?;
                read_records(input, &mut log, &mut batch, reading)?;
            }
            let notes = log.finish_log(&mut batch)?;
            reading.add_batch(batch)?;
            for file in &others {
                reading.count_damage("file that is not text", || SkippedItem {
                    place: FilePlace::new(file, FilePosition::File),
                    why: "only .dat files are read; configure Kieker to write text".to_owned(),
                });
            }
            notes.into_iter().for_each(|note| reading.add_note(note));
        }
        Ok(())
    }
}

/// Reads a file of records.
fn read_records(
    input: ImportInput<'_>,
    log: &mut KiekerLogReader,
    batch: &mut SpanBatch<'_, '_>,
    reading: &mut SpanImport<'_, '_>,
) -> Result<(), Error> {
    let ImportInput { file, bytes } = input;
    let mut lines = LineTexts::new(bytes);
    loop {
        let texts = match lines.next() {
            Ok(Some(texts)) => texts,
            Ok(None) => return Ok(()),
            Err(error) => {
                reading.cut_off(FilePlace::new(&file, lines.at()), &error);
                return Ok(());
            }
        };
        for text in texts.iter() {
            match text {
                Ok(text) => log.read_line(text, &file, batch)?,
                Err((at, fault)) => batch.tally().count_damage("damaged part of a file", || {
                    SkippedItem { place: FilePlace::new(&file, at), why: fault.to_owned() }
                }),
            }
        }
    }
}

/// Runs `import kieker` on a log: the bytes before the first zero byte are its table of types.
fn fuzz_log(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or_default();
    let (map, records) = bytes.split_at(end);
    let Ok(input) = input_of(records.get(1..).unwrap_or_default()) else { return };
    fuzz_reader(|reading| {
        let mut batch = reading.begin_batch();
        let types = RecordTypes::from_text(map, Path::new("input"), &mut batch);
        let mut log = KiekerLogReader::new(types, false);
        read_records(input, &mut log, &mut batch, reading)?;
        log.finish_log(&mut batch)?;
        reading.add_batch(batch)
    });
}

#[cfg(test)]
mod tests;
