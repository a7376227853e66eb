//! What a format reads: a file, which may be opened twice, or bytes that stand for one.

use std::path::Path;

use message_trace::Progress;

use crate::error::Error;
use crate::fuzz::input_of;
use crate::import_input::ImportInput;

/// A file, or bytes that stand for one.
#[derive(Clone, Copy)]
pub(super) enum EventSource<'a> {
    /// A file, and who is told of what is read.
    File(&'a Path, &'a dyn Progress),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl<'a> EventSource<'a> {
    /// The name of the file.
    pub(super) fn name(&self) -> &'a Path {
        match self {
            EventSource::File(path, _) => path,
            EventSource::Bytes(_) => Path::new("input"),
        }
    }

    /// Opens it; whoever listens is told of what is read.
    pub(super) fn open(&self) -> Result<ImportInput<'a>, Error> {
        match self {
            EventSource::File(path, progress) => ImportInput::open(path, *progress),
            EventSource::Bytes(bytes) => input_of(bytes),
        }
    }

    /// Opens it; nobody is told.
    pub(super) fn open_quietly(&self) -> Result<ImportInput<'a>, Error> {
        match self {
            EventSource::File(path, _) => ImportInput::open(path, &()),
            EventSource::Bytes(bytes) => input_of(bytes),
        }
    }
}
