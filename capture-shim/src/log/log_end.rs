//! End of a log: returns the unused space that was allocated ahead.
//!
//! A store into a mapping beyond the file's end would be a SIGBUS in the program. So before the
//! file is cut, the mapping beyond the cut is replaced by private memory, and the log is stopped
//! from growing. If more than one thread logs, the other threads may still write much until the
//! process is gone. Then the tools cut the log, as they do after a process was killed.

use core::ffi::c_int;
#[cfg(feature = "injected")]
use core::sync::atomic::Ordering::Release;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use socket_log::layout::{CHUNK_BYTES, FileHeader, HEADER_BYTES, lost};

use super::{LogStanding, keep, segment};
#[cfg(feature = "injected")]
use crate::descriptors::table;
use crate::log;
use crate::platform::raw;
#[cfg(feature = "injected")]
use crate::state;
use crate::state::ProcessState;

/// Cuts the log of a process that is about to end, or removes a log that was made ahead and is
/// empty.
pub(crate) fn end_log_of_process() {
    match log::log_standing() {
        LogStanding::Writes(writer) if writer.state().writers.load(Relaxed) <= 1 => {
            if writer.state().has_buffered.load(Relaxed) != 0 || prints_to_socket() {
                writer.make_last_room();
            }
            if let Some(header) = writer.header() {
                truncate_log(writer.state(), header);
            }
        }
        // The log was made ahead, and was not needed.
        LogStanding::NoLogYet(state)
            if state.generation.load(Acquire) != 0 && state.is_unused() =>
        {
            keep::unlink_file(state.log_path());
        }
        _ => {}
    }
}

/// Whether the standard output is a socket: libc may still buffer everything that the program has
/// printed to it, and writes it after the process's last own call.
fn prints_to_socket() -> bool {
    raw::socket_option::<c_int>(libc::STDOUT_FILENO, libc::SO_TYPE).is_ok()
}

/// Ends the log of a process that continues without the library: the log is cut, and no thread
/// finds it any more. No thread of the program runs meanwhile.
#[cfg(feature = "injected")]
pub(crate) fn end_log_for_good() {
    match log::log_standing() {
        LogStanding::Writes(writer) => {
            if let Some(header) = writer.header() {
                truncate_log(writer.state(), header);
            }
        }
        LogStanding::NoLogYet(state)
            if state.generation.load(Acquire) != 0 && state.is_unused() =>
        {
            keep::unlink_file(state.log_path());
        }
        _ => {}
    }
    table::disable_table();
    if let Some(state) = state::current_state() {
        segment::note_mapped(state);
        state.header.store(core::ptr::null_mut(), Relaxed);
        // Threads are attached to the former generation, and the new one has no log.
        state.generation.store(state.generation.load(Relaxed).wrapping_add(2) | 1, Release);
    }
}

/// Cuts the log to its used length.
fn truncate_log(state: &ProcessState, header: &FileHeader) {
    let end = || HEADER_BYTES + header.chunks.load(Relaxed) as usize * CHUNK_BYTES;
    let stopped = &state.stopped;
    if segment::find_mapped_rest(state, end()).is_none() {
        return;
    }
    // A signal handler may still log, into its thread's chunk.
    let _ = stopped.compare_exchange(0, lost::BUSY as u32 + 1, Relaxed, Relaxed);
    let used = end();
    if let Some((memory, length)) = segment::find_mapped_rest(state, used)
        && let Ok(file) = keep::open_log(state)
        && raw::replace_by_nothing(memory, length)
        // Another thread may have cut the file shorter.
        && file.size() > used
    {
        file.resize(used);
    }
}
