//! Records of what is not captured: sockets of other kinds, and `io_uring`. They say that it was
//! there, and cost nothing more: the descriptor is like a file's from then on.

use core::ffi::c_int;

use socket_log::encode::{self, SocketKind, Uncaptured};

use crate::descriptors::Nature;
use crate::descriptors::table::{self, Entry};
use crate::log::{self, Writer};
use crate::platform::clock;
use crate::platform::raw;
use crate::platform::text::Text;
use crate::state::options::options;

/// Whether a socket of an internet family is one of ICMP (`ping`), which has no port and no other
/// end that could be recorded.
pub(crate) fn is_ping(domain: c_int, protocol: c_int) -> bool {
    matches!(
        (domain, protocol),
        (libc::AF_INET, libc::IPPROTO_ICMP) | (libc::AF_INET6, libc::IPPROTO_ICMPV6)
    )
}

/// Notes that `fd` is a new socket of a family that is not captured.
pub(crate) fn made(fd: c_int, nature: &Nature) {
    is_other(fd);
    if let Some(writer) = log::writer() {
        socket(writer, fd, nature);
    }
}

/// Notes that `fd` is new and of no kind that is captured.
fn is_other(fd: c_int) {
    if let Some(state) = log::state_of_table() {
        table::set(state, fd, Entry::OTHER);
    }
}

/// Logs that the process has the socket `fd`, which is not captured, unless the user asked for some
/// ports alone.
pub(crate) fn socket(writer: Writer, fd: c_int, nature: &Nature) {
    if !options().filters_ports() {
        write(writer, Uncaptured::Socket, fd, nature);
    }
}

/// Logs that the process has the socket `fd`, which no call in sight made or used.
pub(crate) fn out_of_sight(writer: Writer, fd: c_int) {
    let ask = |option| raw::socket_option::<c_int>(fd, option).unwrap_or(0);
    let (domain, kind) = (ask(libc::SO_DOMAIN), ask(libc::SO_TYPE));
    let nature = Nature { domain, kind, protocol: ask(libc::SO_PROTOCOL), ..Nature::UNKNOWN };
    write(writer, Uncaptured::OutOfSight, fd, &nature);
}

fn write(writer: Writer, what: Uncaptured, fd: c_int, nature: &Nature) {
    let socket = SocketKind {
        domain: nature.domain as u8,
        kind: nature.kind as u8,
        protocol: nature.protocol as u16,
    };
    let now = clock::now();
    writer.record(&encode::uncaptured(now, what, fd as u32, socket), now);
}

/// Logs that the process has set up the ring `fd`.
pub(crate) fn ring(fd: c_int) {
    is_other(fd);
    if let Some(writer) = log::writer() {
        write(writer, Uncaptured::Ring, fd, &Nature::UNKNOWN);
    }
}

/// Whether `fd` is a ring.
pub(crate) fn is_ring(fd: c_int) -> bool {
    let mut path: Text<40> = Text::new();
    path.push(b"/proc/self/fd/").push_number(fd as u64);
    let mut link = [0; 32];
    let length = raw::readlink(path.as_c_str(), &mut link);
    link.get(..length) == Some(b"anon_inode:[io_uring]")
}
