//! Kernel sockets.
//!
//! A socket is passed on: a child inherits it, a worker gets it from its master. Each process logs
//! it as a flow of its own, and the kernel's cookie shows which flows are the same socket. All
//! their calls on it are in one order, by the machine's clock.

use message_trace::{PathError, TransportProtocol};
use out_of_core::{MemoryPool, SpillableVec};
use rustc_hash::FxHashMap;
use socket_log::encode::FlowRole;
use socket_log::layout::source;

use crate::indices::{
    HostIndex, KernelIndex, MachineIndex, OptionalIndex, ProcessIndex, SocketIndex,
};
use crate::logs::capture::LogFile;
use crate::logs::flow_numbers::FlowPlaces;
use crate::optional_time::OptionalTime;
use crate::socket_names::SocketNameId;
use crate::sockets::connect_return::PackedConnectReturn;
use crate::tuning::{SAME_CLOCK_NS, SAME_CLOCK_STRACE_NS};

/// A kernel socket. Times are nanoseconds since the Unix epoch on the host's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelSocket {
    pub(crate) host: HostIndex,
    pub(crate) kernel: KernelIndex,
    pub(crate) machine: MachineIndex,
    /// Source of the socket's calls, one of `source`.
    pub(crate) source: u32,
    pub(crate) protocol: TransportProtocol,
    pub(crate) role: FlowRole,
    pub(crate) local: OptionalIndex<SocketNameId>,
    pub(crate) peer: OptionalIndex<SocketNameId>,
    /// The process at the other end of a unix socket, as reported by the kernel; 0 if unknown.
    pub(crate) peer_pid: u32,
    /// The process that connected or accepted the socket.
    pub(crate) pid: u32,
    /// The flow's number in that process, for sockets without a name.
    pub(crate) number: u32,
    /// Time when the first process had the socket.
    pub(crate) opened: i64,
    /// Time when the socket was connected or accepted.
    pub(crate) named: i64,
    /// Time when `connect` was called, as far as known, or `accept` returned.
    pub(crate) made: i64,
    /// Return of the call to `connect`.
    pub(crate) connected: PackedConnectReturn,
    /// The process that connected or accepted the socket, and its thread.
    pub(crate) maker: ProcessIndex,
    pub(crate) maker_tid: i32,
    /// Time when the last process had closed the socket, if seen.
    pub(crate) closed: OptionalTime,
    /// The process that owns the socket unless a call shows another: the last to use it, or else to
    /// have it.
    pub(crate) owner: ProcessIndex,
    /// The socket at the other end of a `socketpair`, or of a unix socket that was found in use.
    pub(crate) pair: OptionalIndex<SocketIndex>,
    /// Time of the first send on a stream.
    pub(crate) first_sent: OptionalTime,
    /// Bytes of a stream sent and received.
    pub(crate) totals: [u64; 2],
    /// Calls that moved bytes of a stream.
    pub(crate) transfers: u32,
    pub(crate) datagrams: u32,
    /// Whether the socket was in use before any process was seen to have it, and logs have the
    /// kernel's counts of its bytes.
    pub(crate) counted: bool,
    /// Whether the socket was in use before any process was seen to have it.
    pub(crate) found: bool,
    /// Whether the socket is an end of a unix stream that was in use before one of the ends was
    /// seen, so that looks at its queues show which bytes belong together.
    pub(crate) aligned: bool,
}

impl KernelSocket {
    /// Whether a process still had the socket at `time`, less `slack` nanoseconds.
    pub(crate) fn is_open_at(&self, time: i64, slack: i64) -> bool {
        self.closed.get().is_none_or(|closed| time <= closed.saturating_add(slack))
    }

    /// How far apart, in nanoseconds, the processes of the two sockets may have read one moment of
    /// their common clock; `None` if they have no common clock, so that their times are not
    /// comparable.
    pub(crate) fn clock_apart(&self, other: &KernelSocket) -> Option<i64> {
        let common = self.host == other.host && self.kernel == other.kernel;
        let straced = [self, other].into_iter().any(|socket| socket.source == source::STRACE);
        common.then_some(if straced { SAME_CLOCK_STRACE_NS } else { SAME_CLOCK_NS })
    }
}

/// All sockets, and the mapping of the logs' flows to them.
#[derive(Debug, Default)]
pub(crate) struct KernelSockets {
    pub(crate) all: SpillableVec<KernelSocket>,
    /// By flow: its number in its log, and its socket.
    pub(crate) of_flow: SpillableVec<(u32, OptionalIndex<SocketIndex>)>,
    /// The peers, sorted by time, of datagram sockets that had more than one.
    pub(crate) peers: FxHashMap<SocketIndex, Vec<(i64, SocketNameId)>>,
}

impl KernelSockets {
    /// The sockets of the flows of a log, by the flows' numbers in it.
    pub(crate) fn places_of_log(&self, log: &LogFile) -> FlowPlaces<SocketIndex> {
        let mut places = FlowPlaces::default();
        for (number, socket) in self.of_flow.range(log.flow_range()) {
            if let Some(socket) = socket.get() {
                places.get_or_insert(*number, || socket);
            }
        }
        places
    }

    /// Removes the sockets of `places`, which are sorted, and their calls.
    pub(crate) fn remove_sockets(
        &mut self,
        places: &[SocketIndex],
        pool: &MemoryPool,
    ) -> Result<(), PathError> {
        if places.is_empty() {
            return Ok(());
        }
        let mut next = SocketIndex::indices();
        let mut number = |place: SocketIndex| {
            let kept = places.binary_search(&place).is_err();
            OptionalIndex::from(if kept { next.next() } else { None })
        };
        let all = SocketIndex::indices().take(self.all.len());
        let numbers = SpillableVec::collect(pool, all.map(&mut number))?;
        let renumbered = |place: SocketIndex| numbers.get(place.index()).and_then(|to| to.get());
        let renumber = |place: OptionalIndex<SocketIndex>| place.get().and_then(renumbered).into();
        let flows = 0..self.of_flow.len();
        self.of_flow.for_each_mut(flows, |(_, socket)| *socket = renumber(*socket));
        let peers = std::mem::take(&mut self.peers).into_iter();
        self.peers =
            peers.filter_map(|(socket, peers)| Some((renumbered(socket)?, peers))).collect();
        let kept = self.all.iter().zip(numbers.iter()).filter(|(_, number)| number.get().is_some());
        let kept = kept.map(|(socket, _)| KernelSocket { pair: renumber(socket.pair), ..*socket });
        self.all = SpillableVec::collect(pool, kept)?;
        Ok(())
    }
}
