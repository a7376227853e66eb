//! Records of flows: how a process obtained them, the names of their ends, and their end.

use super::numbered_enum::numbered;
use super::transfers::Direction;
use super::words::{FlowWords, LongWords, RecordWords, cut_address, padded_words};
use crate::duration;
use crate::layout::kind;

numbered! {
    /// Origin of a flow in this process.
    pub enum FlowOrigin {
        /// Made by `socket`.
        Socket = 1,
        /// Accepted by `accept` or `accept4`.
        Accept = 2,
        /// Made by `socketpair`.
        Pair = 3,
        /// Found at its first use: inherited, passed by another process, or made unseen.
        Found = 4,
    }

    /// Role of a process's end of a flow, if it is known.
    pub enum FlowRole {
        /// Not known: a flow found in use.
        Unknown = 0,
        /// The end called `connect`.
        Connect = 1,
        /// The end came out of `accept`.
        Accept = 2,
        /// The end has only a name of its own: by `bind`, or by the first send of a datagram
        /// socket.
        Bind = 3,
        /// The end listens.
        Listen = 4,
    }
}

/// Facts about a flow when a process first has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Number of the flow, unique in this log; the first is 1.
    pub flow: u32,
    /// First descriptor of the flow.
    pub fd: i32,
    /// Address family: `AF_INET` and the like.
    pub domain: u8,
    /// Type of the socket: `SOCK_STREAM` and the like, without flags.
    pub kind: u8,
    /// Protocol: `IPPROTO_TCP` and the like.
    pub protocol: u16,
    /// Origin of the flow in this process.
    pub origin: FlowOrigin,
    /// The kernel's id of the socket (`SO_COOKIE`), the same in every process that holds it; 0 if
    /// unknown.
    pub cookie: u64,
    /// Number of the listening flow that the flow was accepted on; 0 for none.
    pub listener: u32,
    /// The kernel's id of the socket's network namespace (`SO_NETNS_COOKIE`), which need not be the
    /// process's own; 0 if unknown.
    pub namespace: u64,
}

/// Record of a flow.
#[inline]
pub fn flow_record(ticks: u64, flow: &FlowRecord) -> FlowWords {
    let aux = u16::from(flow.domain) | u16::from(flow.kind) << 8;
    let mut words = RecordWords::new(kind::FLOW, aux, ticks, flow.flow);
    words.push(flow.fd as u32);
    words.push(u32::from(flow.protocol) | (flow.origin as u32) << 16);
    words.push_u64(flow.cookie);
    words.push(flow.listener);
    words.push_u64(flow.namespace);
    words.finish()
}

/// Number of words of an endpoints record before the names.
pub const ENDPOINTS_WORDS: usize = 5;
/// Flag in the word with the names' lengths: the word contains the duration of `connect`, packed,
/// from the bit [`DURATION_SHIFT`] on.
pub(crate) const HAS_DURATION: u32 = 1 << 26;
/// Lowest bit of the duration of `connect` in that word.
pub(crate) const DURATION_SHIFT: u32 = 16;
/// Flag in the word with the names' lengths: `connect` returned while the connection was still
/// being made.
pub(crate) const UNDER_WAY: u32 = 1 << 27;

/// Call to `connect` that gave a flow's ends their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectOutcome {
    /// Time from the call of `connect` to its return, in ticks.
    pub took: u64,
    /// Whether the call returned while the connection was still being made.
    pub under_way: bool,
}

/// Names of a flow's ends in three parts: fixed words, and the two names, raw `sockaddr`s, which
/// are empty if unknown. The names follow the fixed words, each as [`padded_words`]. If the record
/// is of a `connect`, `connect` describes the call.
#[inline]
pub fn endpoints_fragments<'a>(
    ticks: u64,
    flow: u32,
    role: FlowRole,
    local: &'a [u8],
    peer: &'a [u8],
    peer_pid: u32,
    connect: Option<ConnectOutcome>,
) -> ([u32; ENDPOINTS_WORDS], &'a [u8], &'a [u8]) {
    let (local, peer) = (cut_address(local), cut_address(peer));
    let words = ENDPOINTS_WORDS + local.len().div_ceil(4) + peer.len().div_ceil(4);
    let first = u32::from(kind::ENDPOINTS) | (words as u32) << 8 | (role as u32) << 16;
    let call = connect.map_or(0, |ConnectOutcome { took, under_way }| {
        let took = duration::pack_duration(took)
            .map_or(0, |packed| packed << DURATION_SHIFT | HAS_DURATION);
        took | if under_way { UNDER_WAY } else { 0 }
    });
    let lengths = local.len() as u32 | (peer.len() as u32) << 8 | call;
    ([first, ticks as u32, flow, lengths, peer_pid], local, peer)
}

/// Names of a flow's ends as one record, with the parameters of [`endpoints_fragments`].
#[inline]
pub fn endpoints_record(
    ticks: u64,
    flow: u32,
    role: FlowRole,
    local: &[u8],
    peer: &[u8],
    peer_pid: u32,
    connect: Option<ConnectOutcome>,
) -> LongWords {
    let (head, local, peer) =
        endpoints_fragments(ticks, flow, role, local, peer, peer_pid, connect);
    LongWords::from_words(head.into_iter().chain(padded_words(local)).chain(padded_words(peer)))
}

/// Record of a descriptor that was closed.
#[inline]
pub fn close_record(ticks: u64, flow: u32, fd: i32) -> RecordWords {
    let mut words = RecordWords::new(kind::CLOSE, 0, ticks, flow);
    words.push(fd as u32);
    words.finish()
}

/// Record of a flow that was shut down; `how` as for `shutdown(2)`.
#[inline]
pub fn shutdown_record(ticks: u64, flow: u32, how: i32) -> RecordWords {
    RecordWords::new(kind::SHUTDOWN, how as u16, ticks, flow).finish()
}

/// Record of a receive at the end of the stream.
#[inline]
pub fn end_of_file_record(ticks: u64, flow: u32) -> RecordWords {
    RecordWords::new(kind::END_OF_FILE, 0, ticks, flow).finish()
}

/// Record of a call on a flow that failed with `errno`.
#[inline]
pub fn failure_record(ticks: u64, flow: u32, direction: Direction, errno: i32) -> RecordWords {
    let mut words = RecordWords::new(kind::FAILURE, errno as u16, ticks, flow);
    words.push(u32::from(direction == Direction::Receive));
    words.finish()
}

/// Record of two flows, `first` and `second`, that are the two ends of one `socketpair`.
#[inline]
pub fn socket_pair_record(ticks: u64, first: u32, second: u32) -> RecordWords {
    let mut words = RecordWords::new(kind::PAIR, 0, ticks, first);
    words.push(second);
    words.finish()
}

/// Record of the socket at the other end of a unix socket, by the kernel's id `cookie`.
#[inline]
pub fn other_end_record(ticks: u64, flow: u32, cookie: u64) -> RecordWords {
    let mut words = RecordWords::new(kind::OTHER_END, 0, ticks, flow);
    words.push_u64(cookie);
    words.finish()
}

/// Record of a descriptor `new` that is now the same flow as `old`.
#[inline]
pub fn duplicate_record(ticks: u64, flow: u32, old: i32, new: i32) -> RecordWords {
    let mut words = RecordWords::new(kind::DUPLICATE, 0, ticks, flow);
    words.push(old as u32);
    words.push(new as u32);
    words.finish()
}
