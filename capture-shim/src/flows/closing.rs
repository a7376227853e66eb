//! Descriptors that are closed, or were closed out of sight.

use core::ffi::c_int;

use socket_log::encode;

use super::watch;
use crate::descriptors::remembered;
use crate::descriptors::table::{self, Entry, Kind};
use crate::log::{self, Standing, Writer};
use crate::platform::clock;

/// A descriptor is about to be closed, or was.
pub(crate) fn forget(fd: c_int) {
    match log::standing() {
        Standing::Writes(writer) => closed(writer, fd, table::take(fd)),
        Standing::Silent(_) => _ = table::take(fd),
        Standing::Aside => {}
    }
}

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

/// `fd`, where it is one, was given out by the kernel just now.
#[inline(always)]
pub(crate) fn fresh(fd: c_int) {
    if fd >= 0 && table::get(fd) != Entry::UNKNOWN {
        forget(fd);
    }
}
