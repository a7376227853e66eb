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

use crate::blob::Patch;
use crate::foothold::whole::is_interrupted;
use crate::outcome::Error;
use crate::threads::{Thread, Threads};
use crate::tuning::{MOMENT, MOMENTS};

/// Leads all threads out of what is changed, and leaves out the changes where that cannot be.
pub(super) fn clear(
    threads: &mut Threads,
    patches: &mut Vec<Patch>,
    until: Instant,
) -> Result<(), Error> {
    for moment in 1..=MOMENTS {
        for thread in threads.all.iter().filter(|thread| is_interrupted(&thread.registers)) {
            while let Some(place) = covering(patches, thread) {
                patches.remove(place);
            }
        }
        let stands_in = |thread: &Thread| covering(patches, thread).is_some();
        if !threads.all.iter().any(stands_in) {
            return Ok(());
        }
        threads.let_on(stands_in, MOMENT * moment, until)?;
    }
    let process = threads.process();
    Err(Error::Timeout { process, step: "leading its threads out of what is changed" })
}

/// Which change covers the place where a thread goes on. One that waits in a system call may go on
/// behind it, or begin it again.
fn covering(patches: &[Patch], thread: &Thread) -> Option<usize> {
    let at = thread.registers.rip;
    let again = is_interrupted(&thread.registers).then(|| at.wrapping_sub(2));
    let covers =
        |patch: &Patch, at: u64| patch.address < at && at - patch.address < patch.old.len() as u64;
    patches
        .iter()
        .position(|patch| covers(patch, at) || again.is_some_and(|again| covers(patch, again)))
}
