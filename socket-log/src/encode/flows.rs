//! Flows: how a process came to them, what their ends are called, and what became of them.

use super::numbered::numbered;
use super::transfers::Direction;
use super::words::{FlowWords, LongWords, Words, cut, padded};
use crate::duration;
use crate::layout::kind;

numbered! {
    /// How a process came to a flow.
    pub enum Origin {
        /// By `socket`.
        Socket = 1,
        /// By `accept` or `accept4`.
        Accept = 2,
        /// By `socketpair`.
        Pair = 3,
        /// It was there when first used: inherited, passed by another process, or made out of our
        /// sight.
        Found = 4,
    }

    /// What a process's end of a flow does, where that is known.
    pub enum Role {
        /// Not known (a flow found in use).
        Unknown = 0,
        /// It called `connect`.
        Connect = 1,
        /// It came out of `accept`.
        Accept = 2,
        /// It has a name of its own only: `bind`, or a datagram socket named at its first send.
        Bind = 3,
        /// It listens.
        Listen = 4,
    }
}

/// What a process knows of a flow when it first has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The flow's number, unique in this log; the first is 1.
    pub flow: u32,
    /// Its first descriptor.
    pub fd: i32,
    /// `AF_INET` and the like.
    pub domain: u8,
    /// `SOCK_STREAM` and the like, without flags.
    pub kind: u8,
    /// `IPPROTO_TCP` and the like.
    pub protocol: u16,
    /// How the process came to it.
    pub origin: Origin,
    /// The kernel's id of the socket (`SO_COOKIE`), the same in every process that holds it; 0 if
    /// unknown.
    pub cookie: u64,
    /// The listening flow it was accepted on; 0 for none.
    pub listener: u32,
    /// The kernel's id of the socket's network namespace (`SO_NETNS_COOKIE`), which need not be
    /// that of the process; 0 if unknown.
    pub namespace: u64,
}

/// A flow record.
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

/// The words of an endpoints record before the names.
pub const ENDPOINTS_WORDS: usize = 5;
/// In the word with the names' lengths: it has how long `connect` took, and from which bit on that
/// stands, packed.
pub(crate) const TOOK: u32 = 1 << 26;
pub(crate) const TOOK_SHIFT: u32 = 16;
/// In the same word: `connect` returned while the connection was under way.
pub(crate) const UNDER_WAY: u32 = 1 << 27;

/// The call to `connect` that a flow's ends have their names by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect {
    /// How long before, in ticks, it was called.
    pub took: u64,
    /// Whether it returned while the connection was still being made.
    pub under_way: bool,
}

/// What the ends of a flow are called, in three parts: fixed words, and the two names, raw
/// `sockaddr`s, either empty where unknown. They follow in [`padded`] words each. Where the record
/// is of a `connect`, `connect` tells of the call.
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

/// The same as one record.
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

/// A descriptor of a flow was closed.
#[inline]
pub fn close(ticks: u64, flow: u32, fd: i32) -> Words {
    let mut words = Words::new(kind::CLOSE, 0, ticks, flow);
    words.push(fd as u32);
    words.finish()
}

/// A flow was shut down; `how` as for `shutdown(2)`.
#[inline]
pub fn shutdown(ticks: u64, flow: u32, how: i32) -> Words {
    Words::new(kind::SHUTDOWN, how as u16, ticks, flow).finish()
}

/// A receive met the end of the stream.
#[inline]
pub fn end_of_file(ticks: u64, flow: u32) -> Words {
    Words::new(kind::END_OF_FILE, 0, ticks, flow).finish()
}

/// A call on a flow failed with `errno`.
#[inline]
pub fn failure(ticks: u64, flow: u32, direction: Direction, errno: i32) -> Words {
    let mut words = Words::new(kind::FAILURE, errno as u16, ticks, flow);
    words.push(u32::from(direction == Direction::Receive));
    words.finish()
}

/// `first` and `second` are the two ends of one `socketpair`.
#[inline]
pub fn pair(ticks: u64, first: u32, second: u32) -> Words {
    let mut words = Words::new(kind::PAIR, 0, ticks, first);
    words.push(second);
    words.finish()
}

/// Descriptor `new` is now the same flow as `old`.
#[inline]
pub fn duplicate(ticks: u64, flow: u32, old: i32, new: i32) -> Words {
    let mut words = Words::new(kind::DUPLICATE, 0, ticks, flow);
    words.push(old as u32);
    words.push(new as u32);
    words.finish()
}
