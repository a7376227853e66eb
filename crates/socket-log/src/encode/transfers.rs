//! Records of bytes that moved: transfers on streams, and datagrams.

use super::words::{LongWords, RecordWords, cut_address, padded_words};
use crate::duration;
use crate::layout::{
    SHORT_BYTES_LIMIT, SHORT_DATAGRAM_WORDS, SHORT_FLOW_LIMIT, SHORTEST_LIMIT, kind,
};

/// Direction of bytes, seen from the logging process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Out of the process.
    Send,
    /// Into the process.
    Receive,
}

/// Flags of a datagram record.
pub mod datagram_flag {
    /// The caller's buffer was smaller than the datagram: the checksum is of the part received.
    pub const TRUNCATED: u8 = 1;
    /// The datagram was peeked at, and stays in the queue (`MSG_PEEK`).
    pub const PEEKED: u8 = 2;
    /// The checksum is not known, and its field is zero: the capture did not contain all of the
    /// datagram.
    pub const NO_CHECKSUM: u8 = 4;
    /// The call may have moved several datagrams (segmentation offload), and their size is not
    /// known: bytes and checksum cover all of them together.
    pub const JOINED: u8 = 8;
}

/// Transfer on a stream in the shortest form, or `None` if it needs [`transfer_common`]: a late
/// flow, many bytes, or a long call. Only for `ticks` within
/// [`SHORT_REACH`](crate::layout::SHORT_REACH) of the previous time.
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
        (ticks as u32) << 10 | duration::pack_duration(duration)?,
    ])
}

/// Transfer on a stream in the common form, or `None` if it needs [`transfer_long`]: a late flow,
/// many bytes, or a long call. `ticks` is when a send was called or when a receive returned.
#[inline]
pub fn transfer_common(
    direction: Direction,
    flow: u32,
    ticks: u64,
    bytes: u64,
    duration: u64,
) -> Option<[u32; 3]> {
    if flow >= SHORT_FLOW_LIMIT || bytes >= SHORT_BYTES_LIMIT {
        return None;
    }
    let kind = match direction {
        Direction::Send => kind::SEND,
        Direction::Receive => kind::RECEIVE,
    };
    Some([
        u32::from(kind) | flow << 8,
        ticks as u32,
        (bytes as u32) << 10 | duration::pack_duration(duration)?,
    ])
}

/// Transfer on a stream in the long form: complete ticks, any flow, any size, any duration.
#[inline]
pub fn transfer_long(
    direction: Direction,
    flow: u32,
    ticks: u64,
    bytes: u64,
    duration: u64,
) -> RecordWords {
    let kind = match direction {
        Direction::Send => kind::SEND_LONG,
        Direction::Receive => kind::RECEIVE_LONG,
    };
    let mut words = RecordWords::new(kind, 0, ticks, flow);
    words.push((ticks >> 32) as u32);
    words.push_u64(bytes);
    words.push_u64(duration);
    words.finish()
}

/// Record of the position of the transfer that follows: `before` bytes had been moved on the flow
/// in this direction.
#[inline]
pub fn position_record(ticks: u64, flow: u32, direction: Direction, before: u64) -> RecordWords {
    let mut words =
        RecordWords::new(kind::POSITION, u16::from(direction == Direction::Receive), ticks, flow);
    words.push_u64(before);
    words.finish()
}

/// Record of the kernel's count of a stream's bytes: `before` of them had been moved on the flow in
/// this direction, [`NO_POSITION`](crate::layout::NO_POSITION) if the kernel does not report it.
/// `begins` is whether none of the flow's transfers in this direction was recorded before.
pub fn byte_count_record(
    ticks: u64,
    flow: u32,
    direction: Direction,
    before: u64,
    begins: bool,
) -> RecordWords {
    let aux = u16::from(direction == Direction::Receive) | u16::from(begins) << 1;
    let mut words = RecordWords::new(kind::COUNTED, aux, ticks, flow);
    words.push_u64(before);
    words.finish()
}

/// Record of a unix stream's receive queue, which held `bytes` bytes at some moment between `ticks`
/// and `took` ticks later.
pub fn queued_record(ticks: u64, flow: u32, bytes: u32, took: u32) -> RecordWords {
    let mut words = RecordWords::new(kind::QUEUED, 0, ticks, flow);
    words.push(bytes);
    words.push(took);
    words.finish()
}

/// Datagram: its size, the CRC-32 of its payload, and the peer's raw `sockaddr` if the call named
/// one.
#[derive(Clone, Copy, Debug)]
pub struct DatagramRecord<'a> {
    /// Direction of the datagram.
    pub direction: Direction,
    /// Number of the descriptor's flow.
    pub flow: u32,
    /// Time when the send was called or the receive returned, in ticks.
    pub ticks: u64,
    /// Duration of the call, in ticks.
    pub duration: u64,
    /// Size of the payload, in bytes.
    pub bytes: u64,
    /// CRC-32 (IEEE) of the payload.
    pub checksum: u32,
    /// Flags, see [`datagram_flag`].
    pub flags: u8,
    /// Raw `sockaddr` of the peer, or empty.
    pub peer: &'a [u8],
}

/// Datagram in the common form, or `None` if it needs [`datagram_long`]: a late flow, a long call,
/// any flags, or a size that no datagram has. Only for a datagram with the same peer as the latest
/// record of the long form of the same flow and direction in the same chunk.
#[inline(always)]
pub fn datagram_short(datagram: &DatagramRecord) -> Option<[u32; SHORT_DATAGRAM_WORDS]> {
    let DatagramRecord { direction, flow, ticks, duration, bytes, checksum, flags, peer: _ } =
        *datagram;
    if flags != 0 || flow >= SHORT_FLOW_LIMIT || bytes >= SHORT_BYTES_LIMIT {
        return None;
    }
    let kind = match direction {
        Direction::Send => kind::SEND_DATAGRAM_SHORT,
        Direction::Receive => kind::RECEIVE_DATAGRAM_SHORT,
    };
    let size = (bytes as u32) << 10 | duration::pack_duration(duration)?;
    Some([u32::from(kind) | flow << 8, ticks as u32, size, checksum])
}

/// Number of words of a datagram record before the peer's name.
pub const DATAGRAM_WORDS: usize = 7;

/// Datagram record in two parts: its fixed words, and the peer's name, which follows them as
/// [`padded_words`]. Its time is stored in full, so it is right however long the call took.
#[inline(always)]
pub fn datagram_fragments<'a>(datagram: &DatagramRecord<'a>) -> ([u32; DATAGRAM_WORDS], &'a [u8]) {
    let kind = match datagram.direction {
        Direction::Send => kind::SEND_DATAGRAM,
        Direction::Receive => kind::RECEIVE_DATAGRAM,
    };
    let peer = cut_address(datagram.peer);
    let words = DATAGRAM_WORDS + peer.len().div_ceil(4);
    let head = [
        u32::from(kind)
            | (words as u32) << 8
            | (peer.len() as u32) << 16
            | u32::from(datagram.flags) << 24,
        datagram.ticks as u32,
        datagram.flow,
        (datagram.ticks >> 32) as u32,
        datagram.bytes.min(u64::from(u32::MAX)) as u32,
        datagram.checksum,
        datagram.duration.min(u64::from(u32::MAX)) as u32,
    ];
    (head, peer)
}

/// Datagram in the long form.
#[inline]
pub fn datagram_long(datagram: &DatagramRecord) -> LongWords {
    let (head, peer) = datagram_fragments(datagram);
    LongWords::from_words(head.into_iter().chain(padded_words(peer)))
}
