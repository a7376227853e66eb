//! Sockets remembered for the children of a program that gives up the right to ask the kernel.
//!
//! A child has to describe the sockets that it inherits in its own log. If `seccomp` forbids asking
//! the kernel about them, the child reads here what its parent knew: a child gets a copy of this
//! memory, unlike the table of descriptors.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

use super::{RawSocketName, SocketNature};
use crate::platform::raw;
use crate::tuning::REMEMBERED_DESCRIPTORS;

/// Facts about a socket. All zeros mean no socket.
#[repr(C)]
struct RememberedSocket {
    /// Nature of the socket; its type is 0 if there is no socket.
    nature: SocketNature,
    /// Name of this end.
    local: RawSocketName,
    /// Name of the other end.
    peer: RawSocketName,
    /// Whether the socket listens.
    listens: bool,
}

/// Facts by descriptor; null until they are needed. Two threads rarely change one descriptor at the
/// same time: then only a child made at that moment may see the facts of both mixed.
static SOCKETS: AtomicPtr<RememberedSocket> = AtomicPtr::new(ptr::null_mut());

/// Begins to remember sockets.
pub(crate) fn start_remembering() {
    if SOCKETS.load(Acquire).is_null()
        && let Some(memory) =
            raw::map_anonymous(REMEMBERED_DESCRIPTORS * size_of::<RememberedSocket>())
    {
        #[cfg(feature = "injected")]
        crate::platform::mapped_memory::note_mapping(
            memory,
            REMEMBERED_DESCRIPTORS * size_of::<RememberedSocket>(),
        );
        SOCKETS.store(memory.cast(), Release);
    }
}

/// Place of `fd`; `None` if sockets are not remembered, or the number is beyond the range.
fn place_of(fd: c_int) -> Option<*mut RememberedSocket> {
    let sockets = SOCKETS.load(Acquire);
    ((fd as u32 as usize) < REMEMBERED_DESCRIPTORS && !sockets.is_null())
        .then(|| sockets.wrapping_add(fd as usize))
}

/// Nature of `fd`, if it is remembered as a socket.
pub(crate) fn nature_of(fd: c_int) -> Option<SocketNature> {
    // SAFETY: within the mapping, which is never removed; any bytes that were stored there are
    // valid.
    let nature = unsafe { (*place_of(fd)?).nature };
    (nature.kind != 0).then_some(nature)
}

/// Copies the remembered names of the socket `fd` to `local` and `peer`. Returns whether the socket
/// listens.
pub(crate) fn fill_names(fd: c_int, local: &mut RawSocketName, peer: &mut RawSocketName) -> bool {
    let Some(place) = place_of(fd) else { return false };
    // SAFETY: a place of the mapping, which is never removed; any stored bytes are valid.
    unsafe {
        local.clone_from(&(*place).local);
        peer.clone_from(&(*place).peer);
        (*place).listens
    }
}

/// Remembers `fd` as a socket.
pub(crate) fn remember_socket(fd: c_int, nature: SocketNature) {
    if let Some(place) = place_of(fd) {
        // SAFETY: a place of the mapping, which is never removed; any stored bytes are valid.
        unsafe {
            place.write_bytes(0, 1);
            (*place).nature = nature;
        }
    }
}

/// Remembers the names of the socket `fd`, as far as they are known.
pub(crate) fn remember_names(
    fd: c_int,
    local: &RawSocketName,
    peer: &RawSocketName,
    listens: bool,
) {
    if let Some(place) = place_of(fd) {
        // SAFETY: a place of the mapping, which is never removed; any stored bytes are valid.
        unsafe {
            if local.is_known() {
                (*place).local = local.clone();
            }
            if peer.is_known() {
                (*place).peer = peer.clone();
            }
            (*place).listens |= listens;
        }
    }
}

/// Copies the facts about `old` to `new`, or forgets `new` if there is no `old`.
pub(crate) fn copy_socket(old: Option<c_int>, new: c_int) {
    if let Some(to) = place_of(new) {
        match old.and_then(place_of) {
            // SAFETY: a place of the mapping, which is never removed; any stored bytes are valid.
            Some(from) => unsafe { ptr::copy(from, to, 1) },
            // SAFETY: a place of the mapping, which is never removed; any stored bytes are valid.
            None => unsafe { (*to).nature = SocketNature::UNKNOWN },
        }
    }
}
