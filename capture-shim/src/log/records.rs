//! Writes records into the mapped log.
//!
//! Each thread writes into a chunk of its own. Once a record's words are reserved, the first word
//! is set to "reserved", the other words are stored, and the true first word is stored last, so
//! that a reader finds complete records however the process ends.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, Release};

use socket_log::encode::{
    self, DATAGRAM_WORDS, DatagramRecord, Direction, ENDPOINTS_WORDS, RecordWords,
};
use socket_log::layout::{SHORT_DATAGRAM_WORDS, SHORT_WORDS, lost};

use super::RecordWriter;
use super::commit::{commit_datagram, commit_record};
use crate::state::DatagramPeers;

impl RecordWriter {
    /// Writes a transfer on a stream: `ticks` is its time, `now` the current time, both in ticks.
    #[inline(always)]
    pub(crate) fn transfer(
        self,
        direction: Direction,
        flow: u32,
        ticks: u64,
        bytes: u64,
        duration: u64,
        now: u64,
    ) {
        if !self.transfer_fast(direction, flow, ticks, bytes, duration) {
            self.transfer_slow(direction, flow, ticks, bytes, duration, now);
        }
    }

    /// Writes a transfer on a stream in the shortest form, and returns whether that was possible.
    #[inline(always)]
    pub(crate) fn transfer_fast(
        self,
        direction: Direction,
        flow: u32,
        ticks: u64,
        bytes: u64,
        duration: u64,
    ) -> bool {
        if let Some(words) = encode::transfer_short(direction, flow, ticks, bytes, duration)
            && self.is_near(ticks)
            && let Some(place) = self.reserve_words(SHORT_WORDS, || self.is_close_to_latest(ticks))
        {
            // SAFETY: the words were reserved for this record.
            unsafe { commit_record(place, SHORT_WORDS, words.into_iter()) };
            self.thread.latest.store(ticks, Release);
            return true;
        }
        false
    }

    /// Writes a transfer on a stream in a longer form, after a new anchor or in a new chunk if need
    /// be.
    #[cold]
    #[inline(never)]
    fn transfer_slow(
        self,
        direction: Direction,
        flow: u32,
        ticks: u64,
        bytes: u64,
        duration: u64,
        now: u64,
    ) {
        let Some(_full_chunk) = self.make_ready(now) else { return };
        // Until this record is complete, a record of a signal handler must not be read as following
        // it.
        self.thread.latest.store(0, Release);
        match encode::transfer_common(direction, flow, ticks, bytes, duration) {
            Some(words) if self.is_near(ticks) => self.append_words(&words),
            _ => self.append_words(
                encode::transfer_long(direction, flow, ticks, bytes, duration).as_slice(),
            ),
        }
        self.thread.latest.store(ticks, Release);
    }

    /// Writes a datagram's record; `now` is the current time in ticks.
    #[inline(always)]
    pub(crate) fn datagram(self, datagram: &DatagramRecord, now: u64) {
        let DatagramRecord { flow, peer, .. } = *datagram;
        let latest = self.datagram_peers(datagram.direction).peer_of(flow);
        if let Some(words) = encode::datagram_short(datagram)
            && self.is_near(datagram.ticks)
            && let Some(place) =
                self.reserve_words(SHORT_DATAGRAM_WORDS, || latest.is_same(flow, peer))
        {
            // SAFETY: the words were reserved for this record.
            unsafe { commit_record(place, SHORT_DATAGRAM_WORDS, words.into_iter()) };
        } else {
            self.datagram_long(datagram, now);
        }
    }

    /// Writes a datagram's record in the long form, and notes its peer.
    #[inline(never)]
    fn datagram_long(self, datagram: &DatagramRecord, now: u64) {
        let (head, peer) = encode::datagram_fragments(datagram);
        let length = DATAGRAM_WORDS + peer.len().div_ceil(4);
        let Some(_full_chunk) = self.make_ready(now) else { return };
        let latest = self.datagram_peers(datagram.direction).peer_of(datagram.flow);
        let noting = latest.begin_record();
        match self.reserve_words(length, || true) {
            // SAFETY: as many words were reserved for this record.
            Some(place) => unsafe { commit_datagram(place, length, &head, peer) },
            None => self.count_lost(lost::BUSY),
        }
        if noting {
            latest.note_peer(datagram.flow, peer);
        }
    }

    /// The peers that the thread remembers for this direction.
    #[inline(always)]
    fn datagram_peers(self, direction: Direction) -> &'static DatagramPeers {
        match direction {
            Direction::Send => &self.thread.sent_to,
            Direction::Receive => &self.thread.received_from,
        }
    }

    /// Writes the rare words of the transfer or datagram that was just written, if there is room
    /// for them in its chunk.
    #[inline(always)]
    pub(crate) fn write_rare_words(
        self,
        direction: Direction,
        flow: u32,
        first: u32,
        second: Option<u32>,
    ) {
        let count = 1 + usize::from(second.is_some());
        let head = encode::rare_words_head(direction, flow, count);
        if let Some(place) = self.reserve_words(1 + count, || true) {
            // SAFETY: the words were reserved for this record.
            unsafe { commit_record(place, 1 + count, [head, first].into_iter().chain(second)) };
        }
    }

    /// Writes a record with the time `now`, in ticks.
    #[inline]
    pub(crate) fn record<const CAPACITY: usize>(self, words: &RecordWords<CAPACITY>, now: u64) {
        self.record_words(words.as_slice(), now);
    }

    #[inline(never)]
    fn record_words(self, words: &[u32], now: u64) {
        if let Some(_full_chunk) = self.make_ready(now) {
            self.append_words(words);
        }
    }

    /// Writes the names of a flow's ends, in the parts of [`encode::endpoints_fragments`].
    #[inline(never)]
    pub(crate) fn endpoint_names(self, parts: ([u32; ENDPOINTS_WORDS], &[u8], &[u8]), now: u64) {
        let (head, local, peer) = parts;
        let length = head.len() + local.len().div_ceil(4) + peer.len().div_ceil(4);
        let Some(_full_chunk) = self.make_ready(now) else { return };
        let Some(place) = self.reserve_words(length, || true) else {
            return self.count_lost(lost::BUSY);
        };
        // SAFETY: as many words were reserved for this record, and the padding of the names is zero
        // already.
        unsafe {
            let tag = AtomicU32::from_ptr(place);
            tag.store(encode::reservation_word(length), Relaxed);
            // Neither the compiler nor (by the release below) the machine moves the tag after the
            // body.
            core::sync::atomic::fence(Release);
            place.add(1).copy_from_nonoverlapping(head.as_ptr().add(1), head.len() - 1);
            let names = place.add(head.len());
            names.cast::<u8>().copy_from_nonoverlapping(local.as_ptr(), local.len());
            let rest = names.add(local.len().div_ceil(4));
            rest.cast::<u8>().copy_from_nonoverlapping(peer.as_ptr(), peer.len());
            tag.store(head[0], Release);
        }
    }
}
