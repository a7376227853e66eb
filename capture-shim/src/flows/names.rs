//! Logs the names (addresses) of the two ends of a flow.

use core::ffi::c_int;

use socket_log::encode::{self, ConnectOutcome, FlowRole};

use super::adopt;
use crate::descriptors::table::{self, DescriptorKind, DescriptorWord};
use crate::descriptors::{RawSocketName, remembered_sockets};
use crate::log::RecordWriter;
use crate::platform::{clock, raw};

/// Call of `connect`.
#[derive(Clone, Copy)]
pub(crate) struct ConnectCall {
    /// Time of the call, in ticks.
    pub(crate) at: u64,
    /// Whether the call returned while the connection was still being made.
    pub(crate) under_way: bool,
}

/// Logs the names of the ends of `fd`'s flow, if the user's selection includes them.
pub(crate) fn log_endpoint_names(
    writer: RecordWriter,
    fd: c_int,
    entry: DescriptorWord,
    role: FlowRole,
    local: &RawSocketName,
    peer: &RawSocketName,
) {
    // A stream that is only bound may still listen or connect.
    if (role != FlowRole::Bind || entry.kind() == DescriptorKind::Datagram)
        && !adopt::keep_if_selected(writer, fd, entry, local, peer)
    {
        return;
    }
    log_names(writer, fd, entry, (role, None), local, peer);
}

/// Logs the names of the ends of a flow on which a connection was made, or is under way. `call` is
/// the call that connects, if it is known.
pub(crate) fn log_connected(
    writer: RecordWriter,
    fd: c_int,
    entry: DescriptorWord,
    call: Option<ConnectCall>,
    local: &RawSocketName,
    peer: &RawSocketName,
) {
    if adopt::keep_if_selected(writer, fd, entry, local, peer) {
        log_names(writer, fd, entry, (FlowRole::Connect, call), local, peer);
    }
}

/// Logs the own name of a socket to which the kernel gave an address at its first send.
pub(crate) fn log_bound(writer: RecordWriter, fd: c_int, entry: DescriptorWord) {
    log_names(
        writer,
        fd,
        entry,
        (FlowRole::Bind, None),
        &RawSocketName::local_name(fd),
        &RawSocketName::NONE,
    );
}

/// Writes the record of the names, and marks the entry as named.
fn log_names(
    writer: RecordWriter,
    fd: c_int,
    entry: DescriptorWord,
    (role, call): (FlowRole, Option<ConnectCall>),
    local: &RawSocketName,
    peer: &RawSocketName,
) {
    let of_unix = local.family() == libc::AF_UNIX || peer.family() == libc::AF_UNIX;
    let peer_pid = if of_unix { peer_pid(fd) } else { 0 };
    remembered_sockets::remember_names(fd, local, peer, role == FlowRole::Listen);
    let now = clock::current_ticks();
    let connect = call.map(|ConnectCall { at, under_way }| ConnectOutcome {
        took: now.saturating_sub(at),
        under_way,
    });
    let [own, other] = [local, peer].map(RawSocketName::as_bytes);
    writer.endpoint_names(
        encode::endpoints_fragments(now, entry.flow(), role, own, other, peer_pid, connect),
        now,
    );
    // The replacement fails if the descriptor was closed or named meanwhile; then there is nothing
    // to do.
    let _ = table::replace_entry(writer.state(), fd, entry, entry.as_named());
}

/// Id of the process at the other end of a unix socket; 0 if there is none. Not inlined, so that
/// its buffers are not on the stack of calls that log.
#[inline(never)]
fn peer_pid(fd: c_int) -> u32 {
    // pid, uid, gid.
    raw::socket_option::<[u32; 3]>(fd, libc::SO_PEERCRED).map_or(0, |[pid, ..]| pid)
}
