//! The partition pass: the second reading of all logs distributes every call to the partition where
//! it will be matched. All calls of one connection meet in one partition, and so do the two sides
//! of a datagram.

use std::ops::Range;
use std::path::Path;

use message_trace::{PathError, Progress};
use out_of_core::{
    MemoryBudget, MemoryPool, PartitionStore, PartitionWriter, SpillableVec, workers,
};

use crate::calls::{BEGINS, DatagramCall, ELSEWHERE, StreamCall, TransferOrigin};
use crate::connections::connection::Connection;
use crate::event_pass::log_pass::{EventPass, SocketCall};
use crate::indices::{ConnectionIndex, OptionalIndex, ProcessIndex, SocketIndex};
use crate::partitioning::thread_activity::ThreadActivity;
use crate::recorded_operations::RecordedOperations;
use crate::sockets::routing::DatagramRouting;
use crate::sockets::socket::{KernelSocket, KernelSockets};
use crate::tuning::{MAX_PARTITIONS, PARTITION_BYTES};

/// The connection of each socket, if there is one.
pub(crate) type ConnectionsOfSockets = SpillableVec<OptionalIndex<ConnectionIndex>>;

/// Partitions of the connections.
#[derive(Debug)]
pub(crate) struct ConnectionPartitions {
    /// The range of connections of each partition.
    pub(crate) ranges: Vec<Range<u32>>,
    /// The connection of each socket, if there is one.
    pub(crate) connection_of: ConnectionsOfSockets,
    /// The partition of each connection.
    partition_of: SpillableVec<u16>,
}

/// Number of partitions for `records` records of `size` bytes.
pub(crate) fn partition_count(records: u64, size: usize) -> usize {
    (records * size as u64).div_ceil(PARTITION_BYTES).clamp(1, MAX_PARTITIONS) as usize
}

impl ConnectionPartitions {
    /// Cuts `connections` into partitions of about equally many calls.
    pub(crate) fn from_connections(
        pool: &MemoryPool,
        connections: &SpillableVec<Connection>,
        sockets: &SpillableVec<KernelSocket>,
    ) -> Result<ConnectionPartitions, PathError> {
        let mut this = ConnectionPartitions {
            connection_of: SpillableVec::filled(pool, sockets.len(), OptionalIndex::NONE)?,
            partition_of: SpillableVec::new(pool),
            ranges: Vec::new(),
        };
        let calls = |connection: &Connection| connection.transfer_count(sockets);
        let all: u64 = connections.iter().map(calls).sum();
        let share = all.div_ceil(partition_count(all, size_of::<StreamCall>()) as u64).max(1);
        let (mut begin, mut sum) = (0, 0);
        for (place, connection) in ConnectionIndex::indices().zip(connections.iter()) {
            for end in [connection.connecting, connection.accepting] {
                let end = end.get().and_then(|end| this.connection_of.get_mut(end.index()));
                if let Some(of) = end {
                    *of = OptionalIndex::some(place);
                }
            }
            this.partition_of.push(this.ranges.len() as u16)?;
            sum += calls(connection);
            let next = place.slot() + 1;
            if sum >= share || next as usize == connections.len() {
                this.ranges.push(begin..next);
                (begin, sum) = (next, 0);
            }
        }
        Ok(this)
    }

    /// The partition of a socket's connection; `None` if it has no connection.
    fn partition_of_socket(&self, socket: SocketIndex) -> Option<usize> {
        let connection = self.connection_of.get(socket.index())?.get()?;
        self.partition_of.get(connection.index()).map(|partition| usize::from(*partition))
    }
}

/// Stores of the partitioned calls.
pub(crate) struct CallStores<'a> {
    /// Stream calls by connection.
    pub(crate) transfers: PartitionStore<'a, StreamCall>,
    /// Datagrams by content.
    pub(crate) datagrams: PartitionStore<'a, DatagramCall>,
}

impl<'a> CallStores<'a> {
    /// Empty stores, with partitions for the calls of `sockets`.
    pub(crate) fn new(
        budget: &'a MemoryBudget,
        directory: &Path,
        partitions: &ConnectionPartitions,
        sockets: &SpillableVec<KernelSocket>,
    ) -> CallStores<'a> {
        let all: u64 = sockets.iter().map(|socket| u64::from(socket.datagrams)).sum();
        CallStores {
            transfers: PartitionStore::new(budget, directory, partitions.ranges.len()),
            datagrams: PartitionStore::new(
                budget,
                directory,
                partition_count(all, size_of::<DatagramCall>()),
            ),
        }
    }
}

/// Reads all logs again and distributes their calls, divided where recorded operations begin.
pub(crate) fn partition_logs(
    sockets: &KernelSockets,
    recorded: &RecordedOperations,
    partitions: &ConnectionPartitions,
    routing: DatagramRouting,
    stores: &CallStores,
    threads: usize,
    progress: &dyn Progress,
) -> Result<(), PathError> {
    let capture = routing.capture;
    progress.begin_step("reading calls", capture.logs.iter().map(|log| log.records).sum());
    let work = |piece: usize| {
        let mut transfers = PartitionWriter::new(&stores.transfers, piece);
        let mut datagrams = PartitionWriter::new(&stores.datagrams, piece);
        let many = datagrams.partition_count() as u64;
        let mut result = Ok(());
        let mut elsewhere = ThreadActivity::default();
        let process = ProcessIndex::from_index(piece);
        EventPass::from_process(capture, sockets, process)
            .divide_by_operations(recorded)
            .for_each_call(|call| {
                let written = match call {
                    SocketCall::Transfer(call) => {
                        match partitions.partition_of_socket(call.socket).filter(|_| call.bytes > 0)
                        {
                            Some(partition) => {
                                let flag = elsewhere.add_call(call.tid, call.socket, call.sent);
                                transfers.partition_record(
                                    partition,
                                    StreamCall {
                                        time: call.time,
                                        bytes: call.bytes | if flag { ELSEWHERE } else { 0 },
                                        origin: TransferOrigin::from_call(process).code()
                                            | if call.begins { BEGINS } else { 0 },
                                        tid: call.tid,
                                        socket: StreamCall::pack_socket(call.socket, !call.sent),
                                    },
                                )
                            }
                            None => Ok(()),
                        }
                    }
                    SocketCall::Forgotten { socket, sent, time, bytes } => {
                        match partitions.partition_of_socket(socket) {
                            Some(partition) => {
                                let socket = StreamCall::pack_socket(socket, !sent);
                                transfers.partition_record(
                                    partition,
                                    StreamCall::from_forgotten(time, bytes, socket),
                                )
                            }
                            None => Ok(()),
                        }
                    }
                    SocketCall::Counted { socket, sent, time, before, begins } => {
                        let is_counted =
                            sockets.all.get(socket.index()).is_some_and(|socket| socket.counted);
                        match partitions.partition_of_socket(socket).filter(|_| is_counted) {
                            Some(partition) => {
                                let socket = StreamCall::pack_socket(socket, !sent);
                                let count = StreamCall::from_count(time, before, begins, socket);
                                transfers.partition_record(partition, count)
                            }
                            None => Ok(()),
                        }
                    }
                    SocketCall::Edge { socket, sent, time, bytes, tid } => {
                        match partitions.partition_of_socket(socket) {
                            Some(partition) if bytes > 0 => {
                                let origin = TransferOrigin::from_edge(process).code();
                                let socket = StreamCall::pack_socket(socket, !sent);
                                transfers.partition_record(
                                    partition,
                                    StreamCall { time, bytes, origin, tid, socket },
                                )
                            }
                            _ => Ok(()),
                        }
                    }
                    SocketCall::Look { socket, time, bytes, tid } => {
                        match partitions.partition_of_socket(socket) {
                            Some(partition) => {
                                let origin = TransferOrigin::from_look(process).code();
                                let socket = StreamCall::pack_socket(socket, true);
                                transfers.partition_record(
                                    partition,
                                    StreamCall { time, bytes, origin, tid, socket },
                                )
                            }
                            None => Ok(()),
                        }
                    }
                    SocketCall::Datagram(datagram) => datagrams.partition_record(
                        (routing.routing_hash(&datagram, true) % many) as usize,
                        datagram,
                    ),
                    SocketCall::Fingerprint { .. } => Ok(()),
                };
                if written.is_err() && result.is_ok() {
                    result = written;
                }
            });
        result?;
        transfers.finish()?;
        datagrams.finish()
    };
    workers::run_in_order(threads, capture.logs.len(), work, |piece, ()| {
        progress.advance_step(capture.logs[piece].records);
        Ok(())
    })
}
