//! What the kernel said of each socket, kept for the children of a program that gives up asking it.
//!
//! A child has to describe the sockets that it inherits in its own log. Where `seccomp` forbids to
//! ask what they are, it reads here what its parent knew: this memory, unlike the table of
//! descriptors, is a child's too.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

use super::{Name, Nature};
use crate::platform::raw;
use crate::tuning::REMEMBERED_DESCRIPTORS;

/// What is known of a socket. Zeros are of none.
#[repr(C)]
struct Socket {
    /// What it is, and the kernel's id of it.
    nature: Nature,
    /// What this end is called.
    local: Name,
    /// What the other end is called.
    peer: Name,
    /// Whether it listens.
    listens: bool,
}

/// A word for each descriptor is not enough, and two threads rarely change one descriptor at once;
/// what is torn then is what a child of that moment would know of it.
static SOCKETS: AtomicPtr<Socket> = AtomicPtr::new(ptr::null_mut());

/// Begins to remember.
pub(crate) fn begin() {
    if SOCKETS.load(Acquire).is_null()
        && let Some(memory) = raw::map_anonymous(REMEMBERED_DESCRIPTORS * size_of::<Socket>())
    {
        SOCKETS.store(memory.cast(), Release);
    }
}

fn place(fd: c_int) -> Option<*mut Socket> {
    let sockets = SOCKETS.load(Acquire);
    ((fd as u32 as usize) < REMEMBERED_DESCRIPTORS && !sockets.is_null())
        .then(|| sockets.wrapping_add(fd as usize))
}

/// What `fd` is, where it is remembered as a socket.
pub(crate) fn get(fd: c_int) -> Option<Nature> {
    // SAFETY: within the mapping, which is never removed; any bytes that were stored there are
    // valid.
    let nature = unsafe { (*place(fd)?).nature };
    (nature.kind != 0).then_some(nature)
}

/// What the ends of the socket `fd` are called, as far as that is remembered, and whether it
/// listens.
pub(crate) fn fill(fd: c_int, local: &mut Name, peer: &mut Name) -> bool {
    let Some(place) = place(fd) else { return false };
    // SAFETY: as above.
    unsafe {
        local.clone_from(&(*place).local);
        peer.clone_from(&(*place).peer);
        (*place).listens
    }
}

/// `fd` is a socket from now on.
pub(crate) fn put(fd: c_int, nature: Nature) {
    if let Some(place) = place(fd) {
        // SAFETY: as above.
        unsafe {
            place.write_bytes(0, 1);
            (*place).nature = nature;
        }
    }
}

/// What the ends of the socket `fd` are called, as far as they are known.
pub(crate) fn name(fd: c_int, local: &Name, peer: &Name, listens: bool) {
    if let Some(place) = place(fd) {
        // SAFETY: as above.
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

/// `new` is what `old` is, or nothing any more where there is no `old`.
pub(crate) fn copy(old: Option<c_int>, new: c_int) {
    if let Some(to) = place(new) {
        match old.and_then(place) {
            // SAFETY: as above.
            Some(from) => unsafe { ptr::copy(from, to, 1) },
            // SAFETY: as above.
            None => unsafe { (*to).nature = Nature::UNKNOWN },
        }
    }
}
