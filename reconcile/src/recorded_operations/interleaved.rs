//! Interleaved flows: connections that several causes share although their protocol has no ids.
//! Their client sends further requests while others still wait for their answers, as an event loop
//! does. There every request of a call has a cause of its own. If a client waits for all answers
//! before it sends again, the requests of one call are a pipeline, which one thread made.

use message_trace::PathError;
use out_of_core::SpillableVec;
use protocols::MessageRole;

use crate::recorded_operations::operation::RecordedOperation;
use crate::tuning::{MIN_FURTHER_REQUESTS, REQUESTS_PER_FURTHER_ONE};

/// Action of a flow's client at a moment: it sent a request, or received an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ClientEvent {
    flow: u32,
    ticks: u64,
    /// Whether the client sent a request.
    asks: bool,
}

impl ClientEvent {
    /// The event of an operation; `None` if the operation has an id, or is not of the client.
    fn from_operation(operation: &RecordedOperation) -> Option<ClientEvent> {
        let asks = match (operation.role, operation.is_received(), operation.call) {
            (MessageRole::Request, false, None) => true,
            (MessageRole::Response, true, None) => false,
            _ => return None,
        };
        Some(ClientEvent { flow: operation.flow, ticks: operation.ticks, asks })
    }
}

/// The flows of a log on which requests are sent while earlier ones wait for their answers, sorted.
/// `operations` are the log's, in any order.
///
/// # Errors
/// Fails if a temporary file cannot be written.
pub(super) fn find_interleaved_flows(
    operations: &SpillableVec<RecordedOperation>,
) -> Result<Vec<u32>, PathError> {
    let events = operations.iter().filter_map(ClientEvent::from_operation);
    let mut events = SpillableVec::collect(operations.pool(), events)?;
    events.sort_by_key(|event| *event)?;
    // One call with several requests counts once.
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
        if again >= MIN_FURTHER_REQUESTS && again * REQUESTS_PER_FURTHER_ONE >= asked {
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

    /// The interleaved flows for a dialog on flow 7, one letter per operation: `q` is a request,
    /// `a` an answer, and a space separates calls.
    fn interleaved_flows(words: &str, is_client: bool, call: Option<u64>) -> Vec<u32> {
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
    fn a_request_before_the_previous_answer_marks_a_shared_connection() {
        let interleaved = "qq q aaa q q a a ".repeat(20);
        let interleaved = interleaved.trim_end();
        assert_eq!(interleaved_flows(interleaved, true, None), [7]);
        // A server reads all requests that have arrived before it answers, whatever client sent
        // them.
        assert_eq!(interleaved_flows(interleaved, false, None), [0; 0]);
        assert_eq!(interleaved_flows(interleaved, true, Some(3)), [0; 0]);
    }

    #[test]
    fn a_pipeline_that_is_awaited_has_one_cause() {
        let waited = "qqq aaa q a qq a a ".repeat(20);
        assert_eq!(interleaved_flows(waited.trim_end(), true, None), [0; 0]);
        // Answers that were not kept, or one command that was sent in parts, are not evidence.
        let some = format!("{}q q a q q a", waited.repeat(3));
        assert_eq!(interleaved_flows(&some, true, None), [0; 0]);
        assert_eq!(interleaved_flows("q q q q", true, None), [0; 0]);
    }
}
