//! Flows and their names in one log.

use message_trace::TransportProtocol;
use socket_log::LogClock;
use socket_log::encode::{FlowOrigin, FlowRole};

use crate::indices::{LogFlowIndex, MachineIndex, NamespaceIndex, OptionalIndex, ProcessIndex};
use crate::optional_time::OptionalTime;
use crate::socket_names::SocketNameId;

/// A flow of a log: one process's view of one kernel socket. Times are the log's ticks while it is
/// being read, and wall-clock time in nanoseconds from then on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogFlow {
    /// The process; the first one until the log has an index.
    pub(crate) process: ProcessIndex,
    /// The flow's number in its log.
    pub(crate) number: u32,
    /// Kind of the socket; `None` if the record is missing.
    pub(crate) kind: Option<FlowKind>,
    /// Origin of the flow in the process; `None` if the record is missing.
    pub(crate) origin: Option<FlowOrigin>,
    /// Number of the socket's network namespace: in its log while that is being read, and then
    /// among all; none if unknown.
    pub(crate) namespace: OptionalIndex<NamespaceIndex>,
    /// The machine of the socket; none until all logs have been read.
    pub(crate) machine: OptionalIndex<MachineIndex>,
    /// The kernel's number of the socket; 0 if unknown.
    pub(crate) cookie: u64,
    /// Time when the process first had the socket.
    pub(crate) opened: i64,
    /// Time when the process closed a descriptor of the socket last.
    pub(crate) last_closed: OptionalTime,
    /// Time of the first send on a stream.
    pub(crate) first_sent: OptionalTime,
    /// Time of the latest call that moved data.
    pub(crate) last_call: OptionalTime,
    /// Descriptors opened less descriptors closed.
    pub(crate) descriptors: i32,
    /// The flow at the other end of a `socketpair`.
    pub(crate) pair: OptionalIndex<LogFlowIndex>,
    /// Bytes sent and received on a stream.
    pub(crate) totals: [u64; 2],
    /// Calls that moved bytes of a stream.
    pub(crate) transfers: u32,
    pub(crate) datagrams: u32,
    /// Whether the log has the kernel's counts of its bytes.
    pub(crate) counted: bool,
    /// The kernel's number of the socket at the other end of a unix socket that was found in use;
    /// 0 if unknown.
    pub(crate) other_end: u64,
}

const _: () = assert!(size_of::<LogFlow>() == 104);

/// Kind of a flow's socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowKind {
    pub(crate) domain: u8,
    pub(crate) kind: u8,
    pub(crate) protocol: u16,
}

impl FlowKind {
    /// The transport protocol of messages on the socket; `None` for sockets that carry no messages
    /// between nodes.
    pub(crate) fn protocol(self) -> Option<TransportProtocol> {
        const UNIX: u8 = 1;
        const INET: u8 = 2;
        const INET6: u8 = 10;
        const STREAM: u8 = 1;
        const DATAGRAM: u8 = 2;
        const SEQUENCE: u8 = 5;
        const VSOCK: u8 = 40;
        const SCTP: u16 = 132;
        const MPTCP: u16 = 262;
        match (self.domain, self.kind, self.protocol) {
            (UNIX, STREAM, _) => Some(TransportProtocol::UnixStream),
            (UNIX, DATAGRAM, _) => Some(TransportProtocol::UnixDatagram),
            (UNIX, SEQUENCE, _) => Some(TransportProtocol::UnixSequence),
            (INET | INET6, STREAM, 0 | 6 | MPTCP) => Some(TransportProtocol::Tcp),
            (INET | INET6, STREAM, SCTP) => Some(TransportProtocol::Sctp),
            (VSOCK, STREAM, _) => Some(TransportProtocol::Vsock),
            (INET | INET6, DATAGRAM, 0 | 17 | 136) => Some(TransportProtocol::Udp),
            _ => None,
        }
    }
}

/// Naming: the names of a flow's ends became known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowNaming {
    pub(crate) flow: LogFlowIndex,
    pub(crate) role: FlowRole,
    /// Time when the names became known.
    pub(crate) time: i64,
    /// Time when `connect` was called, if known.
    pub(crate) called: OptionalTime,
    /// Whether `connect` returned while the connection was still being made.
    pub(crate) under_way: bool,
    pub(crate) tid: i32,
    pub(crate) local: OptionalIndex<SocketNameId>,
    pub(crate) peer: OptionalIndex<SocketNameId>,
    pub(crate) peer_pid: u32,
}

impl FlowNaming {
    /// Converts all ticks to wall-clock time by the log's `clock`.
    pub(crate) fn convert_times(&mut self, clock: &LogClock) {
        self.time = clock.realtime(self.time as u64);
        self.called = self.called.map(|time| clock.realtime(time as u64));
    }

    /// Makes all times later, by `by` nanoseconds.
    pub(crate) fn shift_times(&mut self, by: i64) {
        self.time = self.time.saturating_add(by);
        self.called = self.called.map(|time| time.saturating_add(by));
    }
}

impl LogFlow {
    pub(crate) fn new(number: u32, ticks: i64) -> LogFlow {
        LogFlow {
            process: ProcessIndex::default(),
            number,
            kind: None,
            origin: None,
            namespace: OptionalIndex::NONE,
            machine: OptionalIndex::NONE,
            cookie: 0,
            opened: ticks,
            last_closed: OptionalTime::NONE,
            first_sent: OptionalTime::NONE,
            last_call: OptionalTime::NONE,
            descriptors: 1,
            pair: OptionalIndex::NONE,
            totals: [0; 2],
            transfers: 0,
            datagrams: 0,
            counted: false,
            other_end: 0,
        }
    }

    /// Whether the process got the socket from another process, as far as the log shows.
    pub(crate) fn is_found(&self) -> bool {
        matches!(self.origin, Some(FlowOrigin::Found) | None)
    }

    /// Number of calls that moved data.
    pub(crate) fn call_count(&self) -> u64 {
        u64::from(self.transfers) + u64::from(self.datagrams)
    }

    /// Time when the process had closed its last descriptor of the socket; `None` if it did not.
    pub(crate) fn closed_at(&self) -> Option<i64> {
        self.last_closed.get().filter(|_| self.descriptors <= 0)
    }

    /// Converts all ticks to wall-clock time by the log's `clock`.
    pub(crate) fn convert_times(&mut self, clock: &LogClock) {
        self.map_times(|time| clock.realtime(time as u64));
    }

    /// Makes all times later, by `by` nanoseconds.
    pub(crate) fn shift_times(&mut self, by: i64) {
        self.map_times(|time| time.saturating_add(by));
    }

    fn map_times(&mut self, change: impl Fn(i64) -> i64) {
        self.opened = change(self.opened);
        for time in [&mut self.first_sent, &mut self.last_closed, &mut self.last_call] {
            *time = time.map(&change);
        }
    }
}
