//! One chunk as it is read: its records with their full times and peers, which some records only
//! get from earlier ones.

use std::mem::offset_of;

use super::damage::LogDamage;
use super::decode::{self, DecodeStep, HEAD_TICKS_BITS, StoredTime};
use super::peers::LatestPeers;
use super::record::{LogEntry, LogRecord};
use crate::encode::{self, Direction};
use crate::layout::{
    Anchor, CHUNK_HEADER_WORDS, CHUNK_MAGIC, CHUNK_WORDS, CONTINUED_TID, ChunkHeader,
    SHORT_TICKS_BITS, goroutine, kind,
};

/// One chunk: the records of one thread over some time, or of the goroutines that it ran.
#[derive(Clone, Debug)]
pub struct LogChunk {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Id of the thread that wrote the chunk.
    pub tid: u32,
    /// Time when the thread was given the chunk.
    pub anchor: Anchor,
    words: Vec<u32>,
}

impl LogChunk {
    /// Chunk of these bytes, which are at `offset` in the file; `None` if they do not begin with a
    /// chunk's magic.
    pub(crate) fn parse(offset: u64, bytes: &[u8]) -> Option<LogChunk> {
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
        Some(LogChunk { offset, tid, anchor, words })
    }

    /// Calls `entry` with every complete record in the order written, and returns the damage found.
    pub fn for_each(&self, mut entry: impl FnMut(LogEntry)) -> Vec<LogDamage> {
        let mut damage: Vec<LogDamage> = Vec::new();
        let mut anchor = self.anchor.ticks;
        // Time of the latest transfer or anchor, to which times of the shortest form are relative.
        let mut before = anchor;
        // The thread that writes, and the id of the thread or goroutine that its records belong to.
        let (mut thread, mut tid) = (self.tid, self.tid);
        let mut peers = LatestPeers::default();
        // Direction, flow and time of the latest transfer or datagram.
        let mut moved: Option<(Direction, u32, u64)> = None;
        let mut at = CHUNK_HEADER_WORDS.min(self.words.len());
        while at < self.words.len() {
            match decode::decode_step(&self.words[at..]) {
                DecodeStep::Empty => at += 1,
                DecodeStep::Record { words, time, mut record } => {
                    let start = at;
                    let tag = self.words[start] as u8;
                    peers.resolve_peer(tag, &mut record);
                    let mut ticks = match time {
                        StoredTime::Whole(ticks) => ticks,
                        // A snippet has the time of the preceding transfer, which may be long ago.
                        StoredTime::Low(low) if tag == kind::SNIPPET && before as u32 == low => {
                            before
                        }
                        StoredTime::Low(low) => nearest_time(anchor, low.into(), 32),
                        StoredTime::Snippet(low) => nearest_time(anchor, low, HEAD_TICKS_BITS),
                        StoredTime::Short(low) => {
                            nearest_time(before, low.into(), SHORT_TICKS_BITS)
                        }
                        StoredTime::Before => before,
                    };
                    at += words;
                    match &mut record {
                        LogRecord::Anchor(latest) => {
                            (anchor, before) = (latest.ticks, latest.ticks)
                        }
                        LogRecord::Transfer { direction, flow, .. } => {
                            before = ticks;
                            moved = Some((*direction, *flow, ticks));
                        }
                        LogRecord::Datagram { direction, flow, .. } => {
                            moved = Some((*direction, *flow, ticks));
                        }
                        LogRecord::RareWords { direction, flow, .. } => {
                            let aux = encode::rare_words_aux(*direction, *flow);
                            // Words of a call that a signal handler interrupted have lost their
                            // transfer.
                            let Some((_, whole, time)) = moved.filter(|(direction, flow, _)| {
                                encode::rare_words_aux(*direction, *flow) == aux
                            }) else {
                                continue;
                            };
                            *flow = whole;
                            ticks = time;
                        }
                        LogRecord::Goroutine { number: 0, .. } => tid = thread,
                        LogRecord::Goroutine { number, .. } => tid = goroutine::thread_id(*number),
                        _ => {}
                    }
                    if tag == kind::CONTINUED {
                        peers.clear();
                        moved = None;
                        thread = self.words.get(start + CONTINUED_TID).copied().unwrap_or(thread);
                        tid = thread;
                    }
                    entry(LogEntry { tid, ticks, record });
                }
                DecodeStep::Damaged { words, fault } => {
                    damage.push(LogDamage {
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

/// Returns the time nearest to `other` of all times whose lowest `bits` bits are `low`.
fn nearest_time(other: u64, low: u64, bits: u32) -> u64 {
    let ahead = (low.wrapping_sub(other) << (64 - bits)) as i64 >> (64 - bits);
    other.wrapping_add_signed(ahead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{DatagramRecord, RareWords};
    use crate::layout::CHUNK_BYTES;

    /// The entries of a chunk of thread 7 with these records.
    fn entries(records: &[&[u32]]) -> Vec<LogEntry> {
        let mut words = vec![CHUNK_MAGIC, 7, 1000, 0, 0, 0, 0, 0];
        words.extend(records.iter().copied().flatten());
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(CHUNK_BYTES, 0);
        let mut entries = Vec::new();
        let damage = LogChunk::parse(0, &bytes).unwrap().for_each(|entry| entries.push(entry));
        assert_eq!(damage, []);
        entries
    }

    #[test]
    fn records_belong_to_the_preceding_goroutine_record() {
        const LARGE: u64 = 0x1234_8000_0005;
        let sent = encode::transfer_short(Direction::Send, 3, 1100, 10, 5).unwrap();
        let own = encode::goroutine_record(17, 5);
        let large = encode::goroutine_record(LARGE, 0);
        let ready = encode::ready_record(1200, LARGE, false);
        let started = encode::ready_record(1210, 6, true);
        let none = encode::goroutine_record(0, 0);
        let continued = encode::continued_record(&Anchor { ticks: 1300, ..Anchor::default() }, 8);
        let all = [
            &sent[..],
            own.as_slice(),
            &sent,
            large.as_slice(),
            ready.as_slice(),
            started.as_slice(),
            none.as_slice(),
            &sent,
            own.as_slice(),
            continued.as_slice(),
            &sent,
        ];
        let found = entries(&all);
        let of = |number: u64| goroutine::thread_id(number);
        let tids: Vec<u32> = found.iter().map(|entry| entry.tid).collect();
        assert_eq!(tids, [7, of(17), of(17), of(LARGE), of(LARGE), of(LARGE), 7, 7, of(17), 8, 8]);
        assert_eq!(of(17), goroutine::FIRST + 17);
        // Only the low bits of the thread's number are kept.
        assert_eq!(of(LARGE), goroutine::FIRST + 5);
        assert!(goroutine::is_goroutine(of(LARGE)) && !goroutine::is_goroutine(1 << 22));
        assert_eq!(found[1].record, LogRecord::Goroutine { number: 17, creator: of(5) });
        assert_eq!(found[1].ticks, 1100);
        assert_eq!(found[3].record, LogRecord::Goroutine { number: LARGE, creator: 0 });
        let ready = [&found[4], &found[5]].map(|entry| (entry.ticks, &entry.record));
        let waited = LogRecord::Ready { number: LARGE, started: false };
        let started = LogRecord::Ready { number: 6, started: true };
        assert_eq!(ready, [(1200, &waited), (1210, &started)]);
    }

    fn words_record(direction: Direction, flow: u32, values: &[u32]) -> Vec<u32> {
        let words = RareWords::from_values(values.iter().copied());
        let head = encode::rare_words_head(direction, flow, words.as_slice().len());
        [head].into_iter().chain(words.as_slice().iter().copied()).collect()
    }

    #[test]
    fn rare_words_belong_to_the_preceding_transfer_of_their_flow() {
        const FLOW: u32 = 0x12_8003;
        let sent = encode::transfer_common(Direction::Send, FLOW, 1100, 10, 5).unwrap();
        let datagram = DatagramRecord {
            direction: Direction::Receive,
            flow: FLOW,
            ticks: 1200,
            duration: 0,
            bytes: 9,
            checksum: 0,
            flags: 0,
            peer: &[],
        };
        let received = encode::datagram_short(&datagram).unwrap();
        let closed = encode::close_record(1300, FLOW, 4);
        let continued = encode::continued_record(&Anchor { ticks: 1400, ..Anchor::default() }, 8);
        let one = words_record(Direction::Send, FLOW, &[5]);
        let many = words_record(Direction::Receive, FLOW, &[1, 0, u32::MAX, 9]);
        let other_flow = words_record(Direction::Receive, FLOW + 1, &[6]);
        let other_direction = words_record(Direction::Send, FLOW, &[7]);
        let all = [
            &one[..],
            &sent,
            &one,
            &received,
            &other_flow,
            &other_direction,
            closed.as_slice(),
            &many,
            continued.as_slice(),
            &many,
        ];
        let found = entries(&all);
        let words: Vec<(u64, Direction, u32, &[u32])> = found
            .iter()
            .filter_map(|entry| match &entry.record {
                LogRecord::RareWords { direction, flow, words } => {
                    Some((entry.ticks, *direction, *flow, words.as_slice()))
                }
                _ => None,
            })
            .collect();
        let of_sent = (1100, Direction::Send, FLOW, &[5][..]);
        let of_received = (1200, Direction::Receive, FLOW, &[1, 0, u32::MAX, 9][..]);
        assert_eq!(words, [of_sent, of_received]);
        assert_eq!(found.len(), 6);
    }

    #[test]
    fn further_words_of_a_later_writer_are_ignored() {
        let sent = encode::transfer_short(Direction::Send, 3, 1100, 10, 5).unwrap();
        let mut long = words_record(Direction::Send, 3, &[1, 2, 3, 4]);
        long.push(5);
        long[0] += 1 << 8;
        let found = entries(&[&sent, &long, &sent]);
        assert_eq!(found.len(), 3);
        let words = RareWords::from_values([1, 2, 3, 4]);
        let record = LogRecord::RareWords { direction: Direction::Send, flow: 3, words };
        assert_eq!(found[1].record, record);
    }
}
