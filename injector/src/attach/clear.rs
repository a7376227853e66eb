//! Threads that stand where the text is about to be changed.
//!
//! A jump takes the place of several instructions. A thread that stands at one of them but the
//! first would go on in the middle of the jump, so it is led out before. One that waits in a system
//! call there, whose instruction would move, cannot be: the call of that place is left as it is.

use std::time::Instant;

use crate::blob::Patch;
use crate::foothold::whole::is_interrupted;
use crate::outcome::Error;
use crate::threads::{Thread, Threads};
use crate::tuning::STEPS_OUT;

/// Leads all threads out of what is changed, and leaves out the changes where that cannot be.
pub(super) fn clear(
    threads: &mut Threads,
    patches: &mut Vec<Patch>,
    until: Instant,
) -> Result<(), Error> {
    threads.all.iter_mut().try_for_each(|thread| {
        if covering(patches, thread).is_none() {
            return Ok(());
        }
        thread.without_signals(|thread| lead_out(thread, patches, until))
    })
}

/// Leads one thread out.
fn lead_out(thread: &mut Thread, patches: &mut Vec<Patch>, until: Instant) -> Result<(), Error> {
    for _ in 0..STEPS_OUT {
        let Some(place) = covering(patches, thread) else { return Ok(()) };
        if is_interrupted(&thread.registers) {
            patches.remove(place);
        } else {
            thread.step(until)?;
        }
    }
    let process = thread.seized.process();
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
