//! Records of flows: how a process came to them, the names of their ends, and their end.

use super::numbered::numbered;
use super::transfers::Direction;
use super::words::{FlowWords, LongWords, Words, cut, padded};
use crate::duration;
use crate::layout::kind;

numbered! {
    /// Origin of a flow in this process.
    pub enum Origin {
        /// Made by `socket`.
        Socket = 1,
        /// Accepted by `accept` or `accept4`.
        Accept = 2,
        /// Made by `socketpair`.
        Pair = 3,
        /// Found at its first use: inherited, passed by another process, or made out of our sight.
        Found = 4,
    }

    /// Role of a process's end of a flow, where it is known.
    pub enum Role {
        /// Not known: a flow found in use.
        Unknown = 0,
        /// The end called `connect`.
        Connect = 1,
        /// The end came out of `accept`.
        Accept = 2,
        /// The end has a name of its own only: by `bind`, or by the first send of a datagram
        /// socket.
        Bind = 3,
        /// The end listens.
        Listen = 4,
    }
}

/// Facts about a flow when a process first has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
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
    pub origin: Origin,
    /// The kernel's id of the socket (`SO_COOKIE`), the same in every process that holds it; 0 if
    /// unknown.
    pub cookie: u64,
    /// Number of the listening flow it was accepted on; 0 for none.
    pub listener: u32,
    /// The kernel's id of the socket's network namespace (`SO_NETNS_COOKIE`), which need not be
    /// that of the process; 0 if unknown.
    pub namespace: u64,
}

/// Record of a flow.
#[inline]
pub fn flow(ticks: u64, flow: &Flow) -> FlowWords {
    let aux = u16::from(flow.domain) | u16::from(flow.kind) << 8;
    let mut words = Words::new(kind::FLOW, aux, ticks, flow.flow);
    words.push(flow.fd as u32);
    words.push(u32::from(flow.protocol) | (flow.origin as u32) << 16);
    words.push_u64(flow.cookie);
    words.push(flow.listener);
    words.push_u64(flow.namespace);
    words.finish()
}

/// Number of words of an endpoints record before the names.
pub const ENDPOINTS_WORDS: usize = 5;
/// Flag in the word with the names' lengths: it has the time that `connect` took, packed, from the
/// bit [`TOOK_SHIFT`] on.
pub(crate) const TOOK: u32 = 1 << 26;
pub(crate) const TOOK_SHIFT: u32 = 16;
/// Flag in the same word: `connect` returned while the connection was under way.
pub(crate) const UNDER_WAY: u32 = 1 << 27;

/// Call to `connect` that gave a flow's ends their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect {
    /// Time since the call, in ticks.
    pub took: u64,
    /// Whether it returned while the connection was still being made.
    pub under_way: bool,
}

/// Names of a flow's ends in three parts: fixed words, and the two names, raw `sockaddr`s, either
/// empty where unknown. They follow in [`padded`] words each. Where the record is of a `connect`,
/// `connect` tells of the call.
#[inline]
pub fn endpoints_parts<'a>(
    ticks: u64,
    flow: u32,
    role: Role,
    local: &'a [u8],
    peer: &'a [u8],
    peer_pid: u32,
    connect: Option<Connect>,
) -> ([u32; ENDPOINTS_WORDS], &'a [u8], &'a [u8]) {
    let (local, peer) = (cut(local), cut(peer));
    let words = ENDPOINTS_WORDS + local.len().div_ceil(4) + peer.len().div_ceil(4);
    let first = u32::from(kind::ENDPOINTS) | (words as u32) << 8 | (role as u32) << 16;
    let call = connect.map_or(0, |Connect { took, under_way }| {
        let took = duration::pack(took).map_or(0, |packed| packed << TOOK_SHIFT | TOOK);
        took | if under_way { UNDER_WAY } else { 0 }
    });
    let lengths = local.len() as u32 | (peer.len() as u32) << 8 | call;
    ([first, ticks as u32, flow, lengths, peer_pid], local, peer)
}

/// Names of a flow's ends as one record, with the parameters of [`endpoints_parts`].
#[inline]
pub fn endpoints(
    ticks: u64,
    flow: u32,
    role: Role,
    local: &[u8],
    peer: &[u8],
    peer_pid: u32,
    connect: Option<Connect>,
) -> LongWords {
    let (head, local, peer) = endpoints_parts(ticks, flow, role, local, peer, peer_pid, connect);
    LongWords::of(head.into_iter().chain(padded(local)).chain(padded(peer)))
}

/// Record of a descriptor that was closed.
#[inline]
pub fn close(ticks: u64, flow: u32, fd: i32) -> Words {
    let mut words = Words::new(kind::CLOSE, 0, ticks, flow);
    words.push(fd as u32);
    words.finish()
}

/// Record of a flow that was shut down; `how` as for `shutdown(2)`.
#[inline]
pub fn shutdown(ticks: u64, flow: u32, how: i32) -> Words {
    Words::new(kind::SHUTDOWN, how as u16, ticks, flow).finish()
}

/// Record of a receive that met the end of the stream.
#[inline]
pub fn end_of_file(ticks: u64, flow: u32) -> Words {
    Words::new(kind::END_OF_FILE, 0, ticks, flow).finish()
}

/// Record of a call on a flow that failed with `errno`.
#[inline]
pub fn failure(ticks: u64, flow: u32, direction: Direction, errno: i32) -> Words {
    let mut words = Words::new(kind::FAILURE, errno as u16, ticks, flow);
    words.push(u32::from(direction == Direction::Receive));
    words.finish()
}

/// Record of two flows that are the two ends of one `socketpair`.
#[inline]
pub fn pair(ticks: u64, first: u32, second: u32) -> Words {
    let mut words = Words::new(kind::PAIR, 0, ticks, first);
    words.push(second);
    words.finish()
}

/// Record of the socket at the other end of a unix socket: the kernel's id `cookie` of it.
#[inline]
pub fn other_end(ticks: u64, flow: u32, cookie: u64) -> Words {
    let mut words = Words::new(kind::OTHER_END, 0, ticks, flow);
    words.push_u64(cookie);
    words.finish()
}

/// Record of a descriptor `new` that is now the same flow as `old`.
#[inline]
pub fn duplicate(ticks: u64, flow: u32, old: i32, new: i32) -> Words {
    let mut words = Words::new(kind::DUPLICATE, 0, ticks, flow);
    words.push(old as u32);
    words.push(new as u32);
    words.finish()
}
