//! Records, as they are written into the mapped log.
//!
//! Each thread writes into a chunk of its own. Once a record's words are reserved, the first word
//! says "reserved", the others are stored, and the true first word goes in last, so that a reader
//! finds whole records however the process ends.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, Release};

use socket_log::encode::{self, DATAGRAM_WORDS, Datagram, Direction, ENDPOINTS_WORDS, Words};
use socket_log::layout::{SHORT_DATAGRAM_WORDS, SHORT_WORDS, lost};

use super::Writer;
use super::commit::{commit, commit_datagram};
use crate::state::Peers;

impl Writer {
    /// Writes a transfer on a stream: `ticks` is its time, `now` the present.
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
        if !self.transfer_at_once(direction, flow, ticks, bytes, duration) {
            self.transfer_with_care(direction, flow, ticks, bytes, duration, now);
        }
    }

    /// Writes a transfer on a stream in the shortest form, and tells whether that was possible.
    #[inline(always)]
    pub(crate) fn transfer_at_once(
        self,
        direction: Direction,
        flow: u32,
        ticks: u64,
        bytes: u64,
        duration: u64,
    ) -> bool {
        if let Some(words) = encode::transfer_short(direction, flow, ticks, bytes, duration)
            && self.is_near(ticks)
            && let Some(place) = self.reserve_words(SHORT_WORDS, || self.follows(ticks))
        {
            // SAFETY: the words were reserved for this record.
            unsafe { commit(place, SHORT_WORDS, words.into_iter()) };
            self.thread.latest.store(ticks, Release);
            return true;
        }
        false
    }

    #[cold]
    #[inline(never)]
    fn transfer_with_care(
        self,
        direction: Direction,
        flow: u32,
        ticks: u64,
        bytes: u64,
        duration: u64,
        now: u64,
    ) {
        let Some(_behind) = self.make_ready(now) else { return };
        // Until this record is whole, one of a signal handler must not be read as following upon
        // it.
        self.thread.latest.store(0, Release);
        match encode::transfer(direction, flow, ticks, bytes, duration) {
            Some(words) if self.is_near(ticks) => self.append(&words),
            _ => self
                .append(encode::transfer_long(direction, flow, ticks, bytes, duration).as_slice()),
        }
        self.thread.latest.store(ticks, Release);
    }

    /// Writes a datagram's record; `now` is the present.
    #[inline(always)]
    pub(crate) fn datagram(self, datagram: &Datagram, now: u64) {
        let Datagram { flow, peer, .. } = *datagram;
        let latest = self.peers(datagram.direction).of(flow);
        if let Some(words) = encode::datagram_short(datagram)
            && self.is_near(datagram.ticks)
            && let Some(place) = self.reserve_words(SHORT_DATAGRAM_WORDS, || latest.is(flow, peer))
        {
            // SAFETY: the words were reserved for this record.
            unsafe { commit(place, SHORT_DATAGRAM_WORDS, words.into_iter()) };
        } else {
            self.datagram_whole(datagram, now);
        }
    }

    /// Writes a datagram's record in the long form, and notes its peer.
    #[inline(never)]
    fn datagram_whole(self, datagram: &Datagram, now: u64) {
        let (head, peer) = encode::datagram_parts(datagram);
        let length = DATAGRAM_WORDS + peer.len().div_ceil(4);
        let Some(_behind) = self.make_ready(now) else { return };
        let latest = self.peers(datagram.direction).of(datagram.flow);
        let noting = latest.begin();
        match self.reserve_words(length, || true) {
            // SAFETY: as many words were reserved for this record.
            Some(place) => unsafe { commit_datagram(place, length, &head, peer) },
            None => self.lose(lost::BUSY),
        }
        if noting {
            latest.note(datagram.flow, peer);
        }
    }

    #[inline(always)]
    fn peers(self, direction: Direction) -> &'static Peers {
        match direction {
            Direction::Send => &self.thread.sent_to,
            Direction::Receive => &self.thread.received_from,
        }
    }

    /// Writes a record whose time is `now`.
    #[inline]
    pub(crate) fn record<const CAPACITY: usize>(self, words: &Words<CAPACITY>, now: u64) {
        self.record_words(words.as_slice(), now);
    }

    #[inline(never)]
    fn record_words(self, words: &[u32], now: u64) {
        if let Some(_behind) = self.make_ready(now) {
            self.append(words);
        }
    }

    /// Writes the names of a flow's ends, in the parts of [`encode::endpoints_parts`].
    #[inline(never)]
    pub(crate) fn names(self, parts: ([u32; ENDPOINTS_WORDS], &[u8], &[u8]), now: u64) {
        let (head, local, peer) = parts;
        let length = head.len() + local.len().div_ceil(4) + peer.len().div_ceil(4);
        let Some(_behind) = self.make_ready(now) else { return };
        let Some(place) = self.reserve_words(length, || true) else { return self.lose(lost::BUSY) };
        // SAFETY: as many words were reserved for this record, and what pads the names is zero
        // already.
        unsafe {
            let tag = AtomicU32::from_ptr(place);
            tag.store(encode::reserved(length), Relaxed);
            // Neither the compiler nor (by the release below) the machine moves the tag behind the
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
