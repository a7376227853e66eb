//! Names of a flow's ends, and their records.

use core::ffi::c_int;

use socket_log::encode::{self, Connect, Role};

use super::adopt;
use crate::descriptors::table::{self, Entry, Kind};
use crate::descriptors::{Name, remembered};
use crate::log::Writer;
use crate::platform::{clock, raw};

/// ConnectCall to `connect`.
#[derive(Clone, Copy)]
pub(crate) struct ConnectCall {
    /// Time of the call, in ticks.
    pub(crate) at: u64,
    /// Whether it returned while the connection was still being made.
    pub(crate) under_way: bool,
}

/// Logs the names of the ends of `fd`'s flow.
pub(crate) fn name(writer: Writer, fd: c_int, entry: Entry, role: Role, local: &Name, peer: &Name) {
    // A stream that is only bound may yet listen or connect.
    if (role != Role::Bind || entry.kind() == Kind::Datagram)
        && !adopt::stays(writer, fd, entry, local, peer)
    {
        return;
    }
    log_names(writer, fd, entry, (role, None), local, peer);
}

/// Logs the names of the ends of a flow on which a connection was made, or is under way, by `call`,
/// where that is known.
pub(crate) fn connected(
    writer: Writer,
    fd: c_int,
    entry: Entry,
    call: Option<ConnectCall>,
    local: &Name,
    peer: &Name,
) {
    if adopt::stays(writer, fd, entry, local, peer) {
        log_names(writer, fd, entry, (Role::Connect, call), local, peer);
    }
}

/// Logs the name of a socket that its first send has bound.
pub(crate) fn bound(writer: Writer, fd: c_int, entry: Entry) {
    log_names(writer, fd, entry, (Role::Bind, None), &Name::local(fd), &Name::NONE);
}

/// Writes the record of the names, and marks the entry as named.
fn log_names(
    writer: Writer,
    fd: c_int,
    entry: Entry,
    (role, call): (Role, Option<ConnectCall>),
    local: &Name,
    peer: &Name,
) {
    let of_unix = local.family() == libc::AF_UNIX || peer.family() == libc::AF_UNIX;
    let peer_pid = if of_unix { peer_pid(fd) } else { 0 };
    remembered::name(fd, local, peer, role == Role::Listen);
    let now = clock::now();
    let connect = call
        .map(|ConnectCall { at, under_way }| Connect { took: now.saturating_sub(at), under_way });
    let [own, other] = [local, peer].map(Name::as_bytes);
    writer.names(
        encode::endpoints_parts(now, entry.flow(), role, own, other, peer_pid, connect),
        now,
    );
    // Fails when the descriptor was closed or named meanwhile, and then there is nothing to do.
    let _ = table::replace(writer.state(), fd, entry, entry.named());
}

/// Id of the process at the other end of a unix socket; 0 where there is none.
fn peer_pid(fd: c_int) -> u32 {
    // pid, uid, gid.
    raw::socket_option::<[u32; 3]>(fd, libc::SO_PEERCRED).map_or(0, |[pid, ..]| pid)
}
