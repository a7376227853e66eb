//! The groundwork of a batch: results that are found before any service is examined separately.

use super::queues::Queues;
use crate::calls::Calls;
use crate::infer::input::InferenceInput;
use crate::infer::linking::LinkingAlgorithm;
use crate::infer::words::WordLinks;
use crate::links::Links;

/// The parts that all services of a batch share.
pub(super) struct Groundwork {
    /// Links by message linking, without words.
    pub(super) linked: Links,
    /// Pairs of messages that are one call.
    pub(super) calls: Calls,
    /// Queues, and the deliveries of each.
    pub(super) queues: Queues,
    /// Causes of single messages by rare words.
    pub(super) words: WordLinks,
}

impl Groundwork {
    /// The groundwork of a batch.
    pub(super) fn from_input(input: &InferenceInput<'_>) -> Groundwork {
        let InferenceInput { trace, naming, options, .. } = *input;
        let words = WordLinks::from_input(input);
        let linked = LinkingAlgorithm::link_messages(input, &WordLinks::default());
        let calls = Calls::from_trace(trace);
        let queues = Queues::from_trace(trace, naming, &calls, options.window);
        Groundwork { linked, calls, queues, words }
    }
}
