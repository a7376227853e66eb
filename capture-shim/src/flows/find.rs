//! Finding out what a descriptor is, at its first use and where the table is in doubt.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode::{Origin, Role};

use super::{adopt, closing, names};
use crate::descriptors::table::{self, Entry};
use crate::descriptors::{Name, Nature, other, remembered};
use crate::log::{self, Standing, Writer};
use crate::platform::raw;
use crate::state::options::RESOURCES;

/// Entry of `fd`: `entry`, unless that is in doubt.
#[inline(always)]
pub(crate) fn resolve(fd: c_int, entry: Entry) -> Entry {
    if entry.is_doubtful() { verify(fd, entry) } else { entry }
}

/// Entry of `fd`, which is `entry` as far as the table knows. The kernel is asked whether `fd`
/// still is that socket.
///
/// A number that was closed and given out again, both out of sight, looks as before. To ask at each
/// message would cost more than all else, so it is asked where a flow begins, and where bytes come
/// behind a stream's end.
#[cold]
#[inline(never)]
pub(crate) fn verify(fd: c_int, entry: Entry) -> Entry {
    if entry == Entry::UNKNOWN {
        return find(fd);
    }
    if entry.is_other() {
        return entry;
    }
    match raw::socket_option(fd, libc::SO_COOKIE) {
        Ok(cookie) if !entry.is_of(cookie) => {}
        Err(error) if matches!(-error as c_int, libc::EBADF | libc::ENOTSOCK) => {}
        _ => return entry,
    }
    closing::forget(fd);
    find(fd)
}

/// Finds out what a descriptor is that is used for the first time.
#[cold]
#[inline(never)]
fn find(fd: c_int) -> Entry {
    if RESOURCES && let Some(entry) = other::classify(fd) {
        return is_other(fd, entry);
    }
    let nature = match raw::socket_option::<c_int>(fd, libc::SO_TYPE) {
        Ok(_) => Nature::UNKNOWN,
        Err(error) if -error as c_int == libc::EPERM => match remembered::get(fd) {
            Some(nature) => nature,
            None => return Entry::OTHER,
        },
        Err(error) => {
            // Only a descriptor that is open and no socket is worth remembering.
            if -error as c_int == libc::ENOTSOCK {
                return is_other(fd, Entry::OTHER);
            }
            return Entry::OTHER;
        }
    };
    let Some(writer) = log::writer() else {
        miss(fd);
        return Entry::OTHER;
    };
    let entry = adopt::adopt(writer, fd, Origin::Found, 0, &nature);
    if !entry.is_other() {
        name_found(writer, fd, entry);
    }
    entry
}

/// Entry of `fd` where it is no socket. A socket is not looked at.
#[cfg(feature = "resources")]
pub(crate) fn other(fd: c_int) -> Option<Entry> {
    match table::get(fd) {
        Entry::UNKNOWN => other::classify(fd).map(|entry| is_other(fd, entry)),
        entry if entry.is_other() => Some(entry),
        _ => None,
    }
}

/// Remembers that `fd`, which is no socket, has this entry, or returns the one that another thread
/// found.
fn is_other(fd: c_int, entry: Entry) -> Entry {
    let found = log::state_of_table().map(|state| table::replace(state, fd, Entry::UNKNOWN, entry));
    found.and_then(Result::err).unwrap_or(entry)
}

/// Logs the names of a socket's ends that was found in use.
#[cold]
#[inline(never)]
fn name_found(writer: Writer, fd: c_int, entry: Entry) {
    let (mut local, mut peer) = (Name::local(fd), Name::peer(fd));
    let mut listens = raw::socket_option::<c_int>(fd, libc::SO_ACCEPTCONN).unwrap_or(0) != 0;
    if !local.is_known() {
        listens |= remembered::fill(fd, &mut local, &mut peer);
    }
    let role = match (listens, peer.is_known(), local.is_bound()) {
        (true, _, _) => Role::Listen,
        (_, true, _) => Role::Unknown,
        (_, _, true) => Role::Bind,
        _ => return,
    };
    names::name(writer, fd, entry, role, &local, &peer);
}

/// Counts a message on `fd` that is not logged because the log could not be begun yet.
pub(crate) fn miss(fd: c_int) {
    if let Standing::Silent(state) = log::standing()
        && state.generation.load(Relaxed) == 0
        && raw::socket_option::<c_int>(fd, libc::SO_TYPE).is_ok()
    {
        state.missed.fetch_add(1, Relaxed);
    }
}
