//! Records as words: what the writer calls, without allocation and without the standard library.
//!
//! The first word of every record holds its kind in the low eight bits. The common records (one transfer on a
//! stream) are two or three words and keep other things in the rest of the first; every other record keeps its
//! length in words there, so that a reader can step over kinds it does not know.

use crate::api::Api;
use crate::duration;
use crate::layout::{
    Anchor, SHORT_BYTES_LIMIT, SHORT_DATAGRAM_WORDS, SHORT_FLOW_LIMIT, SHORTEST_LIMIT, kind,
};

/// Which way bytes went, seen from the process that logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Out of the process.
    Send,
    /// Into the process.
    Receive,
}

/// How a process came to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Origin {
    /// By `socket`.
    Socket = 1,
    /// By `accept` or `accept4`.
    Accept = 2,
    /// By `socketpair`.
    Pair = 3,
    /// It was there when first used: inherited, passed by another process, or made out of our sight.
    Found = 4,
}

/// What a process's end of a flow does, where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
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

/// What befell a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ProcessEvent {
    /// It made a child with a copy of its memory; the value is the child's pid.
    Fork = 1,
    /// It made a child that begins with another program; the value is the child's pid.
    Spawn = 2,
    /// It is about to become another program; the value is 0.
    Exec = 3,
    /// It ends; the value is its status.
    Exit = 4,
}

/// The calls by which a thread waits for descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum WaitCall {
    /// `poll` and `ppoll`.
    Poll = 1,
    /// `select` and `pselect`.
    Select = 2,
    /// `epoll_wait` and its kin.
    Epoll = 3,
}

/// Flags of a datagram record.
pub mod datagram_flag {
    /// The caller's buffer was smaller than the datagram: the checksum is of the part received.
    pub const TRUNCATED: u8 = 1;
    /// The datagram was looked at, and stays in the queue (`MSG_PEEK`).
    pub const PEEKED: u8 = 2;
    /// The checksum is not known, and its field is zero: whoever saw the datagram did not see all of it.
    pub const NO_CHECKSUM: u8 = 4;
}

/// Room for the longest record made here: two names of 128 bytes each and five words before them.
const CAPACITY: usize = 72;

/// A record of any kind but the common one, built word by word in a buffer of its own.
#[derive(Clone, Copy)]
pub struct Words {
    words: [u32; CAPACITY],
    len: usize,
}

impl Words {
    #[inline]
    fn new(kind: u8, aux: u16, ticks: u64, flow: u32) -> Words {
        let mut this = Words { words: [0; CAPACITY], len: 3 };
        this.words[0] = u32::from(kind) | u32::from(aux) << 16;
        this.words[1] = ticks as u32;
        this.words[2] = flow;
        this
    }

    #[inline]
    fn push(&mut self, word: u32) {
        if let Some(slot) = self.words.get_mut(self.len) {
            *slot = word;
            self.len += 1;
        }
    }

    #[inline]
    fn push_u64(&mut self, value: u64) {
        self.push(value as u32);
        self.push((value >> 32) as u32);
    }

    /// Appends bytes, padded to whole words with zeros.
    #[inline]
    fn push_bytes(&mut self, bytes: &[u8]) {
        for word in padded(bytes) {
            self.push(word);
        }
    }

    #[inline]
    fn finish(mut self) -> Words {
        self.words[0] |= (self.len as u32) << 8;
        self
    }

    /// The record. Its first word commits it and is to be stored last.
    #[inline]
    pub fn as_slice(&self) -> &[u32] {
        &self.words[..self.len]
    }
}

/// The word to store first in the place of a record of `words` words, see [`layout`](crate::layout).
#[inline]
pub fn reserved(words: usize) -> u32 {
    u32::from(kind::RESERVED) | (words as u32) << 8
}

/// One transfer on a stream in the shortest form, or `None` when it needs [`transfer`]: a late flow, many bytes, or
/// a long call. Only for a `ticks` within [`SHORT_REACH`](crate::layout::SHORT_REACH) of the time before it.
#[inline(always)]
pub fn transfer_short(
    direction: Direction,
    flow: u32,
    ticks: u64,
    bytes: u64,
    duration: u64,
) -> Option<[u32; 2]> {
    if flow >= SHORTEST_LIMIT || bytes >= u64::from(SHORTEST_LIMIT) {
        return None;
    }
    let kind = match direction {
        Direction::Send => kind::SEND_SHORT,
        Direction::Receive => kind::RECEIVE_SHORT,
    };
    Some([
        u32::from(kind) | flow << 8 | (bytes as u32) << 20,
        (ticks as u32) << 10 | duration::pack(duration)?,
    ])
}

/// One transfer on a stream in the common form, or `None` when it needs [`transfer_long`]: a late flow, many
/// bytes, or a long call. `ticks` is when a send was called or when a receive returned.
#[inline]
pub fn transfer(direction: Direction, flow: u32, ticks: u64, bytes: u64, duration: u64) -> Option<[u32; 3]> {
    if flow >= SHORT_FLOW_LIMIT || bytes >= SHORT_BYTES_LIMIT {
        return None;
    }
    let kind = match direction {
        Direction::Send => kind::SEND,
        Direction::Receive => kind::RECEIVE,
    };
    Some([u32::from(kind) | flow << 8, ticks as u32, (bytes as u32) << 10 | duration::pack(duration)?])
}

/// One transfer on a stream in the long form: whole ticks, any flow, any size, any duration.
#[inline]
pub fn transfer_long(direction: Direction, flow: u32, ticks: u64, bytes: u64, duration: u64) -> Words {
    let kind = match direction {
        Direction::Send => kind::SEND_LONG,
        Direction::Receive => kind::RECEIVE_LONG,
    };
    let mut words = Words::new(kind, 0, ticks, flow);
    words.push((ticks >> 32) as u32);
    words.push_u64(bytes);
    words.push_u64(duration);
    words.finish()
}

/// One datagram: its size, the CRC-32 of its payload, and the peer's raw `sockaddr` where the call named one.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Which way it went.
    pub direction: Direction,
    /// The flow of the descriptor.
    pub flow: u32,
    /// When the send was called or the receive returned.
    pub ticks: u64,
    /// How long the call took, in ticks.
    pub duration: u64,
    /// The payload's size.
    pub bytes: u64,
    /// The CRC-32 (IEEE) of the payload.
    pub checksum: u32,
    /// See [`datagram_flag`].
    pub flags: u8,
    /// The peer's `sockaddr`, or empty.
    pub peer: &'a [u8],
}

/// One datagram in the common form, or `None` when it needs [`datagram`]: a late flow, a long call, anything to be said
/// by flags, or a size that no datagram has. Only for a datagram whose peer is that of the latest record of the long form
/// of the same flow and direction in the same chunk.
#[inline(always)]
pub fn datagram_short(datagram: &Datagram) -> Option<[u32; SHORT_DATAGRAM_WORDS]> {
    let Datagram { direction, flow, ticks, duration, bytes, checksum, flags, peer: _ } = *datagram;
    if flags != 0 || flow >= SHORT_FLOW_LIMIT || bytes >= SHORT_BYTES_LIMIT {
        return None;
    }
    let kind = match direction {
        Direction::Send => kind::SEND_DATAGRAM_SHORT,
        Direction::Receive => kind::RECEIVE_DATAGRAM_SHORT,
    };
    let size = (bytes as u32) << 10 | duration::pack(duration)?;
    Some([u32::from(kind) | flow << 8, ticks as u32, size, checksum])
}

/// The words of a datagram record before the peer's name.
pub const DATAGRAM_WORDS: usize = 7;

/// A datagram record in two parts: its fixed words, and the peer's name, which follows them in [`padded`] words. Its
/// time is whole, so it is right however long the call took.
#[inline(always)]
pub fn datagram_parts<'a>(datagram: &Datagram<'a>) -> ([u32; DATAGRAM_WORDS], &'a [u8]) {
    let kind = match datagram.direction {
        Direction::Send => kind::SEND_DATAGRAM,
        Direction::Receive => kind::RECEIVE_DATAGRAM,
    };
    let peer = cut(datagram.peer);
    let words = DATAGRAM_WORDS + peer.len().div_ceil(4);
    let head = [
        u32::from(kind) | (words as u32) << 8 | (peer.len() as u32) << 16 | u32::from(datagram.flags) << 24,
        datagram.ticks as u32,
        datagram.flow,
        (datagram.ticks >> 32) as u32,
        datagram.bytes.min(u64::from(u32::MAX)) as u32,
        datagram.checksum,
        datagram.duration.min(u64::from(u32::MAX)) as u32,
    ];
    (head, peer)
}

/// Bytes as words, the last padded with zeros.
#[inline(always)]
pub fn padded(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks(4).map(|part| {
        let mut word = [0; 4];
        match part.try_into() {
            Ok(whole) => word = whole,
            Err(_) => word[..part.len()].copy_from_slice(part),
        }
        u32::from_le_bytes(word)
    })
}

/// A datagram record.
#[inline]
pub fn datagram(datagram: &Datagram) -> Words {
    let (head, peer) = datagram_parts(datagram);
    let mut words = Words { words: [0; CAPACITY], len: DATAGRAM_WORDS + peer.len().div_ceil(4) };
    let record = head.into_iter().chain(padded(peer));
    for (slot, word) in words.words.iter_mut().zip(record) {
        *slot = word;
    }
    words
}

/// One moment on the three clocks.
#[inline]
pub fn anchor(anchor: &Anchor) -> Words {
    let mut words = Words::new(kind::ANCHOR, 0, anchor.ticks, (anchor.ticks >> 32) as u32);
    words.push_u64(anchor.monotonic as u64);
    words.push_u64(anchor.realtime as u64);
    words.finish()
}

/// Behind this the chunk is written by the thread `tid`; it is an anchor too.
#[inline]
pub fn continued(anchor: &Anchor, tid: u32) -> Words {
    let mut words = Words::new(kind::CONTINUED, 0, anchor.ticks, (anchor.ticks >> 32) as u32);
    words.push_u64(anchor.monotonic as u64);
    words.push_u64(anchor.realtime as u64);
    words.push(tid);
    words.finish()
}

/// The number in two words, the low one first.
#[inline]
pub fn join(words: &[u32]) -> u64 {
    words.iter().rev().fold(0, |number, word| number << 32 | u64::from(*word))
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
    /// The kernel's id of the socket (`SO_COOKIE`), the same in every process that holds it; 0 if unknown.
    pub cookie: u64,
    /// The listening flow it was accepted on; 0 for none.
    pub listener: u32,
}

/// A flow record.
#[inline]
pub fn flow(ticks: u64, flow: &Flow) -> Words {
    let aux = u16::from(flow.domain) | u16::from(flow.kind) << 8;
    let mut words = Words::new(kind::FLOW, aux, ticks, flow.flow);
    words.push(flow.fd as u32);
    words.push(u32::from(flow.protocol) | (flow.origin as u32) << 16);
    words.push_u64(flow.cookie);
    words.push(flow.listener);
    words.finish()
}

/// What the ends of a flow are called: raw `sockaddr`s, either empty where unknown.
#[inline]
pub fn endpoints(ticks: u64, flow: u32, role: Role, local: &[u8], peer: &[u8], peer_pid: u32) -> Words {
    let (local, peer) = (cut(local), cut(peer));
    let mut words = Words::new(kind::ENDPOINTS, role as u16, ticks, flow);
    words.push(local.len() as u32 | (peer.len() as u32) << 8);
    words.push(peer_pid);
    words.push_bytes(local);
    words.push_bytes(peer);
    words.finish()
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

/// Something befell the process; for the meaning of `value` see [`ProcessEvent`].
#[inline]
pub fn process(ticks: u64, event: ProcessEvent, value: i32) -> Words {
    Words::new(kind::PROCESS, event as u16, ticks, value as u32).finish()
}

/// A thread waited from `duration` ticks before `ticks` until then; `result` is what the call returned.
/// A call of libc's that moves bytes out of sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which.
    pub api: Api,
    /// The flow that it was about; 0 where that is not known.
    pub flow: u32,
    /// How long it took, in ticks.
    pub duration: u64,
    /// Its result; for a function that returns a pointer 0, and -1 for a null pointer.
    pub result: i32,
}

/// A record of a call. Its time, when the call was made, is whole, so it is right however long the call took.
#[inline]
pub fn call(ticks: u64, call: &Call) -> Words {
    let mut words = Words::new(kind::CALL, call.api as u16, ticks, call.flow);
    words.push((ticks >> 32) as u32);
    words.push_u64(call.duration);
    words.push(call.result as u32);
    words.finish()
}

/// The thread that writes this was started by the thread `creator`.
#[inline]
pub fn thread(ticks: u64, creator: u32) -> Words {
    Words::new(kind::THREAD, 0, ticks, creator).finish()
}

/// A `sockaddr` is at most 128 bytes (`sockaddr_storage`); a longer one is a caller's mistake.
#[inline]
pub fn wait(ticks: u64, call: WaitCall, result: i32, duration: u64) -> Words {
    let mut words = Words::new(kind::WAIT, call as u16, ticks, result as u32);
    words.push_u64(duration);
    words.finish()
}

/// The CPU time that the thread had used, in nanoseconds.
#[inline]
pub fn cpu(ticks: u64, nanoseconds: u64) -> Words {
    let mut words = Words::new(kind::CPU, 0, ticks, nanoseconds as u32);
    words.push((nanoseconds >> 32) as u32);
    words.finish()
}

/// The CRC-32 of the first `bytes` bytes of one direction of a stream.
#[inline]
pub fn fingerprint(ticks: u64, flow: u32, direction: Direction, bytes: u32, checksum: u32) -> Words {
    let mut words = Words::new(kind::FINGERPRINT, u16::from(direction == Direction::Receive), ticks, flow);
    words.push(bytes);
    words.push(checksum);
    words.finish()
}

/// A `sockaddr` is at most 128 bytes (`sockaddr_storage`); a longer one is a caller's mistake.
#[inline(always)]
fn cut(address: &[u8]) -> &[u8] {
    &address[..address.len().min(128)]
}
