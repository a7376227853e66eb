//! Further descriptors of flows: made by the `dup` family, or passed by another process.

use core::ffi::c_int;
use core::ptr;

use libc::{cmsghdr, msghdr};
use socket_log::encode;

use super::{closing, find};
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

/// Notes that `fd` is new and of no kind that is captured.
pub(crate) fn is_other(fd: c_int) {
    if let Some(state) = log::state_of_table() {
        table::set(state, fd, Entry::OTHER);
    }
}

/// Clears what the table says of the descriptors that came with a message: they are new, and each
/// is described at its first use.
///
/// # Safety
/// `message` is as the kernel filled it.
pub(crate) unsafe fn passed(message: *const msghdr) {
    // SAFETY: as the caller says.
    let (control, length) = unsafe { ((*message).msg_control, (*message).msg_controllen) };
    if control.is_null() || length < size_of::<cmsghdr>() {
        return;
    }
    let mut offset = 0;
    while offset + size_of::<cmsghdr>() <= length {
        // SAFETY: the header lies within the control data.
        let header =
            unsafe { ptr::read_unaligned(control.cast::<u8>().add(offset).cast::<cmsghdr>()) };
        let size = (header.cmsg_len as usize).min(length - offset);
        if size < size_of::<cmsghdr>() {
            return;
        }
        if header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_RIGHTS {
            for index in 0..(size - size_of::<cmsghdr>()) / size_of::<c_int>() {
                let at = offset + size_of::<cmsghdr>() + index * size_of::<c_int>();
                // SAFETY: the descriptor lies within the control data.
                let fd =
                    unsafe { ptr::read_unaligned(control.cast::<u8>().add(at).cast::<c_int>()) };
                if table::get(fd) != Entry::UNKNOWN {
                    closing::forget(fd);
                }
            }
        }
        offset += size.next_multiple_of(size_of::<usize>());
    }
}
