//! Summary of an import: how much it read and produced, and what it skipped, by cause and place.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use message_trace::{DataPath, Progress};

use crate::tuning::SKIPPED_SHOWN;

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Number of files that were read.
    pub files: u64,
    /// Size on disk, in bytes.
    pub bytes: u64,
    /// Number of inputs: rows, packets, lines, including skipped ones.
    pub read: u64,
    /// Number of outputs: messages, records of logs.
    pub made: u64,
    /// Written directories in the data directory.
    pub written: Vec<DataPath>,
    /// Whether the import replaced an earlier one.
    pub replaced: bool,
    /// Skipped inputs.
    pub skipped: SkipCounts,
    /// Further notes for the user: unused columns, assumptions that were made.
    pub notes: Vec<String>,
}

/// Skipped inputs. Nothing that was read is dropped without being counted here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkipCounts {
    /// Number of skipped inputs by cause.
    pub causes: BTreeMap<&'static str, u64>,
    /// First skipped inputs, each with its place.
    pub first: Vec<SkippedItem>,
}

/// A skipped input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedItem {
    /// Place of the item.
    pub place: FilePlace,
    /// Fault of the item and, if there is one, a remedy.
    pub why: String,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// Path of the file.
    pub file: PathBuf,
    /// Position in the file.
    pub at: FilePosition,
}

/// Position in a file; in a compressed file, in its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// The file as a whole.
    File,
    /// A line, from 1.
    Line(u64),
    /// A packet, from 1, as Wireshark numbers them.
    Packet(u64),
    /// Offset in bytes from the beginning.
    Offset(u64),
}

impl ImportSummary {
    /// Counts a file that is about to be read.
    pub(crate) fn begin_file(&mut self, file: &Path, progress: &dyn Progress) {
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        self.files += 1;
        self.bytes += size;
        progress.begin_step(&format!("reading {}", file.display()), size);
    }

    /// Notes that `columns` of `file` were not used.
    pub(crate) fn note_unused_columns(&mut self, file: &Path, columns: &[String]) {
        if !columns.is_empty() {
            self.notes.push(format!("{}: not used: column {}", file.display(), columns.join(", ")));
        }
    }

    /// Counts everything after `place` as unreadable.
    pub(crate) fn cut_off(&mut self, place: FilePlace, error: &std::io::Error) {
        let why = format!("the rest cannot be read: {error}; was the file cut off?");
        self.skipped.add("unreadable rest of a file", || SkippedItem { place, why });
    }
}

impl FilePlace {
    /// Creates the place `at` in `file`.
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
    /// Counts one item under `cause`; `skip` provides its place and fault, and is called for the
    /// first ones only.
    pub fn add(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem) {
        *self.causes.entry(cause).or_default() += 1;
        if self.first.len() < SKIPPED_SHOWN {
            self.first.push(skip());
        }
    }

    /// Adds the counts of `later`, which belong to later input.
    pub(crate) fn append(&mut self, later: SkipCounts) {
        for (cause, count) in later.causes {
            *self.causes.entry(cause).or_default() += count;
        }
        let room = SKIPPED_SHOWN.saturating_sub(self.first.len());
        self.first.extend(later.first.into_iter().take(room));
    }

    /// Total number of skipped inputs.
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
    fn places_are_numbered_as_in_other_tools() {
        let show = |at| FilePlace::new(Path::new("x"), at).to_string();
        assert_eq!(show(FilePosition::File), "x");
        assert_eq!(show(FilePosition::Packet(7)), "x, packet 7");
        assert_eq!(show(FilePosition::Offset(16)), "x, byte 16");
    }
}
