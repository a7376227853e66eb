//! Description of a blob in a process, sufficient for its removal.

use super::initial_stack::MARK_BYTES;
use crate::blob::{DetachInfo, TextPatch};

/// A blob in a process, and its patches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstalledBlob {
    /// Process id.
    pub process: u32,
    /// Mapped ranges, the blob's first.
    pub mapped: Vec<(u64, u64)>,
    /// Ranges of stubs.
    pub stubs: Vec<(u64, u64)>,
    /// Range of the blob's code.
    pub code: (u64, u64),
    /// Address of bytes that no other blob has, and these bytes.
    pub mark: (u64, [u8; MARK_BYTES]),
    /// Address that the GS base of threads has at first.
    pub slot: u64,
    /// Patches of the text.
    pub patches: Vec<TextPatch>,
    /// How the blob is removed.
    pub ending: Option<DetachInfo>,
}

impl InstalledBlob {
    /// Address of the blob.
    pub(crate) fn blob_address(&self) -> u64 {
        self.mapped.first().map_or(0, |(address, _)| *address)
    }

    /// Address in the program of a call that a stub makes in its place, or the address after the
    /// call (`after`).
    pub(crate) fn original_address(&self, at: u64, after: bool) -> Option<u64> {
        let stub = |patch: &TextPatch| {
            let distance = i32::from_le_bytes(*patch.new.get(1..)?.first_chunk()?);
            Some(patch.address.wrapping_add(5).wrapping_add_signed(distance.into()))
        };
        let stubs = self.patches.iter().filter_map(|patch| Some((stub(patch)?, patch)));
        let before = stubs.filter(|(stub, _)| *stub <= at);
        let (_, patch) = before.max_by_key(|(stub, _)| *stub)?;
        Some(patch.call + if after { 2 } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_call_is_found_whatever_the_jump_overwrites() {
        let patch = |address: u64, old: &[u8], call: u64, stub: u64| {
            let distance = (stub - address - 5) as i32;
            let new = [&[0xe9], &distance.to_le_bytes()[..]].concat();
            TextPatch { address, old: old.to_vec(), new, call }
        };
        // mov eax,44 before the call; and: mov al,2; syscall; a byte after it.
        let patches = vec![
            patch(100, b"\xb8\x2c\0\0\0", 105, 1000),
            patch(200, b"\xb0\x02\x0f\x05\x48", 202, 1016),
        ];
        let installed = InstalledBlob {
            process: 1,
            mapped: Vec::new(),
            stubs: vec![(900, 2000)],
            code: (0, 0),
            mark: (0, [0; MARK_BYTES]),
            slot: 0,
            patches,
            ending: None,
        };
        assert_eq!(installed.original_address(1009, true), Some(107));
        assert_eq!(installed.original_address(1009, false), Some(105));
        assert_eq!(installed.original_address(1020, true), Some(204));
        assert_eq!(installed.original_address(999, true), None);
    }
}
