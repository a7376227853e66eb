//! Further descriptors of flows: made by the `dup` family, or passed by another process.

use core::ffi::c_int;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use libc::msghdr;
use socket_log::encode;

use super::{Control, closing, find};
use crate::descriptors::remembered;
use crate::descriptors::table::{self, Entry};
use crate::log::{self, Standing};
use crate::platform::clock;

/// Notes that `new`, which was another descriptor until now, is what `old` is. The kernel closed
/// the former one without a word.
pub(crate) fn replaced(old: c_int, new: c_int) {
    if new >= 0 && new != old {
        if table::get(new) != Entry::UNKNOWN {
            closing::forget(new);
        }
        duplicated(old, new);
    }
}

/// Notes that `new` is what `old` is.
pub(crate) fn duplicated(old: c_int, new: c_int) {
    if new < 0 || new == old {
        return;
    }
    let writer = match log::standing() {
        Standing::Writes(writer) => writer,
        // To make a descriptor is not to use it. The kernel will be asked what it is when it is
        // used.
        Standing::Silent(_) => {
            table::take(new);
            return;
        }
        Standing::Aside => return,
    };
    let entry = find::resolve(old, table::get(old));
    if table::set(writer.state(), new, entry) && !entry.is_other() {
        remembered::copy(Some(old), new);
        let now = clock::now();
        writer.record(&encode::duplicate(now, entry.flow(), old, new), now);
    }
}

/// Whether descriptors came with a message.
static ANY_PASSED: AtomicBool = AtomicBool::new(false);

/// Whether descriptors came with a message: sockets among them may never have been used here.
pub(crate) fn any_passed() -> bool {
    ANY_PASSED.load(Relaxed)
}

/// Clears what the table says of the descriptors that came with a message: they are new, and each
/// is described at its first use.
///
/// # Safety
/// `message` is as the kernel filled it.
pub(crate) unsafe fn passed(message: *const msghdr) {
    // SAFETY: as the caller says.
    unsafe {
        let control = Control::of_message(message);
        if !control.is_empty() {
            passed_by(control);
        }
    }
}

/// The same of control data that are there.
///
/// # Safety
/// They are as the kernel filled them.
#[inline(never)]
unsafe fn passed_by(control: Control) {
    // SAFETY: as the caller says.
    unsafe {
        control.each(|header, contents| {
            if header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_RIGHTS {
                ANY_PASSED.store(true, Relaxed);
                for fd in contents.chunks_exact(size_of::<c_int>()) {
                    let fd = fd.try_into().map_or(-1, c_int::from_ne_bytes);
                    if table::get(fd) != Entry::UNKNOWN {
                        closing::forget(fd);
                    }
                }
            }
        });
    }
}
