//! Closing: descriptors that are closed, or were closed out of sight.

use core::ffi::c_int;

use socket_log::encode;

use super::watch;
use crate::descriptors::remembered;
use crate::descriptors::table::{self, Entry, Kind};
use crate::log::{self, Standing, Writer};
use crate::platform::clock;

/// Clears the entry of a descriptor that is about to be closed, or was closed, and logs that.
pub(crate) fn forget(fd: c_int) {
    match log::standing() {
        Standing::Writes(writer) => closed(writer, fd, table::take(fd)),
        Standing::Silent(_) => _ = table::take(fd),
        Standing::Aside => {}
    }
}

/// Logs that a descriptor was closed whose entry was `entry`.
pub(crate) fn closed(writer: Writer, fd: c_int, entry: Entry) {
    if matches!(entry.kind(), Kind::Stream | Kind::Datagram) {
        remembered::copy(None, fd);
        let now = clock::now();
        if entry.is_watched() {
            watch::closed(writer, entry, now);
        }
        writer.record(&encode::close(now, entry.flow(), fd), now);
    }
}

/// Clears what the table says of `fd`, which the kernel gave out just now; negative for none.
#[inline(always)]
pub(crate) fn fresh(fd: c_int) {
    if fd >= 0 && table::get(fd) != Entry::UNKNOWN {
        forget(fd);
    }
}
