//! Kinds of messages that mostly are deliveries out of queues, by the rare words that they share
//! with what was put there.

use message_trace::MessageId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::groundwork::Groundwork;
use crate::calls::Calls;
use crate::infer::input::InferenceInput;
use crate::tuning::words::{DECIDING_RELIABILITY, MIN_CASES};

/// Kind of a message: its hop and, for a response, the length of its request in bytes or, if that
/// length is rare, the number of its binary digits, negative. Responses of a broker that deliver
/// work have the hop of those that only acknowledge something.
type MessageKind = (u32, i64);

/// The kinds of messages that mostly are deliveries: out of a queue, or responses that share a word
/// with another request than the one before them on their connection.
#[derive(Default)]
pub(super) struct DeliveringKinds {
    delivering: FxHashSet<MessageKind>,
    /// The kinds with exact lengths.
    frequent: FxHashSet<MessageKind>,
}

impl DeliveringKinds {
    /// Counts the deliveries of each kind.
    pub(super) fn new(input: &InferenceInput<'_>, groundwork: &Groundwork) -> DeliveringKinds {
        let Groundwork { queues, words, calls, .. } = groundwork;
        let mut kinds = DeliveringKinds::default();
        if words.is_empty() {
            return kinds;
        }
        let mut exact: FxHashMap<MessageKind, u32> = FxHashMap::default();
        for row in input.trace.ids() {
            *exact.entry(exact_kind(input, calls, row)).or_default() += 1;
        }
        exact.retain(|_, count| *count >= MIN_CASES);
        kinds.frequent = exact.into_keys().collect();
        let mut counts: FxHashMap<MessageKind, [usize; 2]> = FxHashMap::default();
        let is_request = |row: MessageId| calls.request(calls.call_of_message(row)) == Some(row);
        for row in input.trace.ids() {
            let answered = calls.request(calls.call_of_message(row)).filter(|of| *of != row);
            let cause = words.cause(row).filter(|(_, sure)| *sure >= DECIDING_RELIABILITY);
            let is_delivery = queues.causes(row).is_some()
                || answered
                    .zip(cause)
                    .is_some_and(|(answered, (cause, _))| answered != cause && is_request(cause));
            let [deliveries, all] = counts.entry(kinds.kind(input, calls, row)).or_default();
            *deliveries += usize::from(is_delivery);
            *all += 1;
        }
        counts.retain(|_, [deliveries, all]| 2 * *deliveries > *all);
        kinds.delivering = counts.into_keys().collect();
        kinds
    }

    /// Returns whether messages like this one mostly are deliveries.
    pub(super) fn contains(
        &self,
        input: &InferenceInput<'_>,
        calls: &Calls,
        row: MessageId,
    ) -> bool {
        !self.delivering.is_empty() && self.delivering.contains(&self.kind(input, calls, row))
    }

    fn kind(&self, input: &InferenceInput<'_>, calls: &Calls, row: MessageId) -> MessageKind {
        let exact = exact_kind(input, calls, row);
        match self.frequent.contains(&exact) {
            true => exact,
            false => (exact.0, i64::from(exact.1.leading_zeros()) - i64::from(i64::BITS)),
        }
    }
}

fn exact_kind(input: &InferenceInput<'_>, calls: &Calls, row: MessageId) -> MessageKind {
    let request = calls.request(calls.call_of_message(row)).filter(|request| *request != row);
    (input.naming.hop(row), request.map_or(0, |request| input.trace.bytes(request)))
}
