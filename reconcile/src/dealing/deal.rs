//! The second reading of all logs: every call goes to the partition where it will be matched. Those
//! of one connection meet in one, and so do the two sides of a datagram.

use std::ops::Range;
use std::path::Path;

use message_trace::{PathError, Progress};
use out_of_core::{
    MemoryBudget, MemoryPool, PartitionStore, PartitionWriter, SpillableVec, workers,
};

use crate::absent::NONE;
use crate::calls::{BEGINS, Datagram, ELSEWHERE, StreamCall, Transfer};
use crate::connections::connection::Connection;
use crate::dealing::elsewhere::Elsewhere;
use crate::second_reading::reading::{Call, SecondReading};
use crate::sockets::reach::Reach;
use crate::sockets::socket::{Socket, Sockets};
use crate::told::Told;
use crate::tuning::{MAX_PARTITIONS, PARTITION_BYTES};

/// Which connections are in which partition.
#[derive(Debug)]
pub(crate) struct Partitions {
    /// The connections of each, which are in a row.
    pub(crate) ranges: Vec<Range<u32>>,
    /// The connection of each socket; [`NONE`] of sockets without one.
    pub(crate) connection_of: SpillableVec<u32>,
    /// The partition of each connection.
    partition_of: SpillableVec<u16>,
}

/// Number of partitions for `records` records of `size` bytes.
pub(crate) fn count(records: u64, size: usize) -> usize {
    (records * size as u64).div_ceil(PARTITION_BYTES).clamp(1, MAX_PARTITIONS) as usize
}

impl Partitions {
    /// Cuts `connections` into partitions of about equally many calls.
    pub(crate) fn of(
        pool: &MemoryPool,
        connections: &SpillableVec<Connection>,
        sockets: &SpillableVec<Socket>,
    ) -> Result<Partitions, PathError> {
        let mut this = Partitions {
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
        let share = all.div_ceil(count(all, size_of::<StreamCall>()) as u64).max(1);
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

    fn of_socket(&self, socket: u32) -> Option<usize> {
        let connection = *self.connection_of.get(socket as usize)?;
        self.partition_of.get(connection as usize).map(|partition| usize::from(*partition))
    }
}

/// Where calls go.
pub(crate) struct Stores<'a> {
    /// By connection.
    pub(crate) transfers: PartitionStore<'a, StreamCall>,
    /// By content.
    pub(crate) datagrams: PartitionStore<'a, Datagram>,
}

impl<'a> Stores<'a> {
    /// Stores with room for the calls of `sockets`.
    pub(crate) fn new(
        budget: &'a MemoryBudget,
        directory: &Path,
        partitions: &Partitions,
        sockets: &SpillableVec<Socket>,
    ) -> Stores<'a> {
        let all: u64 = sockets.iter().map(|socket| u64::from(socket.datagrams)).sum();
        Stores {
            transfers: PartitionStore::new(budget, directory, partitions.ranges.len()),
            datagrams: PartitionStore::new(budget, directory, count(all, size_of::<Datagram>())),
        }
    }
}

/// Reads all logs again and deals their calls, divided where the operations that were `told` begin.
pub(crate) fn deal(
    sockets: &Sockets,
    told: &Told,
    partitions: &Partitions,
    reach: Reach,
    stores: &Stores,
    threads: usize,
    progress: &dyn Progress,
) -> Result<(), PathError> {
    let capture = reach.capture;
    progress.step("reading calls", capture.logs.iter().map(|log| log.records).sum());
    let work = |piece: usize| {
        let mut transfers = PartitionWriter::new(&stores.transfers, piece);
        let mut datagrams = PartitionWriter::new(&stores.datagrams, piece);
        let many = datagrams.partitions() as u64;
        let mut result = Ok(());
        let mut elsewhere = Elsewhere::default();
        SecondReading::of(capture, sockets, piece).divided(told).for_each(|call| {
            let dealt = match call {
                Call::Transfer(call) => {
                    match partitions.of_socket(call.socket).filter(|_| call.bytes > 0) {
                        Some(partition) => {
                            let flag = elsewhere.call(call.tid, call.socket, call.sent);
                            transfers.deal(
                                partition,
                                StreamCall {
                                    time: call.time,
                                    bytes: call.bytes | if flag { ELSEWHERE } else { 0 },
                                    process: piece as u32 | if call.begins { BEGINS } else { 0 },
                                    tid: call.tid,
                                    socket: call.socket << 1 | u32::from(!call.sent),
                                },
                            )
                        }
                        None => Ok(()),
                    }
                }
                Call::Forgotten { socket, sent, time, bytes } => match partitions.of_socket(socket)
                {
                    Some(partition) => {
                        let socket = socket << 1 | u32::from(!sent);
                        transfers.deal(partition, StreamCall::forgotten(time, bytes, socket))
                    }
                    None => Ok(()),
                },
                Call::Counted { socket, sent, time, before, begins } => {
                    let is_counted =
                        sockets.all.get(socket as usize).is_some_and(|socket| socket.counted);
                    match partitions.of_socket(socket).filter(|_| is_counted) {
                        Some(partition) => {
                            let socket = socket << 1 | u32::from(!sent);
                            let count = StreamCall::counted(time, before, begins, socket);
                            transfers.deal(partition, count)
                        }
                        None => Ok(()),
                    }
                }
                Call::Edge { socket, sent, time, bytes, tid } => match partitions.of_socket(socket)
                {
                    Some(partition) if bytes > 0 => {
                        let process = piece as u32 | Transfer::EDGE;
                        let socket = socket << 1 | u32::from(!sent);
                        transfers.deal(partition, StreamCall { time, bytes, process, tid, socket })
                    }
                    _ => Ok(()),
                },
                Call::Look { socket, time, bytes, tid } => match partitions.of_socket(socket) {
                    Some(partition) => {
                        let process = piece as u32 | Transfer::LOOK;
                        let socket = socket << 1 | 1;
                        transfers.deal(partition, StreamCall { time, bytes, process, tid, socket })
                    }
                    None => Ok(()),
                },
                Call::Datagram(datagram) => {
                    datagrams.deal((reach.hash(&datagram, true) % many) as usize, datagram)
                }
                Call::Fingerprint { .. } => Ok(()),
            };
            if dealt.is_err() && result.is_ok() {
                result = dealt;
            }
        });
        result?;
        transfers.finish()?;
        datagrams.finish()
    };
    workers::in_order(threads, capture.logs.len(), work, |piece, ()| {
        progress.advance(capture.logs[piece].records);
        Ok(())
    })
}
