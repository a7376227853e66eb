//! Call streams of connections: the sends and the receives of each direction, each sorted by time.
//! The streams of most connections are in memory, many connections together; the streams of a
//! connection with very many calls are sorted separately, in files (`out_of_core::ExternalSorter`).
//! Matching uses one interface for both.

use std::ops::Range;
use std::path::Path;

use message_trace::PathError;
use out_of_core::{
    ExternalSorter, KeyedRecord, MemoryBudget, ReadFailure, SortedRuns, SpillableVec,
};

use crate::calls::{StreamCall, StreamTransfer};
use crate::connections::connection::Connection;
use crate::indices::ConnectionIndex;
use crate::partitioning::partition_pass::ConnectionsOfSockets;
use crate::streams::tally::CallTally;
use crate::tuning::MAX_SORTED_CALLS;

/// The four call streams of one connection: of each direction first the sends, then the receives.
pub(crate) trait CallStreams {
    /// The calls of a stream, sorted by time; equal times in the order of logs and records.
    fn calls(&self, stream: usize) -> impl Iterator<Item = StreamTransfer>;

    /// Summary of a call stream.
    fn tally(&self, stream: usize) -> CallTally;

    /// Fails if some calls could not be read.
    fn check(&self) -> Result<(), PathError>;
}

/// Lookup of a call's connection.
#[derive(Clone, Copy)]
pub(crate) struct ConnectionLookup<'a> {
    pub(crate) connections: &'a SpillableVec<Connection>,
    /// The connection of each socket.
    pub(crate) connection_of: &'a ConnectionsOfSockets,
}

impl ConnectionLookup<'_> {
    /// The connection of a call; `None` if the call has no connection.
    pub(crate) fn connection_of_call(&self, call: &StreamCall) -> Option<ConnectionIndex> {
        self.connection_of.get(call.socket_index().index())?.get()
    }

    /// The number of the call stream, of the four of `connection`, to which a call belongs.
    fn stream_of_call(&self, connection: ConnectionIndex, call: &StreamCall) -> usize {
        let is_end =
            |connection: &Connection| connection.accepting.get() == Some(call.socket_index());
        let accepting = usize::from(self.connections.get(connection.index()).is_some_and(is_end));
        let received = call.socket as usize & 1;
        2 * (accepting ^ received) + received
    }
}

/// The calls of several connections, in memory.
pub(crate) struct PartitionStreams {
    calls: Vec<StreamCall>,
    /// End of the calls by connection and call stream.
    ends: Vec<u32>,
}

/// The calls of one connection, in memory.
pub(crate) struct InMemoryStreams<'a>([&'a [StreamCall]; 4]);

impl PartitionStreams {
    /// Groups the calls by the connections in `range`, and sorts them by time; equal times stay in
    /// order.
    pub(crate) fn new(
        owners: ConnectionLookup,
        range: &Range<u32>,
        calls: Vec<Vec<StreamCall>>,
    ) -> PartitionStreams {
        let place = |call: &StreamCall| {
            let connection = owners.connection_of_call(call)?;
            let local = connection.index().checked_sub(range.start as usize)?;
            Some(4 * local + owners.stream_of_call(connection, call))
        };
        let mut places = vec![0u32; 4 * range.len()];
        calls.iter().flatten().for_each(|call| {
            if let Some(place) = place(call).and_then(|place| places.get_mut(place)) {
                *place += 1;
            }
        });
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        let nothing = StreamCall { time: 0, bytes: 0, origin: 0, tid: 0, socket: 0 };
        let mut sorted = vec![nothing; sum as usize];
        for call in calls.into_iter().flatten() {
            let Some(place) = place(&call).and_then(|place| places.get_mut(place)) else {
                continue;
            };
            if let Some(slot) = sorted.get_mut(*place as usize) {
                *slot = call;
            }
            *place += 1;
        }
        // Each entry has advanced to the end of its call stream.
        let mut this = PartitionStreams { calls: sorted, ends: places };
        for stream in 0..this.ends.len() {
            let range = this.call_range(stream);
            let calls = this.calls.get_mut(range).unwrap_or(&mut []);
            if !calls.is_sorted_by_key(|call| call.time) {
                calls.sort_by_key(|call| call.time);
            }
        }
        this
    }

    /// The range of the calls of a call stream, by its number among those of all connections.
    fn call_range(&self, stream: usize) -> Range<usize> {
        let begin =
            stream.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(stream).copied().unwrap_or(begin);
        begin as usize..end as usize
    }

    /// The calls of one connection, by its index in the range.
    pub(crate) fn of_connection(&self, local: usize) -> InMemoryStreams<'_> {
        InMemoryStreams(
            [0, 1, 2, 3]
                .map(|stream| self.calls.get(self.call_range(4 * local + stream)).unwrap_or(&[])),
        )
    }
}

impl CallStreams for InMemoryStreams<'_> {
    fn calls(&self, stream: usize) -> impl Iterator<Item = StreamTransfer> {
        self.0.get(stream).copied().unwrap_or(&[]).iter().map(|call| call.to_transfer())
    }

    fn tally(&self, stream: usize) -> CallTally {
        let mut tally = CallTally::default();
        self.calls(stream).for_each(|call| tally.add_call(&call));
        tally
    }

    fn check(&self) -> Result<(), PathError> {
        Ok(())
    }
}

impl KeyedRecord for StreamCall {
    type Key = i64;

    fn key(&self) -> i64 {
        self.time
    }
}

/// Sorter for the calls of one connection with very many.
pub(crate) struct StreamSorter<'a> {
    sorters: [ExternalSorter<'a, StreamCall>; 4],
    tallies: [CallTally; 4],
}

/// The sorted calls of one connection.
pub(crate) struct SortedStreams<'a> {
    sorted: [SortedRuns<'a, StreamCall>; 4],
    tallies: [CallTally; 4],
    failed: ReadFailure,
}

impl<'a> StreamSorter<'a> {
    /// Creates a sorter with at most `most` calls in memory in addition to the `budget`.
    pub(crate) fn new(budget: &'a MemoryBudget, directory: &Path, most: usize) -> StreamSorter<'a> {
        let sorter = |_| ExternalSorter::new(budget, directory, most.min(MAX_SORTED_CALLS) / 4);
        StreamSorter { sorters: [0, 1, 2, 3].map(sorter), tallies: [CallTally::default(); 4] }
    }

    /// Adds a call of `connection`.
    pub(crate) fn push(
        &mut self,
        owners: ConnectionLookup,
        connection: ConnectionIndex,
        call: StreamCall,
    ) -> Result<(), PathError> {
        let stream = owners.stream_of_call(connection, &call);
        self.tallies[stream].add_call(&call.to_transfer());
        self.sorters[stream].push(call)
    }

    pub(crate) fn finish(self) -> SortedStreams<'a> {
        let sorted = self.sorters.map(ExternalSorter::finish);
        SortedStreams { sorted, tallies: self.tallies, failed: ReadFailure::default() }
    }
}

impl CallStreams for SortedStreams<'_> {
    fn calls(&self, stream: usize) -> impl Iterator<Item = StreamTransfer> {
        self.sorted[stream].iter(&self.failed).map(StreamCall::to_transfer)
    }

    fn tally(&self, stream: usize) -> CallTally {
        self.tallies[stream]
    }

    fn check(&self) -> Result<(), PathError> {
        self.failed.check_failure()
    }
}
