//! Transfers between a stream and another descriptor (`sendfile`, `splice`), whose bytes never are
//! in the program's memory.

use core::ffi::c_int;

use libc::ssize_t;
use socket_log::encode::Direction;

use super::{counts, non_socket_io, transfer, watch};
use crate::descriptors::table::{self, DescriptorKind};
use crate::log::{self, StreamTransfer};
use crate::platform::clock;

/// Makes a call that moves bytes between `fd` and another descriptor, and logs it.
pub(crate) fn log_moved_bytes(
    fd: c_int,
    direction: Direction,
    call: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let entry = counts::resolve_counted(fd, table::get_entry(fd), direction);
    if entry.kind() != DescriptorKind::Stream {
        return non_socket_io::log_kernel_call(fd, entry, direction, call);
    }
    let begin = clock::current_ticks();
    let result = call();
    let end = clock::current_ticks();
    let Some(writer) = log::current_writer() else { return result };
    if result > 0 {
        let ticks = if direction == Direction::Send { begin } else { end };
        let (flow, bytes, duration) = (entry.flow(), result as u64, end - begin);
        if entry.is_watched() {
            watch::log_moved_without_buffers(
                writer,
                &StreamTransfer { direction, flow, ticks, bytes, duration },
                end,
            );
        } else {
            writer.transfer(direction, flow, ticks, bytes, duration, end);
        }
    } else if result < 0 {
        transfer::log_failure(writer, fd, entry, direction, end);
    }
    result
}
