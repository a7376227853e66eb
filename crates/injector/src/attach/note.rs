//! Note of a blob, kept in its process: the description of the blob, and which recorder installed
//! it. A recorder can thereby remove the blob of another one that was killed.
//!
//! The note is at the beginning of pages of its own, which the process can read and does not write.
//! It consists of little-endian words of 8 bytes, in this order: magic; version; number of the
//! following words; the recorder's process id and start time; the mark's address and its two words;
//! the slot; the code's start and end; whether the blob has begun (0 or 1); the address of the
//! blob's last function; the 13 [`HookOffsets`]; the mapped ranges and the ranges of stubs, each a
//! count and pairs of words; the patches, a count and for each the address, call and length, and
//! the old and new bytes, each padded to whole words; [`DetachInfo::mapped`] and
//! [`DetachInfo::switch`], 0 for none; and the recorder's PID namespace. The blob's last function
//! is called only if the blob has begun, which is written last.
//!
//! A note is a claim of the process that contains it. Its values are bounded, are rejected if they
//! are inconsistent, and lead to work in that process only.

use super::initial_stack::MARK_BYTES;
use super::installed_blob::InstalledBlob;
use super::recorder::RecorderProcess;
use crate::blob::{DetachInfo, HookOffsets, KillSwitch, TextPatch};
use crate::maps::{self, MemoryRegion, PAGE};
use crate::memory::ProcessMemory;
use crate::outcome::Error;
use crate::tuning::{MAX_NOTES, NOTE_BYTES, SEARCHED_BYTES};

/// First words of a note, with its version.
const NOTE_BEGIN: [u64; 2] =
    [u64::from_le_bytes(*b"sockcap\0"), u64::from_le_bytes(*b"note 1\0\0")];
/// Index of the word that records whether the blob has begun.
const BEGUN_WORD: usize = 11;
/// Maximum length of a patch of the text, in bytes.
const MAX_PATCH: usize = 64;
/// Number of words at the addresses of [`DetachInfo::mapped`].
const MAPPED_WORDS: u64 = 2;

/// Address after all addresses that a program can have.
const ADDRESS_END: u64 = 1 << 56;

/// Encodes the note of a blob.
pub(super) fn encode_note(recorder: RecorderProcess, installed: &InstalledBlob) -> Vec<u8> {
    let (mark_at, mark) = installed.mark;
    let (low, high) = mark_to_words(mark);
    let mut words = vec![recorder.process.into(), recorder.since, mark_at, low, high];
    words.extend([installed.slot, installed.code.0, installed.code.1]);
    let none =
        DetachInfo { function: 0, waiting: HookOffsets::default(), mapped: None, switch: None };
    let DetachInfo { function, waiting, mapped, switch } = installed.ending.unwrap_or(none);
    words.extend([0, function]);
    words.extend(waiting.words());
    for ranges in [&installed.mapped, &installed.stubs] {
        words.push(ranges.len() as u64);
        words.extend(ranges.iter().flat_map(|(start, other)| [*start, *other]));
    }
    words.push(installed.patches.len() as u64);
    for TextPatch { address, old, new, call } in &installed.patches {
        words.extend([*address, *call, old.len() as u64]);
        for bytes in [old, new] {
            words.extend(bytes.chunks(8).map(|bytes| {
                let mut word = [0; 8];
                word.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
                u64::from_le_bytes(word)
            }));
        }
    }
    words.extend([mapped.unwrap_or(0), switch.unwrap_or(0), recorder.namespace]);
    let head = NOTE_BEGIN.into_iter().chain([words.len() as u64]);
    head.chain(words.iter().copied()).flat_map(u64::to_le_bytes).collect()
}

/// Marks in the note at an address that its blob has begun.
pub(super) fn mark_begun(memory: &ProcessMemory, at: u64) -> Result<(), Error> {
    memory.write(at + BEGUN_WORD as u64 * 8, &1u64.to_le_bytes())
}

/// Decodes the note of a blob in a process. `None` if it is not a note, or is broken.
pub(super) fn decode_note(process: u32, bytes: &[u8]) -> Option<(RecorderProcess, InstalledBlob)> {
    let words: Vec<u64> =
        bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (begin, rest) = words.split_first_chunk()?;
    let (count, rest) = rest.split_first()?;
    let mut words = NoteWords(rest.get(..usize::try_from(*count).ok()?)?);
    if *begin != NOTE_BEGIN {
        return None;
    }
    let [recorder, since, mark_at, low, high, slot, start, end] = words.next_words()?;
    let recorder = u32::try_from(recorder).ok()?;
    let [begun, function] = words.next_words()?;
    let waiting = HookOffsets::from_words(words.next_words()?);
    let (mapped, stubs) = (words.next_ranges()?, words.next_ranges()?);
    let mut patches = Vec::new();
    for _ in 0..words.next_word()? {
        let [address, call, length] = words.next_words()?;
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_PATCH)?;
        let (old, new) = (words.next_bytes(length)?, words.next_bytes(length)?);
        patches.push(TextPatch { address, old, new, call });
    }
    // Older notes end here, or after the next word.
    let mut offset = || words.next_word().filter(|at| *at != 0);
    let (own, switch) = (offset(), offset());
    let namespace = words.next_word().unwrap_or(0);
    let recorder = RecorderProcess { process: recorder, since, namespace };
    let ending = (begun != 0).then_some(DetachInfo { function, waiting, mapped: own, switch });
    let mark = (mark_at, mark_from_words(low, high));
    let code = (start, end);
    let installed = InstalledBlob { process, mapped, stubs, code, mark, slot, patches, ending };
    makes_sense(&installed).then_some((recorder, installed))
}

/// Whether the description in a note can be true: everything lies in the blob's mapped memory,
/// except the patches of the text.
fn makes_sense(installed: &InstalledBlob) -> bool {
    let Some((blob, bytes)) = installed.mapped.first().copied() else { return false };
    let after = |start: u64, bytes: u64| start.checked_add(bytes).filter(|end| *end <= ADDRESS_END);
    let is_range = |(start, bytes): &(u64, u64)| {
        let is_whole = start.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE);
        is_whole && *start != 0 && *bytes != 0 && after(*start, *bytes).is_some()
    };
    let is_inside = |(start, end): (u64, u64)| {
        let holds = |(from, bytes): &(u64, u64)| *from <= start && end <= from + bytes;
        start <= end && installed.mapped.iter().any(holds)
    };
    let is_in_blob =
        |offset: u64, length: u64| offset.checked_add(length).is_some_and(|end| end <= bytes);
    let is_change = |patch: &TextPatch| {
        let end = after(patch.address, patch.old.len() as u64);
        !patch.old.is_empty() && end.is_some_and(|end| !is_inside((patch.address, end)))
    };
    let ends = |ending: &DetachInfo| {
        let is_code = blob
            .checked_add(ending.function)
            .is_some_and(|at| (installed.code.0..installed.code.1).contains(&at));
        let words = [(ending.mapped, MAPPED_WORDS), (ending.switch, KillSwitch::WORDS as u64)];
        is_code && words.iter().all(|(at, words)| at.is_none_or(|at| is_in_blob(at, words * 8)))
    };
    installed.mapped.iter().all(is_range)
        && is_inside(installed.code)
        && installed.stubs.iter().all(|range| is_inside(*range))
        && after(installed.mark.0, MARK_BYTES as u64)
            .is_some_and(|end| is_inside((installed.mark.0, end)))
        && after(installed.slot, 8).is_some_and(|end| is_inside((installed.slot, end)))
        && installed.patches.iter().all(is_change)
        && installed.ending.as_ref().is_none_or(ends)
}

/// Finds the notes in a process. Some may belong to blobs that are gone.
pub(super) fn find_notes(
    process: u32,
    memory: &ProcessMemory,
) -> Result<Vec<(RecorderProcess, InstalledBlob)>, Error> {
    let maps = memory.maps_text()?;
    let regions: Vec<MemoryRegion> = maps::read_only_regions(&maps).collect();
    let pages = regions.iter().flat_map(|region| memory.pages_in_use(region));
    let notes = pages.take((SEARCHED_BYTES / PAGE) as usize).filter_map(|at| {
        let begin = memory.read(at, 24).ok()?;
        let (mark, count) = begin.split_at_checked(16)?;
        if mark != NOTE_BEGIN.map(u64::to_le_bytes).as_flattened() {
            return None;
        }
        let count = count.first_chunk().map_or(0, |count| u64::from_le_bytes(*count));
        let bytes = count.saturating_mul(8).saturating_add(24);
        Some((at, bytes.min(NOTE_BYTES as u64)))
    });
    // A process may make up notes, so only a few are read.
    let notes = notes
        .take(MAX_NOTES)
        .filter_map(|(at, bytes)| decode_note(process, &memory.read(at, bytes as usize).ok()?));
    Ok(notes.collect())
}

/// Words that are still to be decoded. Each method returns `None` if too few are left.
struct NoteWords<'a>(&'a [u64]);

impl NoteWords<'_> {
    fn next_word(&mut self) -> Option<u64> {
        let [word] = self.next_words()?;
        Some(word)
    }

    fn next_words<const N: usize>(&mut self) -> Option<[u64; N]> {
        let (words, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*words)
    }

    fn next_ranges(&mut self) -> Option<Vec<(u64, u64)>> {
        let mut ranges = Vec::new();
        for _ in 0..self.next_word()? {
            let [start, other] = self.next_words()?;
            ranges.push((start, other));
        }
        Some(ranges)
    }

    fn next_bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let (words, rest) = self.0.split_at_checked(count.div_ceil(8))?;
        self.0 = rest;
        Some(words.iter().flat_map(|word| word.to_le_bytes()).take(count).collect())
    }
}

/// Splits a mark into two words.
fn mark_to_words(mark: [u8; MARK_BYTES]) -> (u64, u64) {
    let mark = u128::from_le_bytes(mark);
    (mark as u64, (mark >> 64) as u64)
}

/// Joins a mark from two words.
fn mark_from_words(low: u64, high: u64) -> [u8; MARK_BYTES] {
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn installed() -> InstalledBlob {
        InstalledBlob {
            process: 7,
            mapped: vec![(0x1000, 0x5000), (0x9000, 0x1000)],
            stubs: vec![(0x3000, 0x4000)],
            code: (0x1000, 0x2000),
            mark: (0x4ff0, *b"the recorder, it"),
            slot: 0x2040,
            patches: vec![
                TextPatch { address: 1, old: vec![1, 2, 3, 4, 5], new: vec![6; 5], call: 6 },
                TextPatch { address: 0xfff7, old: vec![7; 9], new: vec![8; 9], call: 18 },
            ],
            ending: Some(DetachInfo {
                function: 0x80,
                waiting: HookOffsets::from_words([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]),
                mapped: Some(0x90),
                switch: Some(0x4fd8),
            }),
        }
    }

    #[test]
    fn notes_round_trip() {
        let (recorder, installed) = (RecorderProcess::current(), installed());
        let mut bytes = encode_note(recorder, &installed);
        let before = InstalledBlob { ending: None, ..installed.clone() };
        assert_eq!(decode_note(7, &bytes).unwrap().1, before);
        bytes[BEGUN_WORD * 8] = 1;
        let read = decode_note(7, &[&bytes[..], &[1; 20]].concat()).unwrap();
        assert_eq!(read, (recorder, installed));
        assert_eq!(decode_note(7, &bytes[..bytes.len() - 8]), None);
    }

    /// An older version of this program had no switch, and did not record the recorder's namespace.
    #[test]
    fn an_older_note_is_read() {
        let installed = installed();
        let mut bytes = encode_note(RecorderProcess::current(), &installed);
        bytes[BEGUN_WORD * 8] = 1;
        bytes.truncate(bytes.len() - 16);
        let count = (bytes.len() as u64 - 24) / 8;
        bytes[16..24].copy_from_slice(&count.to_le_bytes());
        let (recorder, read) = decode_note(7, &bytes).unwrap();
        assert_eq!(recorder.namespace, 0);
        let ending = installed.ending.map(|ending| DetachInfo { switch: None, ..ending });
        assert_eq!(read, InstalledBlob { ending, ..installed });
    }

    /// A process can write anything into its own memory.
    #[test]
    fn inconsistent_notes_are_rejected() {
        let changes: [fn(&mut InstalledBlob); 14] = [
            |installed| installed.mapped.clear(),
            |installed| installed.mapped[0].0 = 0,
            |installed| installed.mapped[0].0 += 1,
            |installed| installed.mapped[1].1 = 0,
            |installed| installed.mapped[1] = (u64::MAX - 0xfff, 0x1000),
            |installed| installed.code = (0x7000, 0x8000),
            |installed| installed.code = (0x2000, 0x1000),
            |installed| installed.stubs[0].1 = 0x7000,
            |installed| installed.mark.0 = u64::MAX - 3,
            |installed| installed.slot = u64::MAX,
            |installed| installed.patches[0].address = u64::MAX,
            |installed| installed.patches[0].address = 0x2000,
            |installed| installed.ending.as_mut().unwrap().function = u64::MAX,
            |installed| installed.ending.as_mut().unwrap().switch = Some(0x4ff0),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut installed = installed();
            change(&mut installed);
            let mut bytes = encode_note(RecorderProcess::current(), &installed);
            bytes[BEGUN_WORD * 8] = 1;
            assert_eq!(decode_note(7, &bytes), None, "change {number}");
        }
    }

    proptest! {
        #[test]
        fn damaged_notes_are_read_or_refused(places in prop::collection::vec(any::<(u16, u8)>(), 1..9)) {
            let mut bytes = encode_note(RecorderProcess::current(), &installed());
            let length = bytes.len();
            for (place, byte) in places {
                bytes[usize::from(place) % length] = byte;
            }
            if let Some((recorder, installed)) = decode_note(7, &bytes) {
                let mut again = encode_note(recorder, &installed);
                again[BEGUN_WORD * 8] = installed.ending.is_some().into();
                assert_eq!(decode_note(7, &again), Some((recorder, installed)));
            }
        }
    }
}
