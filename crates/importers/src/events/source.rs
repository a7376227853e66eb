//! Source of a format: a file, which may be opened twice, or bytes in place of one.

use std::path::Path;

use message_trace::Progress;

use crate::error::Error;
use crate::fuzz::input_of;
use crate::import_input::ImportInput;

/// A file, or bytes in place of one.
#[derive(Clone, Copy)]
pub(super) enum EventSource<'a> {
    /// A file, and the receiver of its progress.
    File(&'a Path, &'a dyn Progress),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl<'a> EventSource<'a> {
    /// Name of the file.
    pub(super) fn name(&self) -> &'a Path {
        match self {
            EventSource::File(path, _) => path,
            EventSource::Bytes(_) => Path::new("input"),
        }
    }

    /// Opens the source and reports progress.
    pub(super) fn open(&self) -> Result<ImportInput<'a>, Error> {
        match self {
            EventSource::File(path, progress) => ImportInput::open(path, *progress),
            EventSource::Bytes(bytes) => input_of(bytes),
        }
    }

    /// Opens the source without reporting progress.
    pub(super) fn open_quietly(&self) -> Result<ImportInput<'a>, Error> {
        match self {
            EventSource::File(path, _) => ImportInput::open(path, &()),
            EventSource::Bytes(bytes) => input_of(bytes),
        }
    }
}
