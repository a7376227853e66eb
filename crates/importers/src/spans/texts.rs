//! Texts: parts of a file that are read each by itself, such as lines, with the places at which
//! they begin. Several go to a thread at a time.

use std::io;

use super::reading::{Piece, Reading};
use crate::error::Error;
use crate::reading::Input;
use crate::summary::{At, Place, Skip};
use crate::tuning::{MAX_TEXTS, TEXTS_BYTES};

/// Several texts.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    at: At,
    begin: usize,
    end: usize,
    /// What is wrong, where the part is nothing to be read.
    fault: Option<&'static str>,
}

/// One text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text<'t> {
    /// Where it begins.
    pub(crate) at: At,
    /// What it holds.
    pub(crate) bytes: &'t [u8],
}

impl Text<'_> {
    /// The place of a line of it, counted from 1.
    pub(crate) fn line(&self, number: usize) -> At {
        match self.at {
            At::Line(first) => At::Line(first + (number as u64).saturating_sub(1)),
            other => other,
        }
    }
}

/// What takes a file apart.
pub(crate) trait TextSource: Send {
    /// The next texts; `None` at the end. After an error there are none.
    fn next(&mut self) -> io::Result<Option<Texts>>;

    /// The place that is read now.
    fn at(&self) -> At;
}

impl Texts {
    /// Texts that are in `bytes`.
    pub(super) fn within(bytes: Vec<u8>) -> Texts {
        Texts { bytes, parts: Vec::new() }
    }

    /// Says that a text is at `begin..end` of the bytes.
    pub(super) fn part(&mut self, at: At, begin: usize, end: usize) {
        self.parts.push(Part { at, begin, end, fault: None });
    }

    /// Appends a text, which is what `write` appends to the bytes.
    pub(super) fn extend<T>(&mut self, at: At, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let begin = self.bytes.len();
        let done = write(&mut self.bytes);
        self.part(at, begin, self.bytes.len());
        done
    }

    /// Takes the last text away.
    pub(super) fn drop_last(&mut self) {
        if let Some(part) = self.parts.pop() {
            self.bytes.truncate(part.begin);
        }
    }

    /// Says that something was passed over.
    pub(super) fn fault(&mut self, at: At, fault: &'static str) {
        self.parts.push(Part { at, begin: 0, end: 0, fault: Some(fault) });
    }

    /// Whether there is neither a text nor a fault.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether they are enough for a thread.
    pub(super) fn are_many(&self) -> bool {
        self.bytes.len() >= TEXTS_BYTES || self.parts.len() >= MAX_TEXTS
    }

    /// All texts, and for what was passed over its place and what is wrong.
    pub(super) fn iter(&self) -> impl Iterator<Item = Result<Text<'_>, (At, &'static str)>> {
        self.parts.iter().map(|part| match part.fault {
            Some(fault) => Err((part.at, fault)),
            None => {
                let bytes = self.bytes.get(part.begin..part.end).unwrap_or_default();
                Ok(Text { at: part.at, bytes })
            }
        })
    }
}

/// Has `read` read each text of a file, on all processors. `source` takes its bytes apart.
pub(crate) fn each<'i, S: TextSource>(
    input: Input<'i>,
    source: impl FnOnce(Box<dyn io::Read + Send + 'i>) -> S,
    reading: &mut Reading<'_, '_>,
    read: impl Fn(Text<'_>, &mut Piece<'_, '_>) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let Input { file, bytes } = input;
    let place = |at| Place::new(&file, at);
    let (mut source, mut cut_off) = (source(bytes), None);
    let next = || {
        source.next().or_else(|error| {
            cut_off = Some(error);
            Ok(None)
        })
    };
    reading.pieces(next, |texts: Texts, piece| {
        texts.iter().try_for_each(|text| match text {
            Ok(text) => read(text, piece),
            Err((at, fault)) => {
                let skip = || Skip { place: place(at), why: fault.to_owned() };
                piece.tally().damage("part of a file that is damaged", skip);
                Ok(())
            }
        })
    })?;
    if let Some(error) = cut_off {
        reading.cut_off(place(source.at()), &error);
    }
    Ok(())
}
