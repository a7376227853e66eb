//! Patches of a program's text: validation, writing and undoing.

use crate::blob::{Blob, TextPatch};
use crate::maps::PAGE;
use crate::memory::ProcessMemory;
use crate::outcome::Error;

/// Whether a blob's description is consistent.
pub(crate) fn check_blob(blob: &Blob) -> Result<(), Error> {
    let holds = |offset: u64| offset < blob.memory;
    let wrong = match blob {
        _ if (blob.image.len() as u64) > blob.memory => "the image is longer than its memory",
        _ if blob.code.start > blob.code.end || blob.code.end > blob.memory => {
            "its code lies outside of its memory"
        }
        _ if !blob.code.start.is_multiple_of(PAGE) || !blob.code.end.is_multiple_of(PAGE) => {
            "its code does not take whole pages"
        }
        _ if !holds(blob.null_slot) => "its slot lies outside of its memory",
        _ if blob.initialise.is_some_and(|at| !blob.code.contains(&at)) => {
            "its first function is not in its code"
        }
        _ => return Ok(()),
    };
    Err(Error::Blob(wrong))
}

/// Verifies that each patch lies in the program's code, and that all old bytes match.
pub(crate) fn verify_patches(
    process: u32,
    memory: &ProcessMemory,
    code: &[(u64, u64)],
    patches: &[TextPatch],
) -> Result<(), Error> {
    for TextPatch { address, old, new, .. } in patches {
        let (address, end) = (*address, address.checked_add(old.len() as u64));
        let inside = code
            .iter()
            .any(|(start, limit)| *start <= address && end.is_some_and(|end| end <= *limit));
        if !inside || old.is_empty() || old.len() != new.len() {
            return Err(Error::BadPatch { process, address });
        }
        let found = memory.read(address, old.len())?;
        if found != *old {
            return Err(Error::OtherBytes { process, address, found });
        }
    }
    Ok(())
}

/// State of the text at a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchState {
    /// The patch is in place.
    New,
    /// The old bytes are in place.
    Old,
    /// A breakpoint is on the patch. The debugger that set it will restore the patch's first byte.
    Breakpoint,
    /// Other bytes or unmapped memory: the patch vanished with the code that contained it.
    Other,
}

/// Determines the state of the text at a patch.
pub(crate) fn patch_state(memory: &ProcessMemory, patch: &TextPatch) -> PatchState {
    /// The instruction `int3`.
    const BREAKPOINT: u8 = 0xcc;
    let Ok(found) = memory.read(patch.address, patch.new.len()) else { return PatchState::Other };
    if found == patch.new {
        return PatchState::New;
    }
    if found == patch.old {
        return PatchState::Old;
    }
    match (found.split_first(), patch.new.split_first()) {
        (Some((&BREAKPOINT, rest)), Some((_, own))) if rest == own => PatchState::Breakpoint,
        _ => PatchState::Other,
    }
}

/// Undoes a patch that is still in place, and nothing else: the code may be gone, and other code
/// may be in its place.
pub(crate) fn undo_patch(
    process: u32,
    memory: &ProcessMemory,
    patch: &TextPatch,
) -> Result<(), Error> {
    let address = patch.address;
    match patch_state(memory, patch) {
        PatchState::Old | PatchState::Other => Ok(()),
        PatchState::Breakpoint => Err(Error::Breakpoint { process, address }),
        PatchState::New => {
            memory.write(address, &patch.old)?;
            match patch_state(memory, patch) {
                PatchState::Old => Ok(()),
                _ => Err(Error::Remains { process, what: format!("its patch at {address:#x}") }),
            }
        }
    }
}

/// Writes all patches, or none.
pub(crate) fn apply_patches(memory: &ProcessMemory, patches: &[TextPatch]) -> Result<(), Error> {
    for (done, patch) in patches.iter().enumerate() {
        if let Err(error) = memory.write(patch.address, &patch.new) {
            for patch in patches.iter().take(done + 1) {
                memory.write(patch.address, &patch.old)?;
            }
            return Err(error);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test uses memory of this process in place of code.
    #[test]
    fn a_patch_is_undone_only_if_still_in_place() {
        let process = std::process::id();
        let memory = ProcessMemory::open(process).unwrap();
        let place = Box::new([0u8; 5]);
        let address = place.as_ptr().addr() as u64;
        let (old, new) = (b"\x90\x90\x0f\x05\xc3".to_vec(), b"\xe9\x01\x02\x03\x04".to_vec());
        let patch = TextPatch { address, old: old.clone(), new: new.clone(), call: address + 2 };
        let breakpoint = [&[0xcc], &new[1..]].concat();
        let other = b"\xcc\xcc\xcc\xcc\xcc".to_vec();
        for (found, expected, after) in [
            (&new, PatchState::New, &old),
            (&old, PatchState::Old, &old),
            (&breakpoint, PatchState::Breakpoint, &breakpoint),
            (&other, PatchState::Other, &other),
        ] {
            memory.write(address, found).unwrap();
            assert_eq!(patch_state(&memory, &patch), expected);
            let undone = undo_patch(process, &memory, &patch);
            let is_kept = matches!(undone, Err(Error::Breakpoint { .. }));
            assert_eq!(is_kept, expected == PatchState::Breakpoint, "{undone:?}");
            assert!(memory.has_bytes(address, after), "{expected:?}");
        }
        // Nothing is mapped there.
        let gone = TextPatch { address: 0, ..patch };
        assert_eq!(patch_state(&memory, &gone), PatchState::Other);
        undo_patch(process, &memory, &gone).unwrap();
        drop(place);
    }
}
