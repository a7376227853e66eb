//! System calls past libc, as far as they are visible when the process ends: sockets and rings that
//! no visible call made, and code of the program's own that calls the kernel.
//!
//! A system call past libc leaves no trace when it is made. So the process is checked once, when it
//! ends. If it is killed, only small programs are covered, which are checked when they begin.

use core::ffi::c_int;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::descriptors::RawSocketName;
use crate::descriptors::table::{self, DescriptorWord};
use crate::flows::{duplicates, uncaptured};
use crate::log;
#[cfg(not(feature = "injected"))]
use crate::platform::clock;
use crate::platform::raw::OwnDescriptor;
use crate::tuning::{INHERITED_SOCKETS, SURVEYED_DESCRIPTORS};

#[cfg(not(feature = "injected"))]
mod objects;

/// Inodes of the sockets with which the program began: having them is no use of them. If there are
/// more than fit, no socket is reported.
static INHERITED: [AtomicU64; INHERITED_SOCKETS] = [const { AtomicU64::new(0) }; INHERITED_SOCKETS];

/// Kind (`S_IFMT` bits) and inode of an open descriptor; `None` if `fd` is not open. A seccomp
/// filter that is older than the program permits the system call for it, since the dynamic linker
/// makes it, too.
fn kind_and_inode(fd: c_int) -> Option<(u32, u64)> {
    let status = OwnDescriptor::status_of_any(fd)?;
    Some((status.st_mode & libc::S_IFMT, status.st_ino))
}

/// Notes the sockets that the program begins with.
pub(crate) fn note_start() {
    let mut places = INHERITED.iter();
    for fd in 0..SURVEYED_DESCRIPTORS {
        if let Some((libc::S_IFSOCK, inode)) = kind_and_inode(fd)
            && let Some(place) = places.next()
        {
            place.store(inode, Relaxed);
        }
    }
    if let Some(state) = crate::state::current_state() {
        state.began_program.store(1, Relaxed);
    }
    #[cfg(not(feature = "injected"))]
    objects::log_objects_of_small_program();
}

/// Logs calls past libc at the end of the process in which the program began. Its forked children
/// have the same descriptors, and log nothing.
pub(crate) fn log_at_end() {
    let Some(state) = log::state_for_table() else { return };
    if state.began_program.swap(0, Relaxed) == 0 {
        return;
    }
    log_descriptors();
    #[cfg(not(feature = "injected"))]
    {
        // SAFETY: written when the program began.
        let began = unsafe { (*state.birth.get()).monotonic };
        objects::log_objects(clock::read_anchor().monotonic.abs_diff(began));
    }
}

/// Logs sockets and rings that no visible call made. A separate function, so that its buffers are
/// not on the stack of the others.
#[cold]
#[inline(never)]
fn log_descriptors() {
    let is_full = INHERITED.iter().all(|inode| inode.load(Relaxed) != 0);
    let reports_sockets = !is_full && !duplicates::any_received();
    let is_inherited = |inode| INHERITED.iter().any(|other| other.load(Relaxed) == inode);
    for fd in
        (0..SURVEYED_DESCRIPTORS).filter(|fd| table::get_entry(*fd) == DescriptorWord::UNKNOWN)
    {
        match kind_and_inode(fd) {
            Some((libc::S_IFSOCK, inode))
                if reports_sockets && !is_inherited(inode) && !is_system_log_socket(fd) =>
            {
                // Another thread may be about to close the descriptor, or to enter it into the
                // table.
                if table::get_entry(fd) == DescriptorWord::UNKNOWN
                    && kind_and_inode(fd) == Some((libc::S_IFSOCK, inode))
                    && let Some(writer) = log::current_writer()
                {
                    uncaptured::log_hidden(writer, fd);
                }
            }
            // A file without a type: an anonymous inode of the kernel.
            Some((0, _)) if uncaptured::is_ring(fd) => uncaptured::log_ring(fd),
            _ => {}
        }
    }
}

/// Whether a socket is the one by which libc writes to the system log: the process's log has
/// `syslog` as a call.
fn is_system_log_socket(fd: c_int) -> bool {
    const LOG: &[u8] = b"/dev/log";
    let peer = RawSocketName::peer_name(fd);
    let path = peer.as_bytes().get(2..).unwrap_or(&[]);
    peer.family() == libc::AF_UNIX && path.strip_suffix(b"\0").unwrap_or(path) == LOG
}
