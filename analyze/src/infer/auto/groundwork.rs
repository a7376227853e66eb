//! The groundwork of a batch: results that are found before any service is examined separately.

use super::queues::Queues;
use crate::calls::Calls;
use crate::infer::inference::Inference;
use crate::infer::input::InferenceInput;
use crate::infer::linking::LinkingAlgorithm;
use crate::links::Links;

/// The parts that all services of a batch share.
pub(super) struct Groundwork {
    /// Links by message linking.
    pub(super) linked: Links,
    /// Pairs of messages that are one call.
    pub(super) calls: Calls,
    /// Queues, and the deliveries of each.
    pub(super) queues: Queues,
}

impl Groundwork {
    /// The groundwork of a batch.
    pub(super) fn from_input(input: &InferenceInput<'_>) -> Groundwork {
        let InferenceInput { trace, naming, options, .. } = *input;
        let linked = LinkingAlgorithm.infer_links(input);
        let calls = Calls::from_trace(trace);
        let queues = Queues::from_trace(trace, naming, &calls, options.window);
        Groundwork { linked, calls, queues }
    }
}
