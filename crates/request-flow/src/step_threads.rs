//! The threads at the ends of a step.

use serde::{Deserialize, Serialize};

/// The threads that handled the messages of a step, each at the moment of the time with the same
/// name in [`Step`](crate::Step). `None` if unknown, as for spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StepThreads {
    /// The process that received the call.
    pub process: Option<i32>,
    /// The thread that received the call.
    pub begin: Option<i32>,
    /// The thread that sent the response.
    pub end: Option<i32>,
    /// The process that sent the call.
    pub caller_process: Option<i32>,
    /// The thread that sent the call.
    pub caller_begin: Option<i32>,
    /// The thread that received the response.
    pub caller_end: Option<i32>,
}
