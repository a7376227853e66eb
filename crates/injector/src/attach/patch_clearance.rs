//! Threads that stand where the text is about to be changed.
//!
//! A jump takes the place of several instructions. A thread that stands at one of them but the
//! first would go on in the middle of the jump, so it goes on for a moment before, and is stopped
//! again elsewhere. One that waits in a system call there, whose instruction would move, stays: the
//! call of that place is left as it is.
//!
//! Single steps would be shorter, but a step that the kernel has begun ends a program whose tracer
//! is killed.

use std::time::Instant;

use crate::blob::TextPatch;
use crate::code_cave::interrupted::is_interrupted;
use crate::outcome::Error;
use crate::threads::{StoppedThread, StoppedThreads};
use crate::tuning::{MOMENT, MOMENTS};

/// Leads all threads out of what is changed, and leaves out the changes where that cannot be.
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
    Err(Error::Timeout { process, step: "leading its threads out of what is changed" })
}

/// Which change covers the place where a thread goes on. One that waits in a system call may go on
/// behind it, or begin it again.
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
