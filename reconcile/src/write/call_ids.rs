//! The texts of call ids, in a temporary file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use message_trace::PathError;

/// The texts of call ids, in a temporary file: there may be one for each two messages.
#[derive(Debug)]
pub(crate) struct CallIdFile {
    directory: PathBuf,
    file: File,
    /// Size of the file, in bytes.
    end: u64,
    /// Texts that are not in the file yet.
    waiting: Vec<u8>,
}

/// Number of bits for the length in a call id's position, a u64: bit 63 set, bits 16 to 62 the
/// offset in the file, bits 0 to 15 the length, both in bytes.
const LENGTH_BITS: u32 = 16;

impl CallIdFile {
    pub(crate) fn new(directory: &Path) -> Result<CallIdFile, PathError> {
        let file =
            tempfile::tempfile_in(directory).map_err(|error| PathError::io(directory, error))?;
        Ok(CallIdFile { directory: directory.to_owned(), file, end: 0, waiting: Vec::new() })
    }

    /// Adds the text of a call id, which is cut if it is very long, and returns its position.
    pub(crate) fn add(&mut self, text: &str) -> Result<u64, PathError> {
        let mut length = text.len().min((1 << LENGTH_BITS) - 1);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        let text = &text.as_bytes()[..length];
        let place = self.end + self.waiting.len() as u64;
        self.waiting.extend_from_slice(text);
        if self.waiting.len() > 1 << 20 {
            self.flush()?;
        }
        // The highest bit distinguishes an empty id from a missing one.
        Ok(1 << 63 | place << LENGTH_BITS | length as u64)
    }

    /// Writes the waiting texts to the file.
    pub(crate) fn flush(&mut self) -> Result<(), PathError> {
        let io = |error| PathError::io(&self.directory, error);
        self.file.write_all_at(&self.waiting, self.end).map_err(io)?;
        self.end += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Reader of the texts, fastest in about the order in which they were added.
    pub(crate) fn reader(&self) -> CallIdReader<'_> {
        CallIdReader { calls: self, begin: 0, window: Vec::new() }
    }
}

/// Reader of the texts of call ids.
#[derive(Debug)]
pub(crate) struct CallIdReader<'a> {
    calls: &'a CallIdFile,
    /// Position of the window in the file.
    begin: u64,
    window: Vec<u8>,
}

impl CallIdReader<'_> {
    /// The text of the `call` field of an imported row.
    pub(crate) fn get(&mut self, call: u64) -> Result<Option<String>, PathError> {
        const WINDOW: u64 = 64 << 10;
        if call == 0 {
            return Ok(None);
        }
        let (place, length) = ((call & !(1 << 63)) >> LENGTH_BITS, call & ((1 << LENGTH_BITS) - 1));
        if place < self.begin || self.begin + (self.window.len() as u64) < place + length {
            self.begin = place;
            self.window.resize(WINDOW.max(length).min(self.calls.end - place) as usize, 0);
            let read = self.calls.file.read_exact_at(&mut self.window, place);
            read.map_err(|error| PathError::io(&self.calls.directory, error))?;
        }
        let from = (place - self.begin) as usize;
        let text = self.window.get(from..from + length as usize).unwrap_or_default();
        Ok(Some(String::from_utf8_lossy(text).into_owned()))
    }
}
