//! Operations of one log, while its calls are read: which operations begin in a call, and where.

use std::ops::Range;

use out_of_core::SpillableVec;
use rustc_hash::FxHashMap;
use socket_log::encode::Direction;

use crate::recorded_operations::operation::RecordedOperation;

/// A call: its flow's number in the log, its direction, and its time in ticks.
type CallKey = (u32, Direction, u64);

/// Flows of a log, sorted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowsOfLog<'a> {
    /// Flows on which requests of several causes are sent, although the protocol has no ids of
    /// requests: interleaved flows, and flows with coalesced writes (modules of these names).
    pub(super) interleaved: &'a [u32],
    /// Flows with incomplete operations: see [`super::uneven`].
    pub(super) uneven: &'a [u32],
}

/// The operations of a log.
#[derive(Clone, Debug)]
pub(crate) struct LogOperations<'a> {
    operations: &'a SpillableVec<RecordedOperation>,
    /// The range of the log's operations.
    range: Range<usize>,
    flows: FlowsOfLog<'a>,
    /// The direction of the latest call of flows with incomplete operations.
    turns: FxHashMap<u32, Direction>,
    /// The latest call that was looked up, and the number of earlier calls with its key.
    latest: Option<(CallKey, usize)>,
}

impl<'a> LogOperations<'a> {
    pub(super) fn new(
        operations: &'a SpillableVec<RecordedOperation>,
        range: Range<usize>,
        flows: FlowsOfLog<'a>,
    ) -> LogOperations<'a> {
        LogOperations { operations, range, flows, turns: FxHashMap::default(), latest: None }
    }

    /// Calls `piece` for each piece of a transfer of `bytes` bytes, with its size and whether an
    /// operation begins with its first byte. An operation begins a piece if it is the first of the
    /// transfer or has an id, or if its connection is shared by several causes. Otherwise, the data
    /// of one call has one cause: a pipeline, with operations that all belong to one message. On
    /// flows with incomplete operations, a turn begins a piece as well.
    pub(crate) fn divide_transfer(
        &mut self,
        call: CallKey,
        bytes: u32,
        mut piece: impl FnMut(u32, bool),
    ) {
        let (mut done, mut begins) = (0, self.begins_turn(call) && bytes > 0);
        let mut has_operation = false;
        let is_shared = self.flows.interleaved.binary_search(&call.0).is_ok();
        // If two calls have one key, all operations are attributed to the first.
        if self.count_repeats(call) == 0 {
            for at in self.places_of_call(call).filter_map(|place| self.operations.get(place)) {
                if at.at >= bytes {
                    break;
                }
                if has_operation && at.call.is_none() && !is_shared {
                    continue;
                }
                if at.at > done {
                    piece(at.at - done, begins);
                }
                (done, begins, has_operation) = (at.at, true, true);
            }
        }
        piece(bytes - done, begins);
    }

    /// Whether a call begins a turn on a flow with incomplete operations: it has another direction
    /// than the flow's previous call.
    fn begins_turn(&mut self, (flow, direction, _): CallKey) -> bool {
        self.flows.uneven.binary_search(&flow).is_ok()
            && self.turns.insert(flow, direction).is_some_and(|latest| latest != direction)
    }

    /// The operation of the next datagram, by its index plus one; 0 if none is known. One call may
    /// send several.
    pub(crate) fn next_datagram(&mut self, call: CallKey) -> u32 {
        let number = self.count_repeats(call);
        let place = self.places_of_call(call).nth(number);
        place.and_then(|place| u32::try_from(place + 1).ok()).unwrap_or(0)
    }

    /// Number of calls with the same key immediately before this one.
    fn count_repeats(&mut self, call: CallKey) -> usize {
        let number = match self.latest {
            Some((latest, number)) if latest == call => number + 1,
            _ => 0,
        };
        self.latest = Some((call, number));
        number
    }

    /// The indices of the operations that begin in a call, in order.
    fn places_of_call(&self, (flow, direction, ticks): CallKey) -> Range<usize> {
        let key = (flow, direction == Direction::Receive, ticks);
        let of_call = |operation: &RecordedOperation| {
            let (flow, received, ticks, _) = operation.sort_key();
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
    fn operations_at(
        places: &[(u32, u64, u32)],
        call: Option<u64>,
    ) -> SpillableVec<RecordedOperation> {
        let operation = |(flow, ticks, at): &(u32, u64, u32)| RecordedOperation {
            call,
            ..RecordedOperation::from_place(*flow, Direction::Send, *ticks, *at)
        };
        SpillableVec::collect(&MemoryPool::default(), places.iter().map(operation)).unwrap()
    }

    #[test]
    fn each_operation_begins_a_piece() {
        let all =
            operations_at(&[(1, 10, 0), (1, 10, 30), (1, 20, 5), (1, 20, 99), (2, 10, 7)], Some(3));
        let mut of_log = LogOperations::new(&all, 0..5, FlowsOfLog::default());
        let mut pieces = |flow, direction, ticks, bytes| {
            let mut pieces = Vec::new();
            of_log.divide_transfer((flow, direction, ticks), bytes, |bytes, begins| {
                pieces.push((bytes, begins));
            });
            pieces
        };
        let sent = Direction::Send;
        assert_eq!(pieces(1, sent, 10, 100), [(30, true), (70, true)]);
        assert_eq!(pieces(1, sent, 20, 99), [(5, false), (94, true)], "one is beyond the call");
        assert_eq!(pieces(2, sent, 10, 8), [(7, false), (1, true)]);
        assert_eq!(pieces(2, sent, 10, 9), [(9, false)], "the previous call has all operations");
        assert_eq!(pieces(2, sent, 11, 9), [(9, false)]);
        assert_eq!(pieces(1, Direction::Receive, 10, 100), [(100, false)]);
        assert_eq!(pieces(1, sent, 10, 0), [(0, false)]);
    }

    #[test]
    fn a_pipeline_without_ids_is_one_piece() {
        let all = operations_at(&[(1, 10, 4), (1, 10, 30), (1, 10, 50), (1, 20, 0)], None);
        let mut of_log = LogOperations::new(&all, 0..4, FlowsOfLog::default());
        let mut pieces = Vec::new();
        for ticks in [10, 20] {
            of_log.divide_transfer((1, Direction::Send, ticks), 100, |bytes, begins| {
                pieces.push((bytes, begins));
            });
        }
        assert_eq!(pieces, [(4, false), (96, true), (100, true)]);
    }

    #[test]
    fn on_a_shared_connection_each_operation_begins_a_piece_without_an_id() {
        let all =
            operations_at(&[(1, 10, 4), (1, 10, 30), (1, 20, 0), (2, 20, 0), (2, 20, 9)], None);
        let mut of_log =
            LogOperations::new(&all, 0..5, FlowsOfLog { interleaved: &[1], uneven: &[] });
        let mut pieces = Vec::new();
        for (flow, ticks) in [(1, 10), (1, 20), (2, 20)] {
            of_log.divide_transfer((flow, Direction::Send, ticks), 40, |bytes, begins| {
                pieces.push((bytes, begins));
            });
        }
        assert_eq!(pieces, [(4, false), (26, true), (10, true), (40, true), (40, true)]);
    }

    /// A turn without a recorded operation also begins a message if others are missing.
    #[test]
    fn with_incomplete_operations_each_turn_begins_a_piece() {
        let all = operations_at(&[(1, 10, 0), (1, 30, 4), (2, 10, 0)], None);
        let pieces = |uneven: &[u32]| {
            let flows = FlowsOfLog { interleaved: &[], uneven };
            let mut of_log = LogOperations::new(&all, 0..3, flows);
            let mut pieces = Vec::new();
            let (sent, received) = (Direction::Send, Direction::Receive);
            for (direction, ticks) in [(sent, 10), (received, 15), (sent, 20), (sent, 25)] {
                let piece = |bytes, begins| pieces.push((bytes, begins));
                of_log.divide_transfer((1, direction, ticks), 40, piece);
            }
            of_log.divide_transfer((1, received, 28), 40, |_, _| {});
            of_log.divide_transfer((1, sent, 30), 40, |bytes, begins| pieces.push((bytes, begins)));
            pieces
        };
        let expected = |answer, turn| {
            vec![(40, true), (40, answer), (40, turn), (40, false), (4, turn), (36, true)]
        };
        assert_eq!(pieces(&[]), expected(false, false));
        assert_eq!(pieces(&[1]), expected(true, true));
        assert_eq!(pieces(&[2]), expected(false, false));
    }

    #[test]
    fn datagrams_of_one_call_have_an_operation_each() {
        let all = operations_at(&[(1, 5, 0), (1, 10, 0), (1, 10, 0), (1, 20, 0)], None);
        let mut of_log = LogOperations::new(&all, 0..4, FlowsOfLog::default());
        let mut next = |ticks| of_log.next_datagram((1, Direction::Send, ticks));
        assert_eq!([next(10), next(10), next(10), next(20), next(10)], [2, 3, 0, 4, 2]);
    }
}
