//! One call: its name, its arguments as text, and who made it when.

use super::arguments::ArgumentCursor;
use super::lines::NextTime;
use super::traced_system::StraceCaller;

/// A call, whole.
#[derive(Clone, Copy)]
pub(super) struct StraceCall<'a> {
    pub(super) name: &'a [u8],
    /// Everything behind the bracket that opens, without the duration.
    pub(super) rest: &'a [u8],
    /// Who made it; the time is when.
    pub(super) caller: StraceCaller,
    /// When it returned, if that is known.
    pub(super) end: Option<i64>,
    /// Who knows when the next line of the file was written: it returned before.
    pub(super) next: &'a dyn NextTime,
}

impl<'a> StraceCall<'a> {
    /// A cursor at the first argument.
    pub(super) fn arguments(&self) -> ArgumentCursor<'a> {
        ArgumentCursor::new(self.rest)
    }

    /// Who made it, at the time of its return.
    pub(super) fn caller_at_return(&self) -> StraceCaller {
        self.caller.at_time(self.end.unwrap_or(self.caller.time))
    }
}
