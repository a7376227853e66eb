//! Clearance of patches: moves threads away from text that is about to be patched.
//!
//! A jump replaces several instructions. A thread at one of them, except the first, would continue
//! in the middle of the jump, so it runs for a moment before and is stopped elsewhere. A thread
//! that waits in a system call stays if the instruction would move: then its call is not patched.
//!
//! Single steps would be shorter, but a single step that has begun ends the program if its tracer
//! is killed.

use std::time::Instant;

use crate::blob::TextPatch;
use crate::code_cave::interrupted::is_interrupted;
use crate::outcome::Error;
use crate::threads::{StoppedThread, StoppedThreads};
use crate::tuning::{MOMENT, MOMENTS};

/// Moves all threads out of the patched text, and drops patches for which that is impossible.
pub(super) fn clear_patches(
    threads: &mut StoppedThreads,
    patches: &mut Vec<TextPatch>,
    until: Instant,
) -> Result<(), Error> {
    for moment in 1..=MOMENTS {
        for thread in threads.all.iter().filter(|thread| is_interrupted(&thread.registers)) {
            while let Some(place) = covering_patch(patches, thread) {
                patches.remove(place);
            }
        }
        let stands_in = |thread: &StoppedThread| covering_patch(patches, thread).is_some();
        if !threads.all.iter().any(stands_in) {
            return Ok(());
        }
        threads.resume_briefly(stands_in, MOMENT * moment, until)?;
    }
    let process = threads.process();
    Err(Error::Timeout { process, step: "moving its threads out of patched text" })
}

/// Index of the patch that covers the place where a thread continues. A thread in a system call may
/// continue after it, or restart it.
fn covering_patch(patches: &[TextPatch], thread: &StoppedThread) -> Option<usize> {
    let at = thread.registers.rip;
    let again = is_interrupted(&thread.registers).then(|| at.wrapping_sub(2));
    let covers = |patch: &TextPatch, at: u64| {
        patch.address < at && at - patch.address < patch.old.len() as u64
    };
    patches
        .iter()
        .position(|patch| covers(patch, at) || again.is_some_and(|again| covers(patch, again)))
}
