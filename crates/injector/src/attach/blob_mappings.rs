//! Memory that a blob has mapped itself, which is unmapped together with it.

use super::installed_blob::InstalledBlob;
use crate::maps::PAGE;
use crate::memory::ProcessMemory;
use crate::tuning::MAX_MAPPED_RANGES;

/// Ranges that the blob of a process lists as mapped by itself, as addresses and lengths in bytes.
/// Empty if the list cannot be read: memory that stays mapped does no harm.
pub(super) fn mapped_ranges(installed: &InstalledBlob, memory: &ProcessMemory) -> Vec<(u64, u64)> {
    let Some(at) = installed.ending.and_then(|ending| ending.mapped) else { return Vec::new() };
    let read = || {
        let (list, count) = (
            memory.word(installed.blob_address() + at).ok()?,
            memory.word(installed.blob_address() + at + 8).ok()?,
        );
        if list == 0 {
            return None;
        }
        memory.read(list, usize::try_from(count).ok()?.min(MAX_MAPPED_RANGES) * 16).ok()
    };
    join_ranges(&read().unwrap_or_default())
}

/// Ranges of a list as whole pages, with neighbours joined. Invalid entries are left out.
fn join_ranges(list: &[u8]) -> Vec<(u64, u64)> {
    let words: Vec<u64> = list.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let ranges = words.as_chunks().0.iter().filter_map(|&[start, length]| {
        let length = length.checked_next_multiple_of(PAGE)?;
        let makes_sense = start != 0 && start.is_multiple_of(PAGE) && length != 0;
        makes_sense.then_some((start, start.checked_add(length)?))
    });
    let mut ranges: Vec<(u64, u64)> = ranges.collect();
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in ranges {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined.into_iter().map(|(start, end)| (start, end - start)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_ranges_are_joined_and_invalid_ones_left_out() {
        let words = [
            [0x9000, 0x1000],
            [0x3000, 0x1001],
            [0x5000, 0x2000],
            [0x3000, 0x1000],
            // A reserved entry that was not written yet; a partial page; a range beyond all
            // addresses.
            [0, 0],
            [0x100, 0x1000],
            [u64::MAX - 0xfff, u64::MAX],
        ];
        let bytes: Vec<u8> =
            words.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(join_ranges(&bytes), [(0x3000, 0x4000), (0x9000, 0x1000)]);
        assert_eq!(join_ranges(&bytes[..15]), []);
    }
}
