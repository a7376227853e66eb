//! Uneven flows: connections of a protocol without ids on which some requests or responses are not
//! recorded, because a snippet was not kept, or has content that the library does not know. There
//! it is uncertain which bytes belong to which operation, so turns (all bytes that one side sends
//! until the other side sends) separate messages, as they do without operations.

use out_of_core::SpillableVec;
use protocols::MessageRole;
use rustc_hash::FxHashMap;

use crate::recorded_operations::operation::RecordedOperation;

/// The flows of a log with unequal numbers of requests and responses without ids, sorted.
/// `operations` are the log's, in any order.
pub(super) fn find_uneven_flows(operations: &SpillableVec<RecordedOperation>) -> Vec<u32> {
    // Surplus of requests over responses; `None` for flows with ids.
    let mut flows: FxHashMap<u32, Option<i64>> = FxHashMap::default();
    for operation in operations.iter() {
        let more = flows.entry(operation.flow).or_insert(Some(0));
        match (&mut *more, operation.role) {
            _ if operation.call.is_some() => *more = None,
            (Some(more), MessageRole::Request) => *more += 1,
            (Some(more), MessageRole::Response) => *more -= 1,
            _ => {}
        }
    }
    let is_uneven = |more: Option<i64>| more.is_some_and(|more| more != 0);
    let uneven = flows.into_iter().filter(|(_, more)| is_uneven(*more));
    let mut uneven: Vec<u32> = uneven.map(|(flow, _)| flow).collect();
    uneven.sort_unstable();
    uneven
}

#[cfg(test)]
mod tests {
    use out_of_core::MemoryPool;
    use socket_log::encode::Direction;

    use super::*;

    #[test]
    fn connections_with_missing_answers_are_uneven() {
        let recorded = [
            (1, MessageRole::Request, None),
            (1, MessageRole::Response, None),
            (2, MessageRole::Request, None),
            (2, MessageRole::OneWay, None),
            (3, MessageRole::Response, None),
            (4, MessageRole::Request, Some(1)),
            (4, MessageRole::Request, None),
        ];
        let operation = |(flow, role, call): (u32, MessageRole, Option<u64>)| RecordedOperation {
            role,
            call,
            ..RecordedOperation::from_place(flow, Direction::Send, 10, 0)
        };
        let all = SpillableVec::collect(&MemoryPool::default(), recorded.map(operation)).unwrap();
        assert_eq!(find_uneven_flows(&all), [2, 3]);
    }
}
