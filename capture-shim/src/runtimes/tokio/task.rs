//! Task that the thread runs, and tasks that it wakes or starts.

use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use super::layout::{is_task, is_waiting, task_number};
use crate::runtimes::contexts;
use crate::tuning::MAX_TASK_STARTERS;

/// Attributes further records to a task, and returns the number of the previous one.
///
/// # Safety
/// A task of Tokio is at the address.
pub(super) unsafe extern "C" fn begin(task: usize) -> u32 {
    // SAFETY: as the caller guarantees.
    contexts::context_entered(unsafe { task_number(task) } as u32)
}

/// Attributes further records to the task that ran before.
pub(super) extern "C" fn end(before: u32) {
    contexts::context_left(before);
}

/// Records that the thread's task wakes the task at `task`, unless that task would be polled
/// anyway: it was already woken, or is complete.
///
/// # Safety
/// A task of Tokio is at the address.
pub(super) unsafe extern "C" fn woken(task: usize) {
    // SAFETY: as the caller guarantees.
    unsafe {
        if is_waiting(task) {
            contexts::context_woken(task_number(task) as u32);
        }
    }
}

/// Records that the thread's task starts `task`. Called from the beginning of Tokio's function that
/// adds a new task to a scheduler's list (`bind_inner`), which continues at `function`.
pub(super) extern "C" fn started(task: usize, function: usize) {
    if hands_over_tasks(function, task) {
        // SAFETY: the function passes a task.
        contexts::context_started(unsafe { task_number(task) } as u32);
    }
}

/// Functions that take up started tasks, each by the address at which it resumes, with [`WRONG`] if
/// it was first passed something other than a task. If a compiler knows all callers of a function,
/// it may pass other arguments than the source has; it then does so each time.
static KNOWN: [AtomicUsize; MAX_TASK_STARTERS] = [const { AtomicUsize::new(0) }; MAX_TASK_STARTERS];
/// Bit of a function that is passed something other than a task; no address of a program has it.
const WRONG: usize = 1 << 63;

/// Whether the function that resumes at `function` is passed tasks, judged by its argument `task`,
/// which may be anything.
fn hands_over_tasks(function: usize, task: usize) -> bool {
    for known in &KNOWN {
        let mut word = known.load(Relaxed);
        if word == 0 {
            let found = if is_task(task) { function } else { function | WRONG };
            word = known
                .compare_exchange(0, found, Relaxed, Relaxed)
                .map_or_else(|now| now, |_| found);
        }
        if word & !WRONG == function {
            return word & WRONG == 0;
        }
    }
    false
}
