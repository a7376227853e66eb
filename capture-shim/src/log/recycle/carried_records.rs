//! Records that are carried over when a chunk is reused: the records of flows that are still open.

use socket_log::encode;
use socket_log::layout::{
    ANCHOR_WORDS, Anchor, CHUNK_HEADER_WORDS, CHUNK_WORDS, SHORT_DATAGRAM_WORDS, SHORT_WORDS,
    TRANSFER_WORDS, kind,
};

use crate::descriptors::table;
use crate::tuning::MAX_CARRIED_WORDS;

/// Maximum number of flows in a chunk.
const MAX_FLOWS_IN_CHUNK: usize = CHUNK_WORDS / 4;

/// Memory in which carried records are collected. It is too large for the stack, since a program
/// may have left little of it.
#[repr(C)]
pub(super) struct ChunkScratch {
    words: [u32; MAX_CARRIED_WORDS],
    flows: [u32; MAX_FLOWS_IN_CHUNK],
}

/// Records that are carried from one chunk to another, as words of the latter.
pub(super) struct CarriedRecords<'scratch> {
    words: &'scratch mut [u32; MAX_CARRIED_WORDS],
    flows: &'scratch mut [u32; MAX_FLOWS_IN_CHUNK],
    length: usize,
    /// Whether there was room for all records so far.
    fits: bool,
}

impl<'scratch> CarriedRecords<'scratch> {
    /// No records yet.
    pub(super) fn new(scratch: &'scratch mut ChunkScratch) -> CarriedRecords<'scratch> {
        CarriedRecords {
            words: &mut scratch.words,
            flows: &mut scratch.flows,
            length: 0,
            fits: true,
        }
    }

    /// Words of the carried records.
    pub(super) fn as_slice(&self) -> &[u32] {
        self.words.get(..self.length).unwrap_or(&[])
    }

    /// Appends words, or notes that they do not fit.
    fn push_words(&mut self, words: &[u32]) {
        match self.words.get_mut(self.length..self.length + words.len()) {
            Some(place) => {
                place.copy_from_slice(words);
                self.length += words.len();
            }
            None => self.fits = false,
        }
    }

    /// Collects the records of `chunk` about flows that are still open, each after the anchor for
    /// its time. Returns false if the records do not fit.
    pub(super) fn collect_live(&mut self, chunk: &[u32]) -> bool {
        // The flows in order, each once. (The core library's sorting takes more stack than
        // everything else here.)
        let mut count = 0;
        for record in ChunkRecords(chunk.get(CHUNK_HEADER_WORDS..).unwrap_or(&[])) {
            for flow in flows_of(record).into_iter().filter(|flow| *flow != 0) {
                let at =
                    self.flows.get(..count).unwrap_or(&[]).partition_point(|other| *other < flow);
                if count < MAX_FLOWS_IN_CHUNK && (at == count || self.flows.get(at) != Some(&flow))
                {
                    self.flows.copy_within(at..count, at + 1);
                    if let Some(place) = self.flows.get_mut(at) {
                        *place = flow;
                    }
                    count += 1;
                }
            }
        }
        let alive = table::live_flows(self.flows.get(..count).unwrap_or(&[]));
        let long = |at: usize| chunk.get(at..at + 2).map_or(0, encode::join_words);
        let first = Anchor { ticks: long(2), monotonic: long(4) as i64, realtime: long(6) as i64 };
        let mut anchor = Some(encode::anchor_record(&first));
        for record in ChunkRecords(chunk.get(CHUNK_HEADER_WORDS..).unwrap_or(&[])) {
            let tag = record.first().map_or(0, |first| *first as u8);
            if matches!(tag, kind::ANCHOR | kind::CONTINUED) {
                let long = |at: usize| record.get(at..at + 2).map_or(0, encode::join_words);
                let next =
                    Anchor { ticks: long(1), monotonic: long(3) as i64, realtime: long(5) as i64 };
                anchor = Some(encode::anchor_record(&next));
            } else if flows_of(record)
                .iter()
                .any(|flow| alive.contains(self.flows.get(..count).unwrap_or(&[]), *flow))
            {
                if let Some(anchor) = anchor.take() {
                    self.push_words(anchor.as_slice());
                }
                self.push_words(record);
            }
        }
        // The anchor that ends the records must fit, too.
        self.fits && self.length + ANCHOR_WORDS <= MAX_CARRIED_WORDS
    }

    /// Appends the anchor of the new chunk's own records.
    pub(super) fn push_anchor(&mut self, anchor: &Anchor) {
        if self.length > 0 {
            self.push_words(encode::anchor_record(anchor).as_slice());
        }
    }
}

/// Flows that a record describes, so that it is needed as long as one of them is open; 0 for none.
fn flows_of(record: &[u32]) -> [u32; 2] {
    match *record {
        [first, _, flow, ..] => match first as u8 {
            kind::FLOW | kind::ENDPOINTS | kind::DUPLICATE | kind::CLOSE => [flow, 0],
            kind::PAIR => [flow, record.get(3).copied().unwrap_or(0)],
            _ => [0, 0],
        },
        _ => [0, 0],
    }
}

/// Number of words of the record whose first word is `first`; 1 for a word that begins no record.
pub(super) fn record_length(first: u32) -> usize {
    match first as u8 {
        0 => 1,
        kind::SEND | kind::RECEIVE => TRANSFER_WORDS,
        kind::SEND_SHORT | kind::RECEIVE_SHORT => SHORT_WORDS,
        kind::SEND_DATAGRAM_SHORT | kind::RECEIVE_DATAGRAM_SHORT => SHORT_DATAGRAM_WORDS,
        _ => (first >> 8 & 0xff).max(1) as usize,
    }
}

/// Whole records of a chunk.
struct ChunkRecords<'chunk>(&'chunk [u32]);

impl<'chunk> Iterator for ChunkRecords<'chunk> {
    type Item = &'chunk [u32];

    fn next(&mut self) -> Option<&'chunk [u32]> {
        loop {
            let first = *self.0.first()?;
            let (record, rest) = self.0.split_at_checked(record_length(first))?;
            self.0 = rest;
            if !matches!(first as u8, 0 | kind::RESERVED) {
                return Some(record);
            }
        }
    }
}
