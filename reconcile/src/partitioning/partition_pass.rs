//! The partition pass: the second reading of all logs distributes every call to the partition where
//! it will be matched. All calls of one connection meet in one partition, and so do the two sides
//! of a datagram.

use std::ops::Range;
use std::path::Path;

use message_trace::{PathError, Progress};
use out_of_core::{
    MemoryBudget, MemoryPool, PartitionStore, PartitionWriter, SpillableVec, workers,
};

use crate::calls::{BEGINS, DatagramCall, ELSEWHERE, StreamCall, StreamTransfer};
use crate::connections::connection::Connection;
use crate::event_pass::log_pass::{EventPass, SocketCall};
use crate::partitioning::thread_activity::ThreadActivity;
use crate::recorded_operations::RecordedOperations;
use crate::sentinels::NONE;
use crate::sockets::routing::DatagramRouting;
use crate::sockets::socket::{KernelSocket, KernelSockets};
use crate::tuning::{MAX_PARTITIONS, PARTITION_BYTES};

/// Partitions of the connections.
#[derive(Debug)]
pub(crate) struct ConnectionPartitions {
    /// The range of connections of each partition.
    pub(crate) ranges: Vec<Range<u32>>,
    /// The connection of each socket; [`NONE`] for sockets without one.
    pub(crate) connection_of: SpillableVec<u32>,
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
            connection_of: SpillableVec::filled(pool, sockets.len(), NONE)?,
            partition_of: SpillableVec::new(pool),
            ranges: Vec::new(),
        };
        let calls = |connection: &Connection| {
            let of = |place: u32| {
                sockets.get(place as usize).map_or(0, |socket| u64::from(socket.transfers))
            };
            of(connection.connecting) + of(connection.accepting)
        };
        let all: u64 = connections.iter().map(calls).sum();
        let share = all.div_ceil(partition_count(all, size_of::<StreamCall>()) as u64).max(1);
        let (mut begin, mut sum) = (0, 0);
        for (place, connection) in connections.iter().enumerate() {
            for end in [connection.connecting, connection.accepting] {
                if let Some(of) = this.connection_of.get_mut(end as usize) {
                    *of = place as u32;
                }
            }
            this.partition_of.push(this.ranges.len() as u16)?;
            sum += calls(connection);
            if sum >= share || place + 1 == connections.len() {
                this.ranges.push(begin..place as u32 + 1);
                (begin, sum) = (place as u32 + 1, 0);
            }
        }
        Ok(this)
    }

    fn partition_of_socket(&self, socket: u32) -> Option<usize> {
        let connection = *self.connection_of.get(socket as usize)?;
        self.partition_of.get(connection as usize).map(|partition| usize::from(*partition))
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
    reach: DatagramRouting,
    stores: &CallStores,
    threads: usize,
    progress: &dyn Progress,
) -> Result<(), PathError> {
    let capture = reach.capture;
    progress.begin_step("reading calls", capture.logs.iter().map(|log| log.records).sum());
    let work = |piece: usize| {
        let mut transfers = PartitionWriter::new(&stores.transfers, piece);
        let mut datagrams = PartitionWriter::new(&stores.datagrams, piece);
        let many = datagrams.partition_count() as u64;
        let mut result = Ok(());
        let mut elsewhere = ThreadActivity::default();
        EventPass::from_process(capture, sockets, piece)
            .divide_by_operations(recorded)
            .for_each_call(|call| {
                let dealt = match call {
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
                                        process: piece as u32
                                            | if call.begins { BEGINS } else { 0 },
                                        tid: call.tid,
                                        socket: call.socket << 1 | u32::from(!call.sent),
                                    },
                                )
                            }
                            None => Ok(()),
                        }
                    }
                    SocketCall::Forgotten { socket, sent, time, bytes } => {
                        match partitions.partition_of_socket(socket) {
                            Some(partition) => {
                                let socket = socket << 1 | u32::from(!sent);
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
                            sockets.all.get(socket as usize).is_some_and(|socket| socket.counted);
                        match partitions.partition_of_socket(socket).filter(|_| is_counted) {
                            Some(partition) => {
                                let socket = socket << 1 | u32::from(!sent);
                                let count = StreamCall::from_count(time, before, begins, socket);
                                transfers.partition_record(partition, count)
                            }
                            None => Ok(()),
                        }
                    }
                    SocketCall::Edge { socket, sent, time, bytes, tid } => {
                        match partitions.partition_of_socket(socket) {
                            Some(partition) if bytes > 0 => {
                                let process = piece as u32 | StreamTransfer::EDGE;
                                let socket = socket << 1 | u32::from(!sent);
                                transfers.partition_record(
                                    partition,
                                    StreamCall { time, bytes, process, tid, socket },
                                )
                            }
                            _ => Ok(()),
                        }
                    }
                    SocketCall::Look { socket, time, bytes, tid } => {
                        match partitions.partition_of_socket(socket) {
                            Some(partition) => {
                                let process = piece as u32 | StreamTransfer::LOOK;
                                let socket = socket << 1 | 1;
                                transfers.partition_record(
                                    partition,
                                    StreamCall { time, bytes, process, tid, socket },
                                )
                            }
                            None => Ok(()),
                        }
                    }
                    SocketCall::Datagram(datagram) => datagrams.partition_record(
                        (reach.routing_hash(&datagram, true) % many) as usize,
                        datagram,
                    ),
                    SocketCall::Fingerprint { .. } => Ok(()),
                };
                if dealt.is_err() && result.is_ok() {
                    result = dealt;
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
