//! Records that a process uses something that is not captured: sockets of other kinds, and
//! `io_uring`. Nothing else is recorded of them: the descriptor is treated like a file from then
//! on.

use core::ffi::c_int;

use socket_log::encode::{self, SocketKind, UncapturedEvent};

use crate::descriptors::SocketNature;
use crate::descriptors::table::{self, DescriptorWord};
use crate::log::{self, RecordWriter};
use crate::platform::clock;
use crate::platform::raw;
use crate::platform::text::BoundedText;
use crate::state::options::recording_options;

/// Whether a socket of an internet family is an ICMP socket (`ping`), which has no port and no
/// other end that could be recorded.
pub(crate) fn is_ping(domain: c_int, protocol: c_int) -> bool {
    matches!(
        (domain, protocol),
        (libc::AF_INET, libc::IPPROTO_ICMP) | (libc::AF_INET6, libc::IPPROTO_ICMPV6)
    )
}

/// Notes that `fd` is a new socket of a family that is not captured.
pub(crate) fn note_new_socket(fd: c_int, nature: &SocketNature) {
    mark_uncaptured(fd);
    if let Some(writer) = log::current_writer() {
        log_socket(writer, fd, nature);
    }
}

/// Enters `fd`, which is new and of no captured kind, into the table.
fn mark_uncaptured(fd: c_int) {
    if let Some(state) = log::state_for_table() {
        table::set_entry(state, fd, DescriptorWord::UNCAPTURED);
    }
}

/// Logs that the process has the socket `fd`, which is not captured, unless the user asked for
/// certain ports only.
pub(crate) fn log_socket(writer: RecordWriter, fd: c_int, nature: &SocketNature) {
    if !recording_options().filters_ports() {
        write_record(writer, UncapturedEvent::Socket, fd, nature);
    }
}

/// Logs that the process has the socket `fd`, which no visible call made or used.
pub(crate) fn log_hidden(writer: RecordWriter, fd: c_int) {
    let ask = |option| raw::socket_option::<c_int>(fd, option).unwrap_or(0);
    let (domain, kind) = (ask(libc::SO_DOMAIN), ask(libc::SO_TYPE));
    let nature =
        SocketNature { domain, kind, protocol: ask(libc::SO_PROTOCOL), ..SocketNature::UNKNOWN };
    write_record(writer, UncapturedEvent::OutOfSight, fd, &nature);
}

fn write_record(writer: RecordWriter, what: UncapturedEvent, fd: c_int, nature: &SocketNature) {
    let socket = SocketKind {
        domain: nature.domain as u8,
        kind: nature.kind as u8,
        protocol: nature.protocol as u16,
    };
    let now = clock::current_ticks();
    writer.record(&encode::uncaptured_record(now, what, fd as u32, socket), now);
}

/// Logs that the process has set up the `io_uring` ring `fd`.
pub(crate) fn log_ring(fd: c_int) {
    mark_uncaptured(fd);
    if let Some(writer) = log::current_writer() {
        write_record(writer, UncapturedEvent::Ring, fd, &SocketNature::UNKNOWN);
    }
}

/// Whether `fd` is an `io_uring` ring.
pub(crate) fn is_ring(fd: c_int) -> bool {
    let mut path: BoundedText<40> = BoundedText::new();
    path.push(b"/proc/self/fd/").push_number(fd as u64);
    let mut link = [0; 32];
    let length = raw::readlink(path.as_c_str(), &mut link);
    link.get(..length) == Some(b"anon_inode:[io_uring]")
}
