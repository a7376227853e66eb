//! `import kieker`: logs of the Kieker monitoring framework, which are folders of text files.
//!
//! [`folders`] finds the files of a log and [`types`] its table of types. [`log`] goes through the
//! records one by one; a record is [`fields`]. An operation is told by one record when it is over
//! ([`executions`]), or by an event when it begins and one when it ends ([`events`]). Its node is
//! the class that its [`signature`] names.

mod events;
mod executions;
mod fields;
mod folders;
mod log;
mod signature;
mod types;

use std::path::{Path, PathBuf};

use registry::{About, Flag};

use super::driver::SpanImporter;
use super::format::Format;
use super::fuzz::run_with;
use super::lines::Lines;
use super::reading::{Piece, Reading};
use super::texts::TextSource;
use crate::error::Error;
use crate::flags::NAME;
use crate::fuzz::input_of;
use crate::kind::Kind;
use crate::reading::Input;
use crate::summary::{At, Place, Skip};
use folders::{Log, logs};
use log::Reader;
use types::Types;

static EVENTS: Flag<bool> = Flag::switch(
    "events",
    "Where a log has its operations twice, as executions and as events, take the events",
);

/// The entry in the registry.
pub(crate) static KIEKER: Kind = Kind {
    about: About {
        name: "kieker",
        summary: "Logs of Kieker: folders with a .map and .dat files",
        details: "\
Folders as Kieker writes them, with kieker.map (or tpmon.map) and .dat files, plain or compressed \
(gzip, zstd, xz), or folders of such folders. Records of executions of all versions are read, those \
of 2010 too, and events before and after operations and constructors. An operation's node is its \
class. Operations that did not end are steps without an end.",
        notes: "",
        examples: &[
            "sockcap import kieker kieker-20141008-101258768-UTC && sockcap report",
            "sockcap import kieker --name bookstore logs/",
        ],
    },
    files: "The folders, which become one import, or .dat files beside their .map",
    files_by: None,
    flags: &[&NAME, &EVENTS],
    make: |given| {
        let format = Kieker { events: given.is_on(&EVENTS) };
        Box::new(SpanImporter { name: given.get(&NAME), format })
    },
    fuzz,
    #[cfg(test)]
    samples: tests::samples,
};

/// The format.
#[derive(Clone, Copy, Debug)]
struct Kieker {
    /// Whether events are taken where there are executions, too.
    events: bool,
}

impl Format for Kieker {
    const NONE: &str = "there are no records of operations";

    fn read(&self, input: Input<'_>, reading: &mut Reading<'_, '_>) -> Result<(), Error> {
        let named = [input.file];
        self.read_all(&named, reading)
    }

    fn read_all(&self, files: &[PathBuf], reading: &mut Reading<'_, '_>) -> Result<(), Error> {
        for Log { map, records, others } in logs(files)? {
            let map = reading.open(&map)?;
            let mut piece = reading.piece();
            let mut log = Reader::new(Types::read(map, &mut piece)?, self.events);
            for file in &records {
                let input = reading.open(file)?;
                read_records(input, &mut log, &mut piece, reading)?;
            }
            let notes = log.end(&mut piece)?;
            reading.take(piece)?;
            for file in &others {
                reading.damage("file that is no text", || Skip {
                    place: Place::new(file, At::File),
                    why: "only .dat files are read; have Kieker write text".to_owned(),
                });
            }
            notes.into_iter().for_each(|note| reading.note(note));
        }
        Ok(())
    }
}

/// Reads a file of records.
fn read_records(
    input: Input<'_>,
    log: &mut Reader,
    piece: &mut Piece<'_, '_>,
    reading: &mut Reading<'_, '_>,
) -> Result<(), Error> {
    let Input { file, bytes } = input;
    let mut lines = Lines::new(bytes);
    loop {
        let texts = match lines.next() {
            Ok(Some(texts)) => texts,
            Ok(None) => return Ok(()),
            Err(error) => {
                reading.cut_off(Place::new(&file, lines.at()), &error);
                return Ok(());
            }
        };
        for text in texts.iter() {
            match text {
                Ok(text) => log.line(text, &file, piece)?,
                Err((at, fault)) => piece.tally().damage("part of a file that is damaged", || {
                    Skip { place: Place::new(&file, at), why: fault.to_owned() }
                }),
            }
        }
    }
}

/// `import kieker` of a log: what comes before the first byte 0 is its table of types.
fn fuzz(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or_default();
    let (map, records) = bytes.split_at(end);
    let Ok(input) = input_of(records.get(1..).unwrap_or_default()) else { return };
    run_with(|reading| {
        let mut piece = reading.piece();
        let types = Types::of(map, Path::new("input"), &mut piece);
        let mut log = Reader::new(types, false);
        read_records(input, &mut log, &mut piece, reading)?;
        log.end(&mut piece)?;
        reading.take(piece)
    });
}

#[cfg(test)]
mod tests;
