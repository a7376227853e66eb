//! Connections that many causes share though their protocol has no ids: a client that asks again
//! while others still wait for their answers, as those of an event loop do. What one call sends
//! there is of as many causes as it has requests. Where a client waits for all answers before it
//! asks again, what it sends at once is one pipeline, which one thread made.

use message_trace::PathError;
use out_of_core::SpillableVec;
use protocols::MessageRole;

use crate::recorded_operations::operation::RecordedOperation;
use crate::tuning::{ASKED_PER_AGAIN, MIN_ASKED_AGAIN};

/// What a flow's client did at a moment: asked, or heard of an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ClientEvent {
    flow: u32,
    ticks: u64,
    asks: bool,
}

impl ClientEvent {
    fn from_operation(operation: &RecordedOperation) -> Option<ClientEvent> {
        let asks = match (operation.role, operation.is_received(), operation.call) {
            (MessageRole::Request, false, None) => true,
            (MessageRole::Response, true, None) => false,
            _ => return None,
        };
        Some(ClientEvent { flow: operation.flow, ticks: operation.ticks, asks })
    }
}

/// The flows of a log on which requests are sent while others wait, sorted. `operations` are those
/// of the log, in any order.
///
/// # Errors
/// When a temporary file cannot be written.
pub(super) fn find_interleaved_flows(
    operations: &SpillableVec<RecordedOperation>,
) -> Result<Vec<u32>, PathError> {
    let events = operations.iter().filter_map(ClientEvent::from_operation);
    let mut events = SpillableVec::collect(operations.pool(), events)?;
    events.sort_by_key(|event| *event)?;
    // One call that asks for several things is one.
    events.dedup_by_key(|event| *event);
    let mut flows = Vec::new();
    let mut begin = 0;
    while let Some(flow) = events.get(begin).map(|event| event.flow) {
        let end = events.end_where(begin, |event| event.flow == flow);
        let (mut asked, mut again, mut before) = (0, 0, false);
        for event in events.range(begin..end) {
            asked += usize::from(event.asks);
            again += usize::from(event.asks && before);
            before = event.asks;
        }
        if again >= MIN_ASKED_AGAIN && again * ASKED_PER_AGAIN >= asked {
            flows.push(flow);
        }
        begin = end;
    }
    Ok(flows)
}

#[cfg(test)]
mod tests {
    use out_of_core::MemoryPool;
    use socket_log::encode::Direction;

    use super::*;

    /// What is said on flow 7, a letter an operation: `q` asks, `a` answers, and what follows a
    /// space is of another call.
    fn said(words: &str, is_client: bool, call: Option<u64>) -> Vec<u32> {
        let mut operations = Vec::new();
        for (ticks, word) in (10..).zip(words.split(' ')) {
            for (at, letter) in (0..).zip(word.chars()) {
                let asks = letter == 'q';
                let direction = match asks == is_client {
                    true => Direction::Send,
                    false => Direction::Receive,
                };
                operations.push(RecordedOperation {
                    role: if asks { MessageRole::Request } else { MessageRole::Response },
                    call,
                    ..RecordedOperation::from_place(7, direction, ticks, at)
                });
            }
        }
        find_interleaved_flows(&SpillableVec::collect(&MemoryPool::default(), operations).unwrap())
            .unwrap()
    }

    #[test]
    fn who_asks_again_before_the_answer_asks_for_several() {
        let interleaved = "qq q aaa q q a a ".repeat(20);
        let interleaved = interleaved.trim_end();
        assert_eq!(said(interleaved, true, None), [7]);
        // A server reads all that has come before it answers, whoever asked.
        assert_eq!(said(interleaved, false, None), [0; 0]);
        assert_eq!(said(interleaved, true, Some(3)), [0; 0]);
    }

    #[test]
    fn a_pipeline_that_is_waited_for_is_of_one_cause() {
        let waited = "qqq aaa q a qq a a ".repeat(20);
        assert_eq!(said(waited.trim_end(), true, None), [0; 0]);
        // Answers that were not kept, or one command that was sent in parts, are no sign of it.
        let some = format!("{}q q a q q a", waited.repeat(3));
        assert_eq!(said(&some, true, None), [0; 0]);
        assert_eq!(said("q q q q", true, None), [0; 0]);
    }
}
