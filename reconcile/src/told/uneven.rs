//! Connections on which not all requests or responses are told, of a protocol without ids: a head
//! was not kept, or what it said is nothing that the library knows. There it is not known which
//! bytes belong to which operation, so turns part messages, as they do where nothing is told.

use out_of_core::SpillableVec;
use protocols::Role;
use rustc_hash::FxHashMap;

use crate::told::operation::Operation;

/// The flows of a log on which requests and responses without ids are not equally many, sorted.
/// `operations` are those of the log, in any order.
pub(super) fn flows(operations: &SpillableVec<Operation>) -> Vec<u32> {
    // Requests more than responses; nothing where there are ids.
    let mut flows: FxHashMap<u32, Option<i64>> = FxHashMap::default();
    for operation in operations.iter() {
        let more = flows.entry(operation.flow).or_insert(Some(0));
        match (&mut *more, operation.role) {
            _ if operation.call.is_some() => *more = None,
            (Some(more), Role::Request) => *more += 1,
            (Some(more), Role::Response) => *more -= 1,
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
    fn connections_whose_answers_are_not_all_told() {
        let told = [
            (1, Role::Request, None),
            (1, Role::Response, None),
            (2, Role::Request, None),
            (2, Role::OneWay, None),
            (3, Role::Response, None),
            (4, Role::Request, Some(1)),
            (4, Role::Request, None),
        ];
        let operation = |(flow, role, call): (u32, Role, Option<u64>)| Operation {
            role,
            call,
            ..Operation::at(flow, Direction::Send, 10, 0)
        };
        let all = SpillableVec::collect(&MemoryPool::default(), told.map(operation)).unwrap();
        assert_eq!(flows(&all), [2, 3]);
    }
}
