//! Closing: descriptors that are closed, or were closed unseen.

use core::ffi::c_int;

use socket_log::encode;

use super::watch;
use crate::descriptors::remembered_sockets;
use crate::descriptors::table::{self, DescriptorKind, DescriptorWord};
use crate::log::{self, LogStanding, RecordWriter};
use crate::platform::clock;

/// Clears the entry of a descriptor that is about to be closed, or was closed, and logs the close.
pub(crate) fn forget_descriptor(fd: c_int) {
    match log::log_standing() {
        LogStanding::Writes(writer) => log_closed(writer, fd, table::take_entry(fd)),
        LogStanding::NoLogYet(_) => _ = table::take_entry(fd),
        LogStanding::Excluded => {}
    }
}

/// Logs that a descriptor with this `entry` was closed.
pub(crate) fn log_closed(writer: RecordWriter, fd: c_int, entry: DescriptorWord) {
    if matches!(entry.kind(), DescriptorKind::Stream | DescriptorKind::Datagram) {
        remembered_sockets::copy_socket(None, fd);
        let now = clock::current_ticks();
        if entry.is_watched() {
            watch::log_closed(writer, entry, now);
        }
        writer.record(&encode::close_record(now, entry.flow(), fd), now);
    }
}

/// Clears the table entry of `fd`, which the kernel just allocated; `fd` is negative for none.
#[inline(always)]
pub(crate) fn clear_reused(fd: c_int) {
    if fd >= 0 && table::get_entry(fd) != DescriptorWord::UNKNOWN {
        forget_descriptor(fd);
    }
}
