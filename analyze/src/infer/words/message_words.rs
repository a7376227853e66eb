//! The words of a message as one of its ends saw them, or as the other end did if no words of the
//! first are known.

use message_trace::{MessageEnd, MessageId, MessageTrace, WordHash};

/// The words of a message as it was sent.
pub(in crate::infer) fn sent_words(trace: &MessageTrace, row: MessageId) -> &[WordHash] {
    words(trace, row, MessageEnd::ALL)
}

/// The words of a message as it was received.
pub(in crate::infer) fn received_words(trace: &MessageTrace, row: MessageId) -> &[WordHash] {
    let [sent, received] = MessageEnd::ALL;
    words(trace, row, [received, sent])
}

fn words(trace: &MessageTrace, row: MessageId, [end, other]: [MessageEnd; 2]) -> &[WordHash] {
    let known = trace.words(row, end);
    if known.is_empty() { trace.words(row, other) } else { known }
}
