//! One call: its name, its arguments as text, and who made it when.

use super::lines::Next;
use super::value::Cursor;
use super::world::Who;

/// A call, whole.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) name: &'a [u8],
    /// Everything behind the bracket that opens, without the duration.
    pub(super) rest: &'a [u8],
    /// Who made it; the time is when.
    pub(super) who: Who,
    /// When it returned, if that is known.
    pub(super) end: Option<i64>,
    /// Who knows when the next line of the file was written: it returned before.
    pub(super) next: &'a dyn Next,
}

impl<'a> Call<'a> {
    /// A cursor at the first argument.
    pub(super) fn arguments(&self) -> Cursor<'a> {
        Cursor::new(self.rest)
    }

    /// Who made it, at the time of its return.
    pub(super) fn returned(&self) -> Who {
        self.who.later(self.end.unwrap_or(self.who.time))
    }
}
