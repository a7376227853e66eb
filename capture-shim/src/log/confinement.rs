//! Prepares for a confinement: a time in which the process can neither make a log nor open one,
//! after `chroot`, as another user, or with forbidden system calls.

use core::ffi::CStr;

use libc::uid_t;

use super::{
    LogStanding, directory, keep, log_reserve, preallocated_logs, program_facts, segment, start,
};
use crate::platform::raw;
use crate::platform::text::{BoundedText, PATH, PathScratch};
use crate::state::child_birth;
use crate::tuning::{FEW_SPARE_LOGS, RESERVE_AHEAD_BYTES, SPARE_LOGS};
use crate::{log, state};

/// Whether the caller is a `vfork` child. Its rights are its own while its memory is its parent's,
/// so it must not be treated as a process that has given up anything.
pub(crate) fn is_vfork_child() -> bool {
    log::state_for_table().is_none()
}

/// Abilities that a process keeps after it has given up rights or system calls.
#[derive(Clone, Copy)]
pub(crate) struct KeptAbilities {
    /// Whether the process can have the kernel allocate the pages of a mapping (`madvise`).
    pub(crate) populate: bool,
    /// Whether the process may use sockets, as far as known: it has some, or can make them.
    pub(crate) socket: bool,
    /// Whether the process can make children with a copy of its memory.
    pub(crate) fork: bool,
}

/// Provides space for a time in which no log can be made or opened: the process's own log is made
/// or mapped ahead, and logs for its children are preallocated.
pub(crate) fn provide_reserve(abilities: KeptAbilities) {
    let Some(state) = state::current_state() else { return };
    // The names of logs that are made ahead contain the start of the process.
    child_birth::complete_birth();
    if abilities.socket || abilities.fork {
        program_facts::remember_facts();
    }
    if let LogStanding::NoLogYet(state) = log::log_standing()
        && abilities.socket
    {
        start::begin_ahead(
            state,
            if abilities.populate { segment::FIRST_SEGMENT_BYTES } else { RESERVE_AHEAD_BYTES },
        );
    } else if let Some(writer) = log::existing_writer()
        && let Some(header) = writer.header()
    {
        log_reserve::make_reserve(state, header, !abilities.populate);
    }
    if abilities.fork {
        let count = if abilities.socket { SPARE_LOGS } else { FEW_SPARE_LOGS };
        preallocated_logs::preallocate_logs(state, !abilities.populate, count);
    }
}

/// Makes `user`, as which the process will run, the owner of the log, so that the process can open
/// the log again. If the kernel refuses this, or if the user cannot reach the log's directory,
/// descriptors of log and directory are kept open.
pub(crate) fn hand_over(user: uid_t) {
    if user == uid_t::MAX || user == raw::geteuid() || is_vfork_child() {
        return;
    }
    // The new user may have no access to the recorder's socket.
    keep::keep_recorder();
    let Some(mut memory) = PathScratch::new() else { return };
    let path: &mut BoundedText<PATH> = memory.as_text();
    directory::push_home(path);
    let path = path.as_c_str();
    if raw::status_of(path).is_none() {
        // The new user may not be permitted to make the directories.
        directory::make_all();
    }
    let is_writable = raw::status_of(path).is_some_and(|status| status.st_mode & 0o3 == 0o3);
    let is_open = is_writable && is_open_to_all(path);
    if !is_open {
        keep::keep_directory();
    }
    if !is_writable {
        // This is the last moment at which the process can make a log.
        provide_reserve(KeptAbilities {
            populate: log_reserve::can_populate(),
            socket: true,
            fork: false,
        });
    }
    if let Some(writer) = log::existing_writer() {
        let is_given = raw::geteuid() == 0
            && keep::open_log(writer.state()).is_ok_and(|log| log.give_to(user));
        if !is_given || !is_open {
            keep::keep_log(writer.state());
        }
    }
}

/// Whether every user can reach the directory `path`, as far as the modes show.
fn is_open_to_all(path: &CStr) -> bool {
    let Some(mut memory) = PathScratch::new() else { return false };
    let prefix: &mut BoundedText<PATH> = memory.as_text();
    let mode = |prefix: &BoundedText<PATH>| {
        raw::status_of(prefix.as_c_str()).map(|status| status.st_mode & 0o7)
    };
    for byte in path.to_bytes() {
        if *byte == b'/'
            && !prefix.as_bytes().is_empty()
            && mode(prefix).is_some_and(|mode| mode & 1 == 0)
        {
            return false;
        }
        prefix.push(&[*byte]);
    }
    prefix.is_whole()
}
