//! The operations of one log, while its calls are read: which begin in a call, and where.

use std::ops::Range;

use out_of_core::SpillableVec;
use socket_log::encode::Direction;

use crate::told::operation::Operation;

/// A call: its flow's number in the log, its direction, and its time in ticks.
type CallKey = (u32, Direction, u64);

/// The operations of a log.
#[derive(Clone, Debug)]
pub(crate) struct ToldOfLog<'a> {
    operations: &'a SpillableVec<Operation>,
    range: Range<usize>,
    /// The flows on which many causes ask without ids, sorted.
    interleaved: &'a [u32],
    /// The call that was asked about last, and how many with its key were before it.
    latest: Option<(CallKey, usize)>,
}

impl<'a> ToldOfLog<'a> {
    pub(super) fn new(
        operations: &'a SpillableVec<Operation>,
        range: Range<usize>,
        interleaved: &'a [u32],
    ) -> ToldOfLog<'a> {
        ToldOfLog { operations, range, interleaved, latest: None }
    }

    /// Calls `piece` for each piece of a transfer of `bytes` bytes, with its size and whether an
    /// operation begins with its first byte. An operation begins a piece if it is the first of the
    /// transfer or has an id, or if its connection is shared by many causes. Else, what one call
    /// sends at once was made for one cause: a pipeline, whose operations are all told of one
    /// message.
    pub(crate) fn divide(&mut self, call: CallKey, bytes: u32, mut piece: impl FnMut(u32, bool)) {
        let (mut done, mut begins) = (0, false);
        let is_shared = self.interleaved.binary_search(&call.0).is_ok();
        // Of two calls with one key all is told of the first.
        if self.number(call) == 0 {
            for at in self.places(call).filter_map(|place| self.operations.get(place)) {
                if at.at >= bytes {
                    break;
                }
                if begins && at.call.is_none() && !is_shared {
                    continue;
                }
                if at.at > done {
                    piece(at.at - done, begins);
                }
                (done, begins) = (at.at, true);
            }
        }
        piece(bytes - done, begins);
    }

    /// The operation of the next datagram, by its place among all plus one; 0 where none is known.
    /// One call may send several.
    pub(crate) fn datagram(&mut self, call: CallKey) -> u32 {
        let number = self.number(call);
        let place = self.places(call).nth(number);
        place.and_then(|place| u32::try_from(place + 1).ok()).unwrap_or(0)
    }

    /// How many calls with the same key were right before this one.
    fn number(&mut self, call: CallKey) -> usize {
        let number = match self.latest {
            Some((latest, number)) if latest == call => number + 1,
            _ => 0,
        };
        self.latest = Some((call, number));
        number
    }

    /// The places of the operations that begin in a call, in order.
    fn places(&self, (flow, direction, ticks): CallKey) -> Range<usize> {
        let key = (flow, direction == Direction::Receive, ticks);
        let of_call = |operation: &Operation| {
            let (flow, received, ticks, _) = operation.key();
            (flow, received, ticks)
        };
        let range = self.range.clone();
        let begin = self.operations.partition_point(range.clone(), |other| of_call(other) < key);
        let rest = self.operations.range(begin..range.end);
        let count = rest.take_while(|other| of_call(other) == key).count();
        begin..begin + count
    }
}

#[cfg(test)]
mod tests {
    use out_of_core::MemoryPool;

    use super::*;

    /// Operations at these places: flow, ticks and offset.
    fn told(places: &[(u32, u64, u32)], call: Option<u64>) -> SpillableVec<Operation> {
        let operation = |(flow, ticks, at): &(u32, u64, u32)| Operation {
            call,
            ..Operation::at(*flow, Direction::Send, *ticks, *at)
        };
        SpillableVec::collect(&MemoryPool::default(), places.iter().map(operation)).unwrap()
    }

    #[test]
    fn each_operation_begins_a_piece() {
        let all = told(&[(1, 10, 0), (1, 10, 30), (1, 20, 5), (1, 20, 99), (2, 10, 7)], Some(3));
        let mut of_log = ToldOfLog::new(&all, 0..5, &[]);
        let mut pieces = |flow, direction, ticks, bytes| {
            let mut pieces = Vec::new();
            of_log.divide((flow, direction, ticks), bytes, |bytes, begins| {
                pieces.push((bytes, begins));
            });
            pieces
        };
        let sent = Direction::Send;
        assert_eq!(pieces(1, sent, 10, 100), [(30, true), (70, true)]);
        assert_eq!(pieces(1, sent, 20, 99), [(5, false), (94, true)], "one is beyond the call");
        assert_eq!(pieces(2, sent, 10, 8), [(7, false), (1, true)]);
        assert_eq!(pieces(2, sent, 10, 9), [(9, false)], "all was told of the call before");
        assert_eq!(pieces(2, sent, 11, 9), [(9, false)]);
        assert_eq!(pieces(1, Direction::Receive, 10, 100), [(100, false)]);
        assert_eq!(pieces(1, sent, 10, 0), [(0, false)]);
    }

    #[test]
    fn a_pipeline_without_ids_is_one_piece() {
        let all = told(&[(1, 10, 4), (1, 10, 30), (1, 10, 50), (1, 20, 0)], None);
        let mut of_log = ToldOfLog::new(&all, 0..4, &[]);
        let mut pieces = Vec::new();
        for ticks in [10, 20] {
            of_log.divide((1, Direction::Send, ticks), 100, |bytes, begins| {
                pieces.push((bytes, begins));
            });
        }
        assert_eq!(pieces, [(4, false), (96, true), (100, true)]);
    }

    #[test]
    fn where_many_causes_ask_each_operation_begins_a_piece_without_an_id() {
        let all = told(&[(1, 10, 4), (1, 10, 30), (1, 20, 0), (2, 20, 0), (2, 20, 9)], None);
        let mut of_log = ToldOfLog::new(&all, 0..5, &[1]);
        let mut pieces = Vec::new();
        for (flow, ticks) in [(1, 10), (1, 20), (2, 20)] {
            of_log.divide((flow, Direction::Send, ticks), 40, |bytes, begins| {
                pieces.push((bytes, begins));
            });
        }
        assert_eq!(pieces, [(4, false), (26, true), (10, true), (40, true), (40, true)]);
    }

    #[test]
    fn datagrams_of_one_call_have_an_operation_each() {
        let all = told(&[(1, 5, 0), (1, 10, 0), (1, 10, 0), (1, 20, 0)], None);
        let mut of_log = ToldOfLog::new(&all, 0..4, &[]);
        let mut next = |ticks| of_log.datagram((1, Direction::Send, ticks));
        assert_eq!([next(10), next(10), next(10), next(20), next(10)], [2, 3, 0, 4, 2]);
    }
}
