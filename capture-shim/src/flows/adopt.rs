//! Adoption of sockets: asks the kernel what a descriptor is, numbers its flow, and logs kind and
//! number.
//!
//! Descriptors come from many sources (inherited, passed by another process, made out of the
//! library's sight), so each is adopted at its first use, unless the call that made it was seen.

use core::ffi::c_int;

use socket_log::encode::{self, FlowOrigin, FlowRecord};
use socket_log::layout::lost;

use super::{segments, uncaptured, watch};
use crate::descriptors::table::{self, DescriptorKind, DescriptorWord};
use crate::descriptors::{RawSocketName, SocketNature, remembered_sockets};
use crate::log::{RecordWriter, positions};
use crate::platform::{clock, raw};
use crate::state::options::recording_options;
#[cfg(feature = "injected")]
use crate::state::unix_peers;

/// Socket option for the kernel's id of a socket's network namespace, since Linux 5.14; older
/// kernels return an error without effect.
pub(super) const SO_NETNS_COOKIE: c_int = 71;

/// Numbers the flow of a socket that is new to this process, logs the flow, and enters it into the
/// table of descriptors. `listener` is the flow of the listening socket for an accepted one, or 0.
/// Returns the entry of `fd`, which says whether the socket is captured.
pub(crate) fn adopt_socket(
    writer: RecordWriter,
    fd: c_int,
    origin: FlowOrigin,
    listener: u32,
    nature: &SocketNature,
) -> DescriptorWord {
    number_flow(writer, fd, origin, listener, true, nature)
}

/// Numbers another flow of a socket with an ended connection. The new flow is logged without the
/// kernel's id of the socket, by which both flows would be treated as the same.
pub(crate) fn adopt_again(writer: RecordWriter, fd: c_int) -> DescriptorWord {
    number_flow(writer, fd, FlowOrigin::Socket, 0, false, &SocketNature::UNKNOWN)
}

/// Numbers a flow of the socket `fd`, logs it and enters it into the table. Only the first flow of
/// a socket has the kernel's id.
fn number_flow(
    writer: RecordWriter,
    fd: c_int,
    origin: FlowOrigin,
    listener: u32,
    is_first: bool,
    nature: &SocketNature,
) -> DescriptorWord {
    // Options that are certain from the call that made the socket are not queried: a socket would
    // take nine such queries otherwise.
    let ask = |option, is_known: bool, known| match is_known {
        true => known,
        false => raw::socket_option::<c_int>(fd, option).unwrap_or(known),
    };
    let domain = ask(libc::SO_DOMAIN, nature.has_type(), nature.domain);
    let kind = ask(libc::SO_TYPE, nature.has_type(), nature.kind);
    let cookie = raw::socket_option(fd, libc::SO_COOKIE).unwrap_or(nature.cookie);
    let ask_namespace = || raw::socket_option(fd, SO_NETNS_COOKIE).unwrap_or(nature.namespace);
    let recent = writer.recent_sockets();
    let namespace = match origin {
        FlowOrigin::Socket | FlowOrigin::Pair if is_first => recent.own_namespace(ask_namespace),
        // An accepted unix socket is in the namespace of the socket that has connected.
        FlowOrigin::Accept if matches!(domain, libc::AF_INET | libc::AF_INET6) => {
            recent.listener_namespace(listener, ask_namespace)
        }
        _ => ask_namespace(),
    };
    let protocol = ask(libc::SO_PROTOCOL, nature.has_protocol(), nature.protocol);
    let entry = match (domain, kind) {
        _ if !is_selected(fd, domain, origin) => DescriptorWord::UNCAPTURED,
        (_, libc::SOCK_DGRAM) if uncaptured::is_ping(domain, protocol) => {
            DescriptorWord::UNCAPTURED
        }
        (libc::AF_UNIX | libc::AF_INET | libc::AF_INET6 | libc::AF_VSOCK, libc::SOCK_STREAM) => {
            let flow = writer.next_flow();
            positions::begin_flow(flow);
            watch::begin_watch(fd, flow, origin == FlowOrigin::Found);
            let entry = mark_watched(DescriptorWord::for_socket(DescriptorKind::Stream, flow));
            if is_first && is_to_be_counted(origin, domain, protocol) {
                entry.as_found()
            } else {
                entry
            }
        }
        (libc::AF_UNIX | libc::AF_INET | libc::AF_INET6, libc::SOCK_DGRAM)
        | (libc::AF_UNIX, libc::SOCK_SEQPACKET) => {
            let entry = mark_watched(DescriptorWord::for_socket(
                DescriptorKind::Datagram,
                writer.next_flow(),
            ));
            if kind == libc::SOCK_SEQPACKET { entry.with_end() } else { entry }
        }
        _ => DescriptorWord::UNCAPTURED,
    };
    let entry =
        if entry.is_uncaptured() { entry } else { entry.with_cookie(cookie).in_domain(domain) };
    // A socket that was just made has no options set.
    let may_be_split =
        entry.kind() == DescriptorKind::Datagram && (origin == FlowOrigin::Found || !is_first);
    let entry = if may_be_split { segments::mark_segmented(fd, entry) } else { entry };
    if origin == FlowOrigin::Found {
        if let Err(other) = table::replace_entry(writer.state(), fd, DescriptorWord::UNKNOWN, entry)
        {
            return other; // Another thread was first.
        }
    } else if !table::set_entry(writer.state(), fd, entry) {
        writer.count_lost(lost::DESCRIPTOR);
        return DescriptorWord::UNCAPTURED;
    }
    if entry.is_uncaptured() {
        uncaptured::log_socket(
            writer,
            fd,
            &SocketNature { domain, kind, protocol, ..SocketNature::UNKNOWN },
        );
        return entry;
    }
    remembered_sockets::remember_socket(
        fd,
        SocketNature { domain, kind, protocol, cookie, namespace },
    );
    let flow = FlowRecord {
        flow: entry.flow(),
        fd,
        domain: domain as u8,
        kind: kind as u8,
        protocol: protocol as u16,
        origin,
        cookie: if is_first { cookie } else { 0 },
        listener,
        namespace,
    };
    let now = clock::current_ticks();
    writer.record(&encode::flow_record(now, &flow), now);
    #[cfg(feature = "injected")]
    if origin == FlowOrigin::Found
        && domain == libc::AF_UNIX
        && let Some(other) = unix_peers::other_end(cookie)
    {
        writer.record(&encode::other_end_record(now, entry.flow(), other), now);
    }
    entry
}

/// Whether bytes may have gone unseen on a socket of this origin and kind, and the kernel can
/// report how many: by its byte counts for TCP, or by the queue of a unix socket.
fn is_to_be_counted(origin: FlowOrigin, domain: c_int, protocol: c_int) -> bool {
    let is_inet = matches!(domain, libc::AF_INET | libc::AF_INET6);
    let is_counted = domain == libc::AF_UNIX || is_inet && protocol == libc::IPPROTO_TCP;
    origin == FlowOrigin::Found && is_counted
}

/// The entry, marked as watched if the user wants more of it than its messages.
fn mark_watched(entry: DescriptorWord) -> DescriptorWord {
    let is_watched = match entry.kind() {
        DescriptorKind::Stream => recording_options().watches_streams(),
        _ => recording_options().watches_datagrams(),
    };
    if is_watched { entry.as_watched() } else { entry }
}

/// Whether the user's selection of ports may include a socket that is new to this process. True if
/// the names of its ends are not known yet.
fn is_selected(fd: c_int, domain: c_int, origin: FlowOrigin) -> bool {
    if !recording_options().filters_ports() {
        return true;
    }
    if !matches!(domain, libc::AF_INET | libc::AF_INET6) {
        return false;
    }
    let peer = RawSocketName::peer_name(fd);
    !matches!(origin, FlowOrigin::Accept | FlowOrigin::Found)
        || !peer.is_known()
        || has_selected_port(&RawSocketName::local_name(fd), &peer)
}

/// Whether a flow with these ends has one of the selected ports.
fn has_selected_port(local: &RawSocketName, peer: &RawSocketName) -> bool {
    [local, peer]
        .into_iter()
        .filter_map(RawSocketName::port)
        .any(|port| recording_options().selects_port(port))
}

/// Whether a flow with these ends has a port that the user selected. If not, its descriptor is
/// entered as uncaptured, and the hooks treat it like a plain file from then on.
pub(crate) fn keep_if_selected(
    writer: RecordWriter,
    fd: c_int,
    entry: DescriptorWord,
    local: &RawSocketName,
    peer: &RawSocketName,
) -> bool {
    let stays = !recording_options().filters_ports() || has_selected_port(local, peer);
    if !stays {
        // The replacement fails if the descriptor was closed meanwhile; then there is nothing to
        // do.
        let _ = table::replace_entry(writer.state(), fd, entry, DescriptorWord::UNCAPTURED);
    }
    stays
}
