//! Identifies a descriptor at its first use, and again if its table entry is ambiguous: if its
//! number may have been closed and reused unseen.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode::{FlowOrigin, FlowRole};

use super::{adopt, closing, names};
use crate::descriptors::table::{self, DescriptorWord};
use crate::descriptors::{RawSocketName, SocketNature, non_sockets, remembered_sockets};
use crate::log::{self, LogStanding, RecordWriter};
use crate::platform::raw;
use crate::state::options::RESOURCES;

/// Entry of `fd`: `entry`, unless it is ambiguous; then the kernel is asked.
#[inline(always)]
pub(crate) fn resolve_entry(fd: c_int, entry: DescriptorWord) -> DescriptorWord {
    if entry.is_ambiguous() { verify_entry(fd, entry) } else { entry }
}

/// Entry of `fd`, which is `entry` according to the table. The kernel is asked whether `fd` still
/// is the socket of the entry.
///
/// A number that was closed and reused, both unseen, looks unchanged. Asking at each message would
/// cost more than everything else, so the kernel is asked when a flow begins, and when bytes follow
/// a stream's end.
#[cold]
#[inline(never)]
pub(crate) fn verify_entry(fd: c_int, entry: DescriptorWord) -> DescriptorWord {
    if entry == DescriptorWord::UNKNOWN {
        return identify_descriptor(fd);
    }
    if entry.is_uncaptured() {
        return entry;
    }
    match raw::socket_option(fd, libc::SO_COOKIE) {
        Ok(cookie) if !entry.has_cookie(cookie) => {}
        Err(error) if matches!(-error as c_int, libc::EBADF | libc::ENOTSOCK) => {}
        _ => return entry,
    }
    closing::forget_descriptor(fd);
    identify_descriptor(fd)
}

/// Identifies a descriptor at its first use.
#[cold]
#[inline(never)]
fn identify_descriptor(fd: c_int) -> DescriptorWord {
    if RESOURCES && let Some(entry) = non_sockets::classify_descriptor(fd) {
        return remember_entry(fd, entry);
    }
    let nature = match raw::socket_option::<c_int>(fd, libc::SO_TYPE) {
        Ok(_) => SocketNature::UNKNOWN,
        Err(error) if -error as c_int == libc::EPERM => match remembered_sockets::nature_of(fd) {
            Some(nature) => nature,
            None => return DescriptorWord::UNCAPTURED,
        },
        Err(error) => {
            // Only a descriptor that is open and not a socket is worth remembering.
            if -error as c_int == libc::ENOTSOCK {
                return remember_entry(fd, DescriptorWord::UNCAPTURED);
            }
            return DescriptorWord::UNCAPTURED;
        }
    };
    let Some(writer) = log::current_writer() else {
        count_missed(fd);
        return DescriptorWord::UNCAPTURED;
    };
    let entry = adopt::adopt_socket(writer, fd, FlowOrigin::Found, 0, &nature);
    if !entry.is_uncaptured() {
        log_found_names(writer, fd, entry);
    }
    entry
}

/// Entry of `fd` if it is not a socket. Sockets are not examined.
#[cfg(feature = "resources")]
pub(crate) fn identify_non_socket(fd: c_int) -> Option<DescriptorWord> {
    match table::get_entry(fd) {
        DescriptorWord::UNKNOWN => {
            non_sockets::classify_descriptor(fd).map(|entry| remember_entry(fd, entry))
        }
        entry if entry.is_uncaptured() => Some(entry),
        _ => None,
    }
}

/// Enters `fd`, which is not a socket, into the table. Returns the entry, or the one that another
/// thread has set meanwhile.
fn remember_entry(fd: c_int, entry: DescriptorWord) -> DescriptorWord {
    let found = log::state_for_table()
        .map(|state| table::replace_entry(state, fd, DescriptorWord::UNKNOWN, entry));
    found.and_then(Result::err).unwrap_or(entry)
}

/// Logs the names of both ends of a socket that was found in use.
#[cold]
#[inline(never)]
fn log_found_names(writer: RecordWriter, fd: c_int, entry: DescriptorWord) {
    // Filled in place: returned names would be on the stack twice.
    let (mut local, mut peer) = (RawSocketName::NONE, RawSocketName::NONE);
    local.ask_local(fd);
    peer.ask_peer(fd);
    let mut listens = accepts_connections(fd);
    if !local.is_known() {
        listens |= remembered_sockets::fill_names(fd, &mut local, &mut peer);
    }
    let role = match (listens, peer.is_known(), local.is_bound()) {
        (true, _, _) => FlowRole::Listen,
        (_, true, _) => FlowRole::Unknown,
        (_, _, true) => FlowRole::Bind,
        _ => return,
    };
    names::log_endpoint_names(writer, fd, entry, role, &local, &peer);
}

/// Whether the socket `fd` listens. Not inlined, so that its buffers are not on the stack of calls
/// that log.
#[inline(never)]
fn accepts_connections(fd: c_int) -> bool {
    raw::socket_option::<c_int>(fd, libc::SO_ACCEPTCONN).unwrap_or(0) != 0
}

/// Counts a message on `fd` that is not logged because the log could not be started yet.
pub(crate) fn count_missed(fd: c_int) {
    if let LogStanding::NoLogYet(state) = log::log_standing()
        && state.generation.load(Relaxed) == 0
        && raw::socket_option::<c_int>(fd, libc::SO_TYPE).is_ok()
    {
        state.missed.fetch_add(1, Relaxed);
    }
}
