//! Contexts, as all runtimes report them: a context is what a runtime runs piece by piece on its
//! threads, such as a task. Its number is unique within the process, and not 0.
//!
//! A record belongs to the context that its thread runs when the record is written. A change of the
//! thread's context is not logged by itself, but together with the next record.

use core::sync::atomic::Ordering::Relaxed;

use crate::log;
use crate::platform::clock;
use crate::state::context_source::{self, ASKED, ContextStart};
use crate::state::thread::{self, ThreadLogState};
use crate::tuning::MAX_IN_A_ROW;

/// Attributes further records of the thread to a context (0: to the thread itself), and returns the
/// number of the previous context.
#[inline(always)]
pub(super) fn context_entered(number: u32) -> u32 {
    let number = if number == 0 { context_source::default_number() } else { number };
    thread::current_thread().context.swap(number, Relaxed)
}

/// Number of the context that the thread runs, if its runtime reports each change.
pub(super) fn reported_context() -> Option<u32> {
    let number = thread::current_thread().context.load(Relaxed);
    (number != 0 && number != ASKED).then_some(number)
}

/// Attributes further records of the thread to the context that it ran before.
#[inline(always)]
pub(super) fn context_left(previous: u32) {
    thread::current_thread().context.store(previous, Relaxed);
}

/// Records that the thread's context starts the context of this number.
pub(super) fn context_started(number: u32) {
    record_ready(number, true);
}

/// Records that the thread's context, or the thread itself if it runs none, starts the context of
/// this number.
pub(super) fn context_started_by_current(number: u32) {
    if number != 0 {
        write_ready(number, true);
    }
}

/// Records that the thread's context wakes the context of this number, which waited.
pub(super) fn context_woken(number: u32) {
    record_ready(number, false);
}

/// Records the start of a context, if the thread has records and `take` returns the start.
pub(super) fn record_start(number: u32, take: impl FnOnce() -> Option<ContextStart>) {
    let thread = thread::current_thread();
    if let Some(writer) = log::attached_thread()
        && let Some(in_a_row) = next_in_a_row(thread)
        && let Some(start) = take()
    {
        writer.record_known_start(number, start, clock::current_ticks());
        count_ready(thread, in_a_row);
    }
}

/// Records that the thread's context wakes or starts the context of this number.
fn record_ready(number: u32, is_started: bool) {
    let current = reported_context().unwrap_or_default();
    if number != 0 && current != 0 && current != number {
        write_ready(number, is_started);
    }
}

/// Writes a record of a ready context, unless the thread has written too many in a row.
fn write_ready(number: u32, is_started: bool) {
    let thread = thread::current_thread();
    if let Some(in_a_row) = next_in_a_row(thread) {
        log::record_ready(clock::current_ticks(), u64::from(number), is_started);
        count_ready(thread, in_a_row);
    }
}

/// How many records of ready contexts the thread has written without another record in between.
/// `None` if there are too many: a program that mostly computes would write nothing else for long,
/// which contributes nothing about messages.
fn next_in_a_row(thread: &ThreadLogState) -> Option<u32> {
    let is_next = thread.after_last_ready.load(Relaxed) == thread.cursor.load(Relaxed) as u32;
    let in_a_row = if is_next { thread.in_a_row.load(Relaxed) + 1 } else { 0 };
    (in_a_row < MAX_IN_A_ROW).then_some(in_a_row)
}

/// Counts a record of a ready context that was written after `in_a_row` others.
fn count_ready(thread: &ThreadLogState, in_a_row: u32) {
    thread.in_a_row.store(in_a_row, Relaxed);
    thread.after_last_ready.store(thread.cursor.load(Relaxed) as u32, Relaxed);
}
