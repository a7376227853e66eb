//! A run: what a worker does for one request.

/// The calls that a worker made for one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WorkerRun {
    /// The worker.
    pub(super) thread: u32,
    /// When it began, at the latest.
    pub(super) begin: i64,
    /// When its last call ended. Its request cannot be answered before.
    pub(super) done: i64,
    /// When it ended, as far as is seen. A worker may be held up between what it hands over and
    /// the signal of it, so that its request is answered before this.
    pub(super) end: i64,
    /// The calls, in the order of time. None where work takes none.
    pub(super) calls: Vec<u32>,
}

/// A call whose request was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AttributedCall {
    pub(super) call: u32,
    pub(super) request: u32,
    /// Another request that it may be for, with that probability.
    pub(super) rival: Option<(u32, f64)>,
    /// Whether it is recorded that its work was handed on.
    pub(super) is_recorded: bool,
}
