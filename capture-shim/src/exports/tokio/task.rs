//! Task that the thread runs, and those that it lets go on or starts.

use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use super::layout::{is_task, is_waiting, task_number};
use crate::log;
use crate::platform::clock;
use crate::state::thread::{self, ThreadLogState};
use crate::tuning::{MAX_IN_A_ROW, MAX_TASK_STARTERS};

/// Makes records to come those of a task, and returns the number of the one before.
///
/// # Safety
/// A task of Tokio is there.
pub(super) unsafe extern "C" fn begin(task: usize) -> u32 {
    // SAFETY: as the caller says.
    let number = unsafe { task_number(task) };
    thread::current_thread().task.swap(number as u32, Relaxed)
}

/// Makes records to come those of the task that ran before.
pub(super) extern "C" fn end(before: u32) {
    thread::current_thread().task.store(before, Relaxed);
}

/// Writes that the thread's task lets another one go on, if that one would not without it. One that
/// runs looks once more when it is about to wait.
///
/// # Safety
/// A task of Tokio is there.
pub(super) unsafe extern "C" fn woken(task: usize) {
    // SAFETY: as the caller says.
    unsafe {
        if is_waiting(task) {
            record_ready(task_number(task), false);
        }
    }
}

/// Writes that the thread's task starts `task`. `function` is where the function that takes it up
/// goes on.
pub(super) extern "C" fn started(task: usize, function: usize) {
    if hands_over_tasks(function, task) {
        // SAFETY: the function hands over a task.
        record_ready(unsafe { task_number(task) }, true);
    }
}

/// Functions that take up tasks which are started, each by where it goes on, and [`WRONG`] if
/// something else than a task came from it first. Where a compiler knows all that call a function,
/// it may hand over other arguments than the source says; it then does so each time.
static KNOWN: [AtomicUsize; MAX_TASK_STARTERS] = [const { AtomicUsize::new(0) }; MAX_TASK_STARTERS];
/// Bit of a function that hands over something else; no address of ours has it.
const WRONG: usize = 1 << 63;

/// Whether the function that goes on at `function` hands over tasks, as `task` tells, which may be
/// anything.
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

/// Writes that the thread's task lets the one of this number go on, or starts it.
fn record_ready(number: u64, is_started: bool) {
    let thread = thread::current_thread();
    let current = thread.task.load(Relaxed);
    if number == 0 || current == 0 || current == number as u32 || !may_record(thread) {
        return;
    }
    log::record_ready(clock::current_ticks(), number, is_started);
    thread.behind.store(thread.cursor.load(Relaxed) as u32, Relaxed);
}

/// Whether one more record may be written of a task that can go on. A program that mostly computes
/// writes nothing else for long, and that tells nothing of messages.
fn may_record(thread: &ThreadLogState) -> bool {
    let is_next = thread.behind.load(Relaxed) == thread.cursor.load(Relaxed) as u32;
    let in_a_row = if is_next { thread.in_a_row.load(Relaxed) + 1 } else { 0 };
    thread.in_a_row.store(in_a_row.min(MAX_IN_A_ROW), Relaxed);
    in_a_row < MAX_IN_A_ROW
}
