//! One call: its name, its arguments as text, its caller and its times.

use super::arguments::ArgumentCursor;
use super::lines::NextTime;
use super::traced_system::StraceCaller;

/// A complete call in strace's output.
#[derive(Clone, Copy)]
pub(super) struct StraceCall<'a> {
    pub(super) name: &'a [u8],
    /// Everything after the opening bracket, without the duration.
    pub(super) rest: &'a [u8],
    /// Calling thread, with the time of the call.
    pub(super) caller: StraceCaller,
    /// Time of the call's return, in nanoseconds since the Unix epoch, if that is known.
    pub(super) end: Option<i64>,
    /// Time of the next line of the file: the call returned before.
    pub(super) next: &'a dyn NextTime,
}

impl<'a> StraceCall<'a> {
    /// Cursor at the first argument.
    pub(super) fn arguments(&self) -> ArgumentCursor<'a> {
        ArgumentCursor::new(self.rest)
    }

    /// Calling thread, with the time of the return.
    pub(super) fn caller_at_return(&self) -> StraceCaller {
        self.caller.at_time(self.end.unwrap_or(self.caller.time))
    }
}
