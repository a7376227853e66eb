//! The event pass over one log: its calls, each with its socket.
//!
//! Between the two readings a log may have grown, or lost its oldest records if it keeps only the
//! newest: a flow that did not exist in the first reading has no socket and is skipped, and
//! overwritten records are missing like any lost record.

use socket_log::encode::Direction;
use socket_log::layout::source;
use socket_log::{LogRecord, SocketLog};

use crate::calls::{DatagramCall, MAX_TRANSFER_BYTES};
use crate::indices::{OptionalIndex, ProcessIndex, SocketIndex};
use crate::logs::capture::{Capture, LogFile};
use crate::logs::flow_numbers::FlowPlaces;
use crate::logs::positions::{PositionGaps, StreamPositions};
use crate::recorded_operations::{LogOperations, RecordedOperations};
use crate::socket_names::SocketNameId;
use crate::sockets::socket::KernelSockets;
use crate::tuning::{LONGEST_LOOK_NS, SAME_CLOCK_NS};

/// A call on a socket that moved data, or a fact about its bytes. Times are nanoseconds since the
/// Unix epoch on the host's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SocketCall {
    /// Bytes of a stream.
    Transfer(SocketTransfer),
    /// Gap: bytes of the stream before the following transfer with overwritten records (flight
    /// recorder).
    Forgotten {
        /// The socket.
        socket: SocketIndex,
        /// Whether the socket sent the bytes.
        sent: bool,
        /// Time of the following transfer.
        time: i64,
        /// Number of bytes, or `StreamTransfer::UNKNOWN`.
        bytes: u64,
    },
    /// Number of bytes that a stream found in use had carried, as counted by the kernel.
    Counted {
        /// The socket.
        socket: SocketIndex,
        /// Whether the socket sent the bytes.
        sent: bool,
        /// Time of the query.
        time: i64,
        /// Number of bytes, or [`NO_POSITION`](socket_log::layout::NO_POSITION).
        before: u64,
        /// Whether no earlier transfer of the flow in that direction was recorded.
        begins: bool,
    },
    /// The edge of a transfer on a unix stream that was found in use (see `calls`): the latest time
    /// at which a send returned, or the earliest at which a receive was called.
    Edge {
        /// The socket.
        socket: SocketIndex,
        /// Whether the transfer was a send.
        sent: bool,
        /// Time of the return or the call.
        time: i64,
        /// Number of bytes that the transfer moved.
        bytes: u32,
        /// The thread.
        tid: i32,
    },
    /// A look at the receive queue of a unix stream that was found in use, at most
    /// [`LONGEST_LOOK_NS`] before the library had the answer.
    Look {
        /// The socket.
        socket: SocketIndex,
        /// Time when the look began.
        time: i64,
        /// Number of bytes in the queue.
        bytes: u32,
        /// The thread.
        tid: i32,
    },
    /// A datagram.
    Datagram(DatagramCall),
    /// Checksum of the first bytes of a direction of a stream.
    Fingerprint {
        /// The socket.
        socket: SocketIndex,
        /// Whether the bytes were sent, or received.
        sent: bool,
        /// Number of bytes covered.
        bytes: u32,
        /// Their CRC-32.
        crc: u32,
    },
}

/// A transfer of bytes of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketTransfer {
    pub(crate) socket: SocketIndex,
    pub(crate) sent: bool,
    pub(crate) time: i64,
    /// Number of bytes, at most [`MAX_TRANSFER_BYTES`].
    pub(crate) bytes: u32,
    pub(crate) tid: i32,
    /// Whether an operation begins with the transfer's first byte.
    pub(crate) begins: bool,
}

/// Reader of the calls of a log, in the order of the log.
pub(crate) struct EventPass<'a> {
    capture: &'a Capture,
    sockets: &'a KernelSockets,
    log: &'a LogFile,
    process: ProcessIndex,
    places: FlowPlaces<SocketIndex>,
    log_operations: Option<LogOperations<'a>>,
}

impl<'a> EventPass<'a> {
    /// Event pass over the log of the process.
    pub(crate) fn from_process(
        capture: &'a Capture,
        sockets: &'a KernelSockets,
        process: ProcessIndex,
    ) -> EventPass<'a> {
        let log = &capture.logs[process.index()];
        let places = sockets.places_of_log(log);
        EventPass { capture, sockets, log, process, places, log_operations: None }
    }

    /// This event pass, in which each recorded operation of the log begins a transfer of its own: a
    /// transfer with several operations becomes several, all with its time.
    pub(crate) fn divide_by_operations(self, recorded: &'a RecordedOperations) -> EventPass<'a> {
        EventPass { log_operations: recorded.operations_of_log(self.process.index()), ..self }
    }

    /// Calls `each` with every call. A log that cannot be opened any more has no calls.
    pub(crate) fn for_each_call(&self, mut each: impl FnMut(SocketCall)) {
        let Ok(log) = SocketLog::open(&self.log.path) else { return };
        let mut clock = self.log.clock.cursor();
        let gaps = log.header().has_positions.then(|| PositionGaps::from_log(&log));
        let mut positions = StreamPositions::default();
        let mut operations = self.log_operations.clone();
        for chunk in log.chunks() {
            positions.next_chunk();
            chunk.for_each(|entry| {
                let tid = entry.tid as i32;
                match entry.record {
                    LogRecord::Position { flow, direction, before } => {
                        positions.set_position(flow, direction, before)
                    }
                    LogRecord::Transfer { direction, flow, bytes, duration }
                        if bytes <= MAX_TRANSFER_BYTES =>
                    {
                        let missing = gaps.as_ref().map_or(0, |gaps| {
                            gaps.gap_before(
                                flow,
                                direction,
                                positions.advance_by(flow, direction, bytes),
                            )
                        });
                        if let Some(socket) = self.places.get(flow) {
                            let (sent, time) =
                                (direction == Direction::Send, clock.realtime(entry.ticks));
                            if self.is_aligned(socket) {
                                let duration = duration.min(MAX_DURATION);
                                let duration = self.log.clock.duration_nanoseconds(duration);
                                let time = edge(time, duration, sent);
                                let bytes = bytes as u32;
                                each(SocketCall::Edge { socket, sent, time, bytes, tid });
                            }
                            if missing > 0 {
                                each(SocketCall::Forgotten { socket, sent, time, bytes: missing });
                            }
                            let mut piece = |bytes: u32, begins: bool| {
                                each(SocketCall::Transfer(SocketTransfer {
                                    socket,
                                    sent,
                                    time,
                                    bytes,
                                    tid,
                                    begins,
                                }));
                            };
                            match &mut operations {
                                None => piece(bytes as u32, false),
                                Some(operations) => {
                                    let call = (flow, direction, entry.ticks);
                                    operations.divide_transfer(call, bytes as u32, piece);
                                }
                            }
                        }
                    }
                    // In a flight-recorder log, positions contain the same numbers.
                    LogRecord::Counted { flow, direction, before, begins } if gaps.is_none() => {
                        if let Some(socket) = self.places.get(flow) {
                            let (sent, time) =
                                (direction == Direction::Send, clock.realtime(entry.ticks));
                            each(SocketCall::Counted { socket, sent, time, before, begins });
                        }
                    }
                    LogRecord::Queued { flow, bytes, took }
                        if bytes <= MAX_TRANSFER_BYTES as u32
                            && i64::from(took) <= LONGEST_LOOK_NS =>
                    {
                        if let Some(socket) =
                            self.places.get(flow).filter(|socket| self.is_aligned(*socket))
                        {
                            let time = clock.realtime(entry.ticks);
                            each(SocketCall::Look { socket, time, bytes, tid });
                        }
                    }
                    LogRecord::Datagram {
                        direction,
                        flow,
                        bytes,
                        checksum,
                        truncated,
                        peeked: false,
                        unchecked,
                        joined,
                        peer,
                        ..
                    } => {
                        if let Some(socket) = self.places.get(flow) {
                            let of = self.sockets.all.get(socket.index());
                            // Captured packets do not show whether the network card, or the
                            // receiver, cuts the datagram.
                            let joined =
                                joined || of.is_some_and(|of| of.source == source::PACKETS);
                            let joined = if joined { DatagramCall::JOINED } else { 0 };
                            let time = clock.realtime(entry.ticks);
                            let named = peer.and_then(|peer| self.capture.names.find(&peer));
                            each(SocketCall::Datagram(DatagramCall {
                                time,
                                bytes: bytes.min(u64::from(u32::MAX)) as u32,
                                checksum,
                                process: self.process,
                                tid,
                                peer: named.map_or_else(
                                    || self.peer_name(socket, time),
                                    OptionalIndex::some,
                                ),
                                socket,
                                flags: DatagramCall::pack_flags(
                                    direction == Direction::Send,
                                    truncated,
                                    unchecked,
                                ) | joined,
                                operation: operations.as_mut().map_or(0, |operations| {
                                    operations.next_datagram((flow, direction, entry.ticks))
                                }),
                            }));
                        }
                    }
                    LogRecord::Fingerprint { flow, direction, bytes, checksum } => {
                        if let Some(socket) = self.places.get(flow) {
                            let sent = direction == Direction::Send;
                            each(SocketCall::Fingerprint { socket, sent, bytes, crc: checksum });
                        }
                    }
                    _ => {}
                }
            });
        }
    }

    /// Whether the socket is an end of a unix stream that was found in use.
    fn is_aligned(&self, socket: SocketIndex) -> bool {
        self.sockets.all.get(socket.index()).is_some_and(|socket| socket.aligned)
    }

    /// The peer to which a datagram socket was connected at the time.
    fn peer_name(&self, socket: SocketIndex, time: i64) -> OptionalIndex<SocketNameId> {
        match self.sockets.peers.get(&socket) {
            None => {
                let socket = self.sockets.all.get(socket.index());
                socket.map_or(OptionalIndex::NONE, |socket| socket.peer)
            }
            Some(peers) => {
                let after = peers.partition_point(|(named, _)| *named <= time);
                peers.get(after.saturating_sub(1)).map(|(_, peer)| *peer).into()
            }
        }
    }
}

/// Longest duration for which the other end of a call is computed, in ticks.
const MAX_DURATION: u64 = 1 << 56;

/// The other end in time of a call of `duration` nanoseconds: of a send the latest time at which it
/// returned, of a receive the earliest at which it was called. A log has the duration rounded down,
/// by less than a 32nd, and processes read their common clock with a small difference.
fn edge(time: i64, duration: u64, sent: bool) -> i64 {
    let duration = i64::try_from(duration).unwrap_or(i64::MAX);
    let longest = duration.saturating_add(duration / 31 + 2 + SAME_CLOCK_NS);
    if sent { time.saturating_add(longest) } else { time.saturating_sub(longest) }
}
