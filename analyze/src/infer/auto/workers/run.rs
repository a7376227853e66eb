//! Worker run: the calls of a worker for one request.

use crate::infer::auto::service::{MadeCallId, RequestId};

/// The calls that a worker made for one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WorkerRun {
    /// The worker.
    pub(super) thread: u32,
    /// Time at which the run began, at the latest, in nanoseconds by the clock of the service, as
    /// all times of a run.
    pub(super) begin: i64,
    /// Time at which the last call of the run ended. The request cannot be answered before.
    pub(super) done: i64,
    /// Time at which the run visibly ended. A worker may be delayed between the hand-over and its
    /// signal, so that the request may be answered before this time.
    pub(super) end: i64,
    /// The calls, in the order of time. Empty if the work needs none.
    pub(super) calls: Vec<MadeCallId>,
}

/// A call with its request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AttributedCall {
    pub(super) call: MadeCallId,
    pub(super) request: RequestId,
    /// The alternative request, with its probability.
    pub(super) rival: Option<(RequestId, f64)>,
    /// Whether recorded hand-offs show the request.
    pub(super) is_recorded: bool,
}
