//! Peers of a thread's latest datagrams, which need not be written again.
//!
//! A socket mostly exchanges datagrams with the same peer as before. Then a record of four words
//! suffices, which refers to the peer of the latest record in the long form (see
//! `kind::SEND_DATAGRAM_SHORT`). A thread remembers the peers of a few flows for each direction,
//! and forgets them with its chunk. A signal handler may come at any moment and log datagrams of
//! its own: its effect on the log must be in the remembered state, so while a peer is being noted,
//! a handler notes no peer and stores [`DISTURBED`].

use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::own_word::replace_word;

/// Size of the longest name that is remembered: an IPv6 address.
const LONGEST_NAME: usize = size_of::<libc::sockaddr_in6>();

/// Size of an IPv4 address.
const INET_NAME: usize = size_of::<libc::sockaddr_in>();
const WORD_SIZE: usize = size_of::<usize>();

/// Value in place of a flow: no peer is known.
const NONE: usize = 0;

/// Value in place of a flow: a peer is being noted.
const BUSY: usize = usize::MAX;

/// Value in place of a flow: a peer is being noted, and a signal handler has written the record of
/// another datagram meanwhile.
const DISTURBED: usize = usize::MAX - 1;

/// Peers that a thread remembers for one direction. Flows whose numbers are equal modulo four share
/// a place. All fields begin as zeros.
#[repr(C)]
pub(crate) struct DatagramPeers([LatestPeer; 4]);

impl DatagramPeers {
    /// Place of `flow`.
    #[inline(always)]
    pub(crate) fn peer_of(&self, flow: u32) -> &LatestPeer {
        let DatagramPeers([a, b, c, d]) = self;
        match flow % 4 {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        }
    }

    /// Forgets the peers: the thread begins another chunk.
    pub(crate) fn forget_peers(&self) {
        self.0.iter().for_each(LatestPeer::forget_peer);
    }

    /// Forgets everything: the thread begins another log.
    pub(crate) fn reset_peers(&self) {
        self.0.iter().for_each(LatestPeer::reset_peer);
    }
}

/// Peer of the latest datagram of a flow.
#[repr(C)]
pub(crate) struct LatestPeer {
    /// Number of the flow, or one of the three constants above.
    flow: AtomicUsize,
    /// Length of the name, in bytes.
    length: AtomicUsize,
    name: [AtomicUsize; LONGEST_NAME.div_ceil(WORD_SIZE)],
}

impl LatestPeer {
    /// Whether the latest datagram in the long form was of `flow` and with the peer `name`.
    #[inline(always)]
    pub(crate) fn is_same(&self, flow: u32, name: &[u8]) -> bool {
        if self.flow.load(Acquire) != flow as usize || self.length.load(Relaxed) != name.len() {
            return false;
        }
        match name.len() {
            0 => true,
            INET_NAME => self.begins_with::<{ INET_NAME / WORD_SIZE }>(name),
            LONGEST_NAME => {
                let last = self.name.last().map_or(0, |word| word.load(Relaxed));
                self.begins_with::<{ LONGEST_NAME / WORD_SIZE }>(name)
                    && last == word_of_name(name, LONGEST_NAME / WORD_SIZE)
            }
            _ => false,
        }
    }

    /// Whether the first `WORDS` words of `name` are those of the remembered name.
    #[inline(always)]
    fn begins_with<const WORDS: usize>(&self, name: &[u8]) -> bool {
        let known = self.name.iter().take(WORDS).enumerate();
        known.fold(0, |other, (index, known)| {
            other | (known.load(Relaxed) ^ word_of_name(name, index))
        }) == 0
    }

    /// Begins a datagram's record in the long form. Returns whether its peer may be noted
    /// afterwards.
    pub(crate) fn begin_record(&self) -> bool {
        if self.flow.load(Acquire) == BUSY || self.flow.load(Acquire) == DISTURBED {
            self.flow.store(DISTURBED, Release);
            return false;
        }
        self.flow.store(BUSY, Release);
        true
    }

    /// Notes the peer of the record just written, unless a signal handler has written another
    /// meanwhile.
    pub(crate) fn note_peer(&self, flow: u32, name: &[u8]) {
        let fits = matches!(name.len(), 0 | INET_NAME | LONGEST_NAME);
        if fits && self.flow.load(Acquire) == BUSY {
            self.length.store(name.len(), Relaxed);
            for (index, slot) in self.name.iter().take(name.len().div_ceil(WORD_SIZE)).enumerate() {
                slot.store(word_of_name(name, index), Relaxed);
            }
            if replace_word(&self.flow, BUSY, flow as usize) {
                return;
            }
        }
        self.flow.store(NONE, Release);
    }

    fn forget_peer(&self) {
        let noting = matches!(self.flow.load(Acquire), BUSY | DISTURBED);
        self.flow.store(if noting { DISTURBED } else { NONE }, Release);
    }

    fn reset_peer(&self) {
        self.flow.store(NONE, Release);
    }
}

/// Word number `index` of `name`, with zeros past its end.
#[inline(always)]
fn word_of_name(name: &[u8], index: usize) -> usize {
    let mut bytes = [0; WORD_SIZE];
    let rest = name.get(index * WORD_SIZE..).unwrap_or(&[]);
    match rest.first_chunk::<WORD_SIZE>() {
        Some(whole) => bytes = *whole,
        None => bytes.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte),
    }
    usize::from_le_bytes(bytes)
}
