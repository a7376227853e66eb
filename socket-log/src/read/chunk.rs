//! One chunk as it is read: its records with their whole times and peers. Some records have these
//! only from those before them.

use std::mem::offset_of;

use super::damage::Damage;
use super::decode::{self, HEAD_TICKS_BITS, Step, Time};
use super::peers::Peers;
use super::record::{Entry, Record};
use crate::layout::{
    Anchor, CHUNK_HEADER_WORDS, CHUNK_MAGIC, CHUNK_WORDS, CONTINUED_TID, ChunkHeader,
    SHORT_TICKS_BITS, kind,
};

/// One chunk: the records of one thread over some time.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Id of the thread that wrote it.
    pub tid: u32,
    /// Time when the thread was given it.
    pub anchor: Anchor,
    words: Vec<u32>,
}

impl Chunk {
    /// Chunk of these bytes at `offset`; `None` where they do not begin with a chunk's magic.
    pub(crate) fn parse(offset: u64, bytes: &[u8]) -> Option<Chunk> {
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        if *words.first()? != CHUNK_MAGIC {
            return None;
        }
        let long = |at: usize| {
            Some(u64::from(*words.get(at / 4)?) | u64::from(*words.get(at / 4 + 1)?) << 32)
        };
        let at = offset_of!(ChunkHeader, anchor);
        let anchor = Anchor {
            ticks: long(at + offset_of!(Anchor, ticks))?,
            monotonic: long(at + offset_of!(Anchor, monotonic))? as i64,
            realtime: long(at + offset_of!(Anchor, realtime))? as i64,
        };
        let tid = *words.get(offset_of!(ChunkHeader, tid) / 4)?;
        Some(Chunk { offset, tid, anchor, words })
    }

    /// Calls `entry` with every whole record in the order written, and returns the damage met on
    /// the way.
    pub fn for_each(&self, mut entry: impl FnMut(Entry)) -> Vec<Damage> {
        let mut damage: Vec<Damage> = Vec::new();
        let mut anchor = self.anchor.ticks;
        // Time that a record of the shortest form is near to.
        let mut before = anchor;
        let mut tid = self.tid;
        let mut peers = Peers::default();
        let mut at = CHUNK_HEADER_WORDS.min(self.words.len());
        while at < self.words.len() {
            match decode::step(&self.words[at..]) {
                Step::Empty => at += 1,
                Step::Record { words, time, mut record } => {
                    let tag = self.words[at] as u8;
                    peers.settle(tag, &mut record);
                    let ticks = match time {
                        Time::Whole(ticks) => ticks,
                        // A head has the time of the transfer before it, which may be long ago.
                        Time::Low(low) if tag == kind::HEAD && before as u32 == low => before,
                        Time::Low(low) => nearest(anchor, low.into(), 32),
                        Time::Head(low) => nearest(anchor, low, HEAD_TICKS_BITS),
                        Time::Short(low) => nearest(before, low.into(), SHORT_TICKS_BITS),
                    };
                    match &record {
                        Record::Anchor(latest) => (anchor, before) = (latest.ticks, latest.ticks),
                        Record::Transfer { .. } => before = ticks,
                        _ => {}
                    }
                    if tag == kind::CONTINUED {
                        peers.forget();
                        tid = self.words.get(at + CONTINUED_TID).copied().unwrap_or(tid);
                    }
                    entry(Entry { tid, ticks, record });
                    at += words;
                }
                Step::Damaged { words, fault } => {
                    damage.push(Damage {
                        offset: self.offset + 4 * at as u64,
                        bytes: 4 * words as u64,
                        fault,
                    });
                    at += words.max(1);
                }
            }
        }
        debug_assert!(self.words.len() <= CHUNK_WORDS);
        damage
    }
}

/// Time whose low `bits` bits are `low` and that lies nearest to `other`.
fn nearest(other: u64, low: u64, bits: u32) -> u64 {
    let ahead = (low.wrapping_sub(other) << (64 - bits)) as i64 >> (64 - bits);
    other.wrapping_add_signed(ahead)
}
