//! What an importer tells of its work: how much it read and made, and what it passed over, by cause
//! and place.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use message_trace::{DataPath, Progress};

use crate::tuning::SKIPPED_SHOWN;

/// What came of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Files read.
    pub files: u64,
    /// Their size on disk, in bytes.
    pub bytes: u64,
    /// What was read: rows, packets, lines; skipped ones too.
    pub read: u64,
    /// What was made of it: messages, records of logs.
    pub made: u64,
    /// What was written: a directory or several, in the data directory.
    pub written: Vec<DataPath>,
    /// Whether it replaced an earlier import.
    pub replaced: bool,
    /// What was passed over.
    pub skipped: SkipCounts,
    /// What else is worth knowing: columns that were not used, what was taken to be what.
    pub notes: Vec<String>,
}

/// What was passed over. Nothing that was read is dropped without being counted here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkipCounts {
    /// How much, by cause.
    pub causes: BTreeMap<&'static str, u64>,
    /// The first ones, each with its place.
    pub first: Vec<SkippedItem>,
}

/// Something that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedItem {
    /// Where it is.
    pub place: FilePlace,
    /// What is wrong with it and, where something can be done, what.
    pub why: String,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub at: FilePosition,
}

/// Where in a file; of a compressed file, in what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// The file as a whole.
    File,
    /// A line, from 1.
    Line(u64),
    /// A packet, from 1, as Wireshark numbers them.
    Packet(u64),
    /// Number of bytes from the beginning.
    Offset(u64),
}

impl ImportSummary {
    /// A file is begun.
    pub(crate) fn begin_file(&mut self, file: &Path, progress: &dyn Progress) {
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        self.files += 1;
        self.bytes += size;
        progress.begin_step(&format!("reading {}", file.display()), size);
    }

    /// `file` has `columns` that mean nothing here.
    pub(crate) fn note_unused_columns(&mut self, file: &Path, columns: &[String]) {
        if !columns.is_empty() {
            self.notes.push(format!("{}: not used: column {}", file.display(), columns.join(", ")));
        }
    }

    /// Nothing after `place` can be read.
    pub(crate) fn cut_off(&mut self, place: FilePlace, error: &std::io::Error) {
        let why = format!("what follows cannot be read: {error}; was the file cut off?");
        self.skipped.add("rest of a file that cannot be read", || SkippedItem { place, why });
    }
}

impl FilePlace {
    /// The place `at` in `file`.
    pub fn new(file: &Path, at: FilePosition) -> FilePlace {
        FilePlace { file: file.to_owned(), at }
    }
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.at {
            FilePosition::File => write!(f, "{file}"),
            FilePosition::Line(line) => write!(f, "{file}:{line}"),
            FilePosition::Packet(packet) => write!(f, "{file}, packet {packet}"),
            FilePosition::Offset(offset) => write!(f, "{file}, byte {offset}"),
        }
    }
}

impl fmt::Display for SkippedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

impl SkipCounts {
    /// Counts one thing under `cause`; `skip` says where it is and what is wrong, and is asked for
    /// the first ones only.
    pub fn add(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem) {
        *self.causes.entry(cause).or_default() += 1;
        if self.first.len() < SKIPPED_SHOWN {
            self.first.push(skip());
        }
    }

    /// Counts all that `later` counts, which comes after what is counted here.
    pub(crate) fn append(&mut self, later: SkipCounts) {
        for (cause, count) in later.causes {
            *self.causes.entry(cause).or_default() += count;
        }
        let room = SKIPPED_SHOWN.saturating_sub(self.first.len());
        self.first.extend(later.first.into_iter().take(room));
    }

    /// How much was passed over.
    pub fn total(&self) -> u64 {
        self.causes.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_are_shown() {
        let mut skipped = SkipCounts::default();
        for line in 1..=100 {
            let place = FilePlace::new(Path::new("a.csv"), FilePosition::Line(line));
            skipped.add("no time", || SkippedItem { place, why: "it has no time".into() });
        }
        assert_eq!((skipped.total(), skipped.causes["no time"]), (100, 100));
        assert_eq!(skipped.first.len(), SKIPPED_SHOWN);
        assert_eq!(skipped.first[1].to_string(), "a.csv:2: it has no time");
        let mut others = SkipCounts::default();
        let place = || FilePlace::new(Path::new("b.csv"), FilePosition::Line(1));
        others.add("no name", || SkippedItem { place: place(), why: "it has no name".into() });
        skipped.append(others.clone());
        assert_eq!((skipped.total(), skipped.first.len()), (101, SKIPPED_SHOWN));
        others.append(skipped);
        assert_eq!((others.total(), others.causes["no name"]), (102, 2));
        assert_eq!(others.first[1].to_string(), "a.csv:1: it has no time");
    }

    #[test]
    fn places_are_told_as_their_readers_number_them() {
        let told = |at| FilePlace::new(Path::new("x"), at).to_string();
        assert_eq!(told(FilePosition::File), "x");
        assert_eq!(told(FilePosition::Packet(7)), "x, packet 7");
        assert_eq!(told(FilePosition::Offset(16)), "x, byte 16");
    }
}
