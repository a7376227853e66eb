//! Bytes that a call moves between a stream and another descriptor, without showing them.

use core::ffi::c_int;

use libc::ssize_t;
use socket_log::encode::Direction;

use super::{counts, others, transfer, watch};
use crate::descriptors::table::{self, Kind};
use crate::log::{self, Transfer};
use crate::platform::clock;

/// Makes a call that moves bytes between `fd` and another descriptor.
pub(crate) fn moved(fd: c_int, direction: Direction, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let entry = counts::resolve(fd, table::get(fd), direction);
    if entry.kind() != Kind::Stream {
        return others::moved_within(fd, entry, direction, call);
    }
    let begin = clock::now();
    let result = call();
    let end = clock::now();
    let Some(writer) = log::writer() else { return result };
    if result > 0 {
        let ticks = if direction == Direction::Send { begin } else { end };
        let (flow, bytes, duration) = (entry.flow(), result as u64, end - begin);
        if entry.is_watched() {
            watch::moved_without_buffers(
                writer,
                &Transfer { direction, flow, ticks, bytes, duration },
                end,
            );
        } else {
            writer.transfer(direction, flow, ticks, bytes, duration, end);
        }
    } else if result < 0 {
        transfer::fail(writer, fd, entry, direction, end);
    }
    result
}
