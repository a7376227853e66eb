//! What a format reads: a file, which may be opened twice, or bytes that stand for one.

use std::path::Path;

use message_trace::Progress;

use crate::error::Error;
use crate::fuzz::input_of;
use crate::reading::Input;

/// A file, or bytes that stand for one.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// A file, and who is told of what is read.
    File(&'a Path, &'a dyn Progress),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl<'a> Source<'a> {
    /// The name of the file.
    pub(super) fn name(&self) -> &'a Path {
        match self {
            Source::File(path, _) => path,
            Source::Bytes(_) => Path::new("input"),
        }
    }

    /// Opens it; whoever listens is told of what is read.
    pub(super) fn open(&self) -> Result<Input<'a>, Error> {
        match self {
            Source::File(path, progress) => Input::open(path, *progress),
            Source::Bytes(bytes) => input_of(bytes),
        }
    }

    /// Opens it; nobody is told.
    pub(super) fn open_quietly(&self) -> Result<Input<'a>, Error> {
        match self {
            Source::File(path, _) => Input::open(path, &()),
            Source::Bytes(bytes) => input_of(bytes),
        }
    }
}
