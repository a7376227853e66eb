//! Duplicate descriptors of flows: made by the `dup` family, or passed by another process.

use core::ffi::c_int;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use libc::msghdr;
use socket_log::encode;

use super::{ControlData, closing, resolve};
use crate::descriptors::remembered_sockets;
use crate::descriptors::table::{self, DescriptorWord};
use crate::log::{self, LogStanding};
use crate::platform::clock;

/// Notes that `new`, which was another descriptor until now, is a duplicate of `old`. The kernel
/// closed the former descriptor silently.
pub(crate) fn log_replaced(old: c_int, new: c_int) {
    if new >= 0 && new != old {
        if table::get_entry(new) != DescriptorWord::UNKNOWN {
            closing::forget_descriptor(new);
        }
        log_duplicated(old, new);
    }
}

/// Notes that `new` is a duplicate of `old`.
pub(crate) fn log_duplicated(old: c_int, new: c_int) {
    if new < 0 || new == old {
        return;
    }
    let writer = match log::log_standing() {
        LogStanding::Writes(writer) => writer,
        // Making a descriptor is no use of it. At its first use, the kernel will be asked what it
        // is.
        LogStanding::NoLogYet(_) => {
            table::take_entry(new);
            return;
        }
        LogStanding::Excluded => return,
    };
    let entry = resolve::resolve_entry(old, table::get_entry(old));
    if table::set_entry(writer.state(), new, entry) && !entry.is_uncaptured() {
        remembered_sockets::copy_socket(Some(old), new);
        let now = clock::current_ticks();
        writer.record(&encode::duplicate_record(now, entry.flow(), old, new), now);
    }
}

/// Whether descriptors were received in a message.
static ANY_PASSED: AtomicBool = AtomicBool::new(false);

/// Whether descriptors were received in a message: sockets among them may never have been used
/// here.
pub(crate) fn any_received() -> bool {
    ANY_PASSED.load(Relaxed)
}

/// Clears the table entries of the descriptors received in a message: they are new, and each is
/// described at its first use.
///
/// # Safety
/// `message` is as the kernel filled it.
pub(crate) unsafe fn clear_received(message: *const msghdr) {
    // SAFETY: as the caller guarantees.
    unsafe {
        let control = ControlData::from_message(message);
        if !control.is_empty() {
            clear_control(control);
        }
    }
}

/// Clears the entries of the descriptors in non-empty control data.
///
/// # Safety
/// The data are as the kernel filled them.
#[inline(never)]
unsafe fn clear_control(control: ControlData) {
    // SAFETY: as the caller guarantees.
    unsafe {
        control.for_each_item(|header, contents| {
            if header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_RIGHTS {
                ANY_PASSED.store(true, Relaxed);
                for fd in contents.chunks_exact(size_of::<c_int>()) {
                    let fd = fd.try_into().map_or(-1, c_int::from_ne_bytes);
                    if table::get_entry(fd) != DescriptorWord::UNKNOWN {
                        closing::forget_descriptor(fd);
                    }
                }
            }
        });
    }
}
