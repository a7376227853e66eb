//! The input of an algorithm.

use message_trace::{MessageTrace, Progress};

use crate::handoffs::Handoff;
use crate::naming::Naming;
use crate::options::Options;

/// The input of an inference: a batch of a trace, the names in it, and the options. It is the same
/// for every algorithm.
#[derive(Clone, Copy)]
pub struct InferenceInput<'a> {
    /// The messages, sorted by the corrected time of their sending.
    pub trace: &'a MessageTrace,
    /// The number of the first of these messages in the whole trace.
    pub first: u64,
    /// Hand-offs between threads in the time of these messages; empty if they were not recorded.
    pub handoffs: &'a [Handoff],
    /// The nodes and hops of these messages.
    pub naming: &'a Naming,
    /// Options that the user chose, also for other algorithms.
    pub options: &'a Options,
    /// Receiver of progress reports.
    pub progress: &'a dyn Progress,
}

impl<'a> InferenceInput<'a> {
    /// An input with the whole trace, without progress reports.
    pub fn without_progress(
        trace: &'a MessageTrace,
        naming: &'a Naming,
        options: &'a Options,
    ) -> InferenceInput<'a> {
        InferenceInput { trace, first: 0, handoffs: &[], naming, options, progress: &() }
    }
}
