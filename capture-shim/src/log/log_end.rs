//! End of a log: the room that it was given ahead and has not used goes back.
//!
//! A store into a mapping beyond the file's end would be a SIGBUS in the program. So before the
//! file is cut, the mapping beyond is replaced by memory that leads nowhere, and the log is told to
//! grow no more. Where more than one thread logs, others may have much to say until the process is
//! gone; then the tools cut the log, as they do where a process was killed.

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

/// Cuts the log of a process that is about to end, or removes it where nothing is in it.
pub(crate) fn at_end() {
    match log::log_standing() {
        LogStanding::Writes(writer) if writer.state().writers.load(Relaxed) <= 1 => {
            if writer.state().has_buffered.load(Relaxed) != 0 || prints_to_socket() {
                writer.make_last_room();
            }
            if let Some(header) = writer.header() {
                truncate_log(writer.state(), header);
            }
        }
        // Nobody has needed the log that was made ahead.
        LogStanding::Silent(state) if state.generation.load(Acquire) != 0 && state.is_unused() => {
            keep::unlink_file(state.log_path());
        }
        _ => {}
    }
}

/// Whether the standard output is a socket: what the program has printed there, libc may still hold
/// all of it, and writes it behind the process's last own call.
fn prints_to_socket() -> bool {
    raw::socket_option::<c_int>(libc::STDOUT_FILENO, libc::SO_TYPE).is_ok()
}

/// Ends the log of a process that goes on, while none of its threads runs: it is cut, and none of
/// them finds it any more.
#[cfg(feature = "injected")]
pub(crate) fn for_good() {
    match log::log_standing() {
        LogStanding::Writes(writer) => {
            if let Some(header) = writer.header() {
                truncate_log(writer.state(), header);
            }
        }
        LogStanding::Silent(state) if state.generation.load(Acquire) != 0 && state.is_unused() => {
            keep::unlink_file(state.log_path());
        }
        _ => {}
    }
    table::disable_table();
    if let Some(state) = state::current_state() {
        segment::note_mapped(state);
        state.header.store(core::ptr::null_mut(), Relaxed);
        // What a thread knows of the log is of another generation now, in which there is none.
        state.generation.store(state.generation.load(Relaxed).wrapping_add(2) | 1, Release);
    }
}

/// Cuts the log to what it holds.
fn truncate_log(state: &ProcessState, header: &FileHeader) {
    let end = || HEADER_BYTES + header.chunks.load(Relaxed) as usize * CHUNK_BYTES;
    let stopped = &state.stopped;
    if segment::map_rest(state, end()).is_none() {
        return;
    }
    // A signal handler may still log, into the chunk that its thread has.
    let _ = stopped.compare_exchange(0, lost::BUSY as u32 + 1, Relaxed, Relaxed);
    let used = end();
    if let Some((memory, length)) = segment::map_rest(state, used)
        && let Ok(file) = keep::open_log(state)
        && raw::replace_by_nothing(memory, length)
        // Others may have cut it shorter.
        && file.size() > used
    {
        file.resize(used);
    }
}
