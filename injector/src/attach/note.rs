//! Note on a blob, kept in the process that has it: what is known of the blob, and who put it
//! there. So a recorder can take out what another one has left, one that was killed.
//!
//! The note lies at the beginning of pages of its own, which the process can read and does not
//! write. It is words of 8 bytes: a mark, who recorded, and what is in [`Held`]. How the blob is
//! taken out counts only once it has begun, which is noted last.

use std::fs;

use super::held::Held;
use super::told::MARK;
use crate::blob::{Ending, Patch, Waiting};
use crate::facts;
use crate::maps::{self, PAGE};
use crate::memory::Memory;
use crate::outcome::Error;
use crate::tuning::NOTE_BYTES;

/// First words of a note, by its version.
const BEGIN: [u64; 2] = [u64::from_le_bytes(*b"sockcap\0"), u64::from_le_bytes(*b"note 1\0\0")];
/// Place of the word that says whether the blob has begun.
const BEGUN: usize = 11;
/// Maximum length of a change of the text, in bytes.
const MAX_PATCH: usize = 64;

/// Process that records, known by when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recorder {
    /// Number of the process.
    pub process: u32,
    /// When it began, in ticks of the kernel.
    since: u64,
}

impl Recorder {
    /// This process.
    pub(super) fn own() -> Recorder {
        let process = std::process::id();
        Recorder { process, since: since(process).unwrap_or(0) }
    }

    /// Whether it is there still.
    pub(super) fn is_there(self) -> bool {
        since(self.process) == Some(self.since)
    }
}

/// When a process began. `None` where there is none, or where it has ended.
fn since(process: u32) -> Option<u64> {
    facts::since(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The note on a blob.
pub(super) fn encode(recorder: Recorder, held: &Held) -> Vec<u8> {
    let (mark_at, mark) = held.mark;
    let (low, high) = halves(mark);
    let mut words = vec![recorder.process.into(), recorder.since, mark_at, low, high];
    words.extend([held.slot, held.code.0, held.code.1]);
    let none = Ending { function: 0, waiting: Waiting::default(), mapped: None };
    let Ending { function, waiting, mapped } = held.ending.unwrap_or(none);
    words.extend([0, function]);
    words.extend(waiting.words());
    for ranges in [&held.mapped, &held.stubs] {
        words.push(ranges.len() as u64);
        words.extend(ranges.iter().flat_map(|(start, other)| [*start, *other]));
    }
    words.push(held.patches.len() as u64);
    for Patch { address, old, new, call } in &held.patches {
        words.extend([*address, *call, old.len() as u64]);
        for bytes in [old, new] {
            words.extend(bytes.chunks(8).map(|bytes| {
                let mut word = [0; 8];
                word.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
                u64::from_le_bytes(word)
            }));
        }
    }
    words.push(mapped.unwrap_or(0));
    let head = BEGIN.into_iter().chain([words.len() as u64]);
    head.chain(words.iter().copied()).flat_map(u64::to_le_bytes).collect()
}

/// Says in the note at an address that its blob has begun.
pub(super) fn begun(memory: &Memory, at: u64) -> Result<(), Error> {
    memory.write(at + BEGUN as u64 * 8, &1u64.to_le_bytes())
}

/// What a note says of a blob in a process. `None` where it is none, or a broken one.
pub(super) fn decode(process: u32, bytes: &[u8]) -> Option<(Recorder, Held)> {
    let words: Vec<u64> =
        bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (begin, rest) = words.split_first_chunk()?;
    let (count, rest) = rest.split_first()?;
    let mut words = Words(rest.get(..usize::try_from(*count).ok()?)?);
    if *begin != BEGIN {
        return None;
    }
    let [recorder, since, mark_at, low, high, slot, start, end] = words.some()?;
    let recorder = Recorder { process: u32::try_from(recorder).ok()?, since };
    let [begun, function] = words.some()?;
    let waiting = Waiting::of(words.some()?);
    let (mapped, stubs) = (words.ranges()?, words.ranges()?);
    let mut patches = Vec::new();
    for _ in 0..words.one()? {
        let [address, call, length] = words.some()?;
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_PATCH)?;
        let (old, new) = (words.bytes(length)?, words.bytes(length)?);
        patches.push(Patch { address, old, new, call });
    }
    // Older notes end here.
    let own = words.one().filter(|at| *at != 0);
    let ending = (begun != 0).then_some(Ending { function, waiting, mapped: own });
    let mark = (mark_at, whole(low, high));
    let code = (start, end);
    Some((recorder, Held { process, mapped, stubs, code, mark, slot, patches, ending }))
}

/// Finds the note in a process.
pub(super) fn find(process: u32, memory: &Memory) -> Result<Option<(Recorder, Held)>, Error> {
    let maps = memory.maps()?;
    for region in maps::read_only(&maps) {
        // What lies beside it with the same rights is one region with it.
        for at in (region.start..region.end).step_by(PAGE as usize).take(NOTE_BYTES / PAGE as usize)
        {
            let Ok(begin) = memory.read(at, 24) else { continue };
            let Some((mark, count)) = begin.split_at_checked(16) else { continue };
            if mark != BEGIN.map(u64::to_le_bytes).as_flattened() {
                continue;
            }
            let count = count.first_chunk().map_or(0, |count| u64::from_le_bytes(*count));
            let bytes = count.saturating_mul(8).saturating_add(24).min(NOTE_BYTES as u64);
            let found = memory.read(at, bytes as usize).ok();
            if let Some(found) = found.and_then(|bytes| decode(process, &bytes)) {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Words that are still to be read.
struct Words<'a>(&'a [u64]);

impl Words<'_> {
    fn one(&mut self) -> Option<u64> {
        let [word] = self.some()?;
        Some(word)
    }

    fn some<const N: usize>(&mut self) -> Option<[u64; N]> {
        let (words, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*words)
    }

    fn ranges(&mut self) -> Option<Vec<(u64, u64)>> {
        let mut ranges = Vec::new();
        for _ in 0..self.one()? {
            let [start, other] = self.some()?;
            ranges.push((start, other));
        }
        Some(ranges)
    }

    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let (words, rest) = self.0.split_at_checked(count.div_ceil(8))?;
        self.0 = rest;
        Some(words.iter().flat_map(|word| word.to_le_bytes()).take(count).collect())
    }
}

/// A mark as two words.
fn halves(mark: [u8; MARK]) -> (u64, u64) {
    let mark = u128::from_le_bytes(mark);
    (mark as u64, (mark >> 64) as u64)
}

/// A mark of two words.
fn whole(low: u64, high: u64) -> [u8; MARK] {
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn held() -> Held {
        Held {
            process: 7,
            mapped: vec![(0x1000, 0x5000), (0x9000, 0x1000)],
            stubs: vec![(0x3000, 0x4000)],
            code: (0x1000, 0x2000),
            mark: (0x4ff0, *b"the recorder, it"),
            slot: 0x2040,
            patches: vec![
                Patch { address: 1, old: vec![1, 2, 3, 4, 5], new: vec![6; 5], call: 6 },
                Patch { address: 20, old: vec![7; 9], new: vec![8; 9], call: 18 },
            ],
            ending: Some(Ending {
                function: 0x80,
                waiting: Waiting::of([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]),
                mapped: Some(0x90),
            }),
        }
    }

    #[test]
    fn what_is_noted_is_read() {
        let (recorder, held) = (Recorder::own(), held());
        assert!(recorder.is_there());
        assert!(!Recorder { since: recorder.since - 1, ..recorder }.is_there());
        let mut bytes = encode(recorder, &held);
        let before = Held { ending: None, ..held.clone() };
        assert_eq!(decode(7, &bytes).unwrap().1, before);
        bytes[BEGUN * 8] = 1;
        let read = decode(7, &[&bytes[..], &[1; 20]].concat()).unwrap();
        assert_eq!(read, (recorder, held));
        assert_eq!(decode(7, &bytes[..bytes.len() - 8]), None);
    }

    proptest! {
        #[test]
        fn damaged_notes_are_read_or_refused(places in prop::collection::vec(any::<(u16, u8)>(), 1..9)) {
            let mut bytes = encode(Recorder::own(), &held());
            let length = bytes.len();
            for (place, byte) in places {
                bytes[usize::from(place) % length] = byte;
            }
            if let Some((recorder, held)) = decode(7, &bytes) {
                let mut again = encode(recorder, &held);
                again[BEGUN * 8] = held.ending.is_some().into();
                assert_eq!(decode(7, &again), Some((recorder, held)));
            }
        }
    }
}
