//! End of a log: the room that it was given ahead and has not used goes back.
//!
//! A store into a mapping beyond the file's end would be a SIGBUS in the program. So before the
//! file is cut, the mapping beyond is replaced by memory that leads nowhere, and the log is told to
//! grow no more. Where more than one thread logs, others may have much to say until the process is
//! gone; then the tools cut the log, as they do where a process was killed.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use socket_log::layout::{CHUNK_BYTES, FileHeader, HEADER_BYTES, lost};

use super::{Standing, keep, segment};
use crate::log;
use crate::platform::raw;
use crate::state::State;

/// Cuts the log of a process that is about to end, or removes it where nothing is in it.
pub(crate) fn at_end() {
    match log::standing() {
        Standing::Writes(writer) if writer.state().writers.load(Relaxed) <= 1 => {
            if let Some(header) = writer.header() {
                cut(writer.state(), header);
            }
        }
        // Nobody has needed the log that was made ahead.
        Standing::Silent(state) if state.generation.load(Acquire) != 0 && state.is_unused() => {
            keep::unlink(state.path());
        }
        _ => {}
    }
}

/// Cuts the log to what it holds.
fn cut(state: &State, header: &FileHeader) {
    let end = || HEADER_BYTES + header.chunks.load(Relaxed) as usize * CHUNK_BYTES;
    let stopped = &state.stopped;
    if segment::rest(state, end()).is_none() {
        return;
    }
    // A signal handler may still log, into the chunk that its thread has.
    let _ = stopped.compare_exchange(0, lost::BUSY as u32 + 1, Relaxed, Relaxed);
    let used = end();
    if let Some((memory, length)) = segment::rest(state, used)
        && let Ok(file) = keep::open_log(state)
        && raw::replace_by_nothing(memory, length)
    {
        file.resize(used);
    }
}
