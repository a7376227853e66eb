//! Texts: separately readable parts of a file, such as lines, with the places at which they begin.
//! A thread gets several at a time.

use std::io;

use super::span_import::{SpanBatch, SpanImport};
use crate::error::Error;
use crate::import_input::ImportInput;
use crate::summary::{FilePlace, FilePosition, SkippedItem};
use crate::tuning::{MAX_TEXTS, TEXTS_BYTES};

/// Several texts of a file.
#[derive(Debug, Default)]
pub(crate) struct TextBatch {
    bytes: Vec<u8>,
    ranges: Vec<TextRange>,
}

#[derive(Debug)]
struct TextRange {
    at: FilePosition,
    begin: usize,
    end: usize,
    /// Fault, if the part cannot be read.
    fault: Option<&'static str>,
}

/// One text of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileText<'t> {
    /// Position where the text begins.
    pub(crate) at: FilePosition,
    /// Bytes of the text.
    pub(crate) bytes: &'t [u8],
}

impl FileText<'_> {
    /// Position of one of the text's lines, counted from 1.
    pub(crate) fn line_at(&self, number: usize) -> FilePosition {
        match self.at {
            FilePosition::Line(first) => {
                FilePosition::Line(first + (number as u64).saturating_sub(1))
            }
            other => other,
        }
    }
}

/// Splitter of a file into texts.
pub(crate) trait TextSource: Send {
    /// Returns the next texts; `None` at the end. After an error there are none.
    fn next(&mut self) -> io::Result<Option<TextBatch>>;

    /// Position in the file that the splitter has reached.
    fn at(&self) -> FilePosition;
}

impl TextBatch {
    /// Creates a batch for texts in `bytes`.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> TextBatch {
        TextBatch { bytes, ranges: Vec::new() }
    }

    /// Adds a text at `begin..end` of the bytes.
    pub(super) fn add_range(&mut self, at: FilePosition, begin: usize, end: usize) {
        self.ranges.push(TextRange { at, begin, end, fault: None });
    }

    /// Appends a text, which `write` appends to the bytes.
    pub(super) fn append_text<T>(
        &mut self,
        at: FilePosition,
        write: impl FnOnce(&mut Vec<u8>) -> T,
    ) -> T {
        let begin = self.bytes.len();
        let done = write(&mut self.bytes);
        self.add_range(at, begin, self.bytes.len());
        done
    }

    /// Removes the last text.
    pub(super) fn drop_last(&mut self) {
        if let Some(part) = self.ranges.pop() {
            self.bytes.truncate(part.begin);
        }
    }

    /// Adds a fault for a skipped part.
    pub(super) fn add_fault(&mut self, at: FilePosition, fault: &'static str) {
        self.ranges.push(TextRange { at, begin: 0, end: 0, fault: Some(fault) });
    }

    /// Whether there is neither a text nor a fault.
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether there are enough texts for a thread.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= TEXTS_BYTES || self.ranges.len() >= MAX_TEXTS
    }

    /// All texts, and for skipped parts their place and fault.
    pub(super) fn iter(
        &self,
    ) -> impl Iterator<Item = Result<FileText<'_>, (FilePosition, &'static str)>> {
        self.ranges.iter().map(|part| match part.fault {
            Some(fault) => Err((part.at, fault)),
            None => {
                let bytes = self.bytes.get(part.begin..part.end).unwrap_or_default();
                Ok(FileText { at: part.at, bytes })
            }
        })
    }
}

/// Reads each text of a file with `read`, on all processors. `source` splits its bytes.
pub(crate) fn for_each_text<'i, S: TextSource>(
    input: ImportInput<'i>,
    source: impl FnOnce(Box<dyn io::Read + Send + 'i>) -> S,
    reading: &mut SpanImport<'_, '_>,
    read: impl Fn(FileText<'_>, &mut SpanBatch<'_, '_>) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let ImportInput { file, bytes } = input;
    let place = |at| FilePlace::new(&file, at);
    let (mut source, mut cut_off) = (source(bytes), None);
    let next = || {
        source.next().or_else(|error| {
            cut_off = Some(error);
            Ok(None)
        })
    };
    reading.batches(next, |texts: TextBatch, batch| {
        texts.iter().try_for_each(|text| match text {
            Ok(text) => read(text, batch),
            Err((at, fault)) => {
                let skip = || SkippedItem { place: place(at), why: fault.to_owned() };
                batch.tally().count_damage("damaged part of a file", skip);
                Ok(())
            }
        })
    })?;
    if let Some(error) = cut_off {
        reading.cut_off(place(source.at()), &error);
    }
    Ok(())
}
