//! Changes of a program's text: whether they are what they should be, and how they are written.

use crate::blob::{Blob, Patch};
use crate::maps::PAGE;
use crate::memory::Memory;
use crate::outcome::Error;

/// Whether a blob's description can be true.
pub(crate) fn check(blob: &Blob) -> Result<(), Error> {
    let holds = |offset: u64| offset < blob.memory;
    let wrong = match blob {
        _ if (blob.image.len() as u64) > blob.memory => "the image is longer than its memory",
        _ if blob.code.start > blob.code.end || blob.code.end > blob.memory => {
            "its code lies outside"
        }
        _ if !blob.code.start.is_multiple_of(PAGE) || !blob.code.end.is_multiple_of(PAGE) => {
            "its code does not take whole pages"
        }
        _ if !holds(blob.null_slot) => "its slot lies outside",
        _ if blob.initialise.is_some_and(|at| !blob.code.contains(&at)) => {
            "its first function is no code"
        }
        _ => return Ok(()),
    };
    Err(Error::Blob(wrong))
}

/// Whether each change is one of the program's code, and all bytes are as they should be.
pub(crate) fn verify(
    process: u32,
    memory: &Memory,
    code: &[(u64, u64)],
    patches: &[Patch],
) -> Result<(), Error> {
    for Patch { address, old, new, .. } in patches {
        let (address, end) = (*address, address.checked_add(old.len() as u64));
        let inside = code
            .iter()
            .any(|(start, behind)| *start <= address && end.is_some_and(|end| end <= *behind));
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

/// Writes all changes, or none.
pub(crate) fn change(memory: &Memory, patches: &[Patch]) -> Result<(), Error> {
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
