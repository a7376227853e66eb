//! Adoption of sockets: the kernel is asked what a descriptor is, its flow is numbered, and both
//! are logged.
//!
//! Descriptors arrive from everywhere (inherited, passed by another process, made out of our
//! sight), so this runs for each at its first use, besides at the calls that make sockets.

use core::ffi::c_int;

use socket_log::encode::{self, Flow, Origin};
use socket_log::layout::lost;

use super::{segments, uncaptured, watch};
use crate::descriptors::table::{self, Entry, Kind};
use crate::descriptors::{Name, Nature, remembered};
use crate::log::{Writer, positions};
use crate::platform::{clock, raw};
use crate::state::options::options;
#[cfg(feature = "injected")]
use crate::state::unix_peers;

/// Socket option that tells the kernel's id of a socket's network namespace, of Linux 5.14 on;
/// before, it is an error without effect.
pub(super) const SO_NETNS_COOKIE: c_int = 71;

/// Numbers the flow of a socket that is new to this process, logs it and enters it into the table.
pub(crate) fn adopt(
    writer: Writer,
    fd: c_int,
    origin: Origin,
    listener: u32,
    nature: &Nature,
) -> Entry {
    number_flow(writer, fd, origin, listener, true, nature)
}

/// Numbers another flow of a socket that had one, whose connection has ended. The new flow goes
/// without the kernel's id, by which both would pass for the same.
pub(crate) fn adopt_again(writer: Writer, fd: c_int) -> Entry {
    number_flow(writer, fd, Origin::Socket, 0, false, &Nature::UNKNOWN)
}

/// Numbers a flow of the socket `fd`, logs it and enters it into the table. Only the first flow of
/// a socket has the kernel's id.
fn number_flow(
    writer: Writer,
    fd: c_int,
    origin: Origin,
    listener: u32,
    is_first: bool,
    nature: &Nature,
) -> Entry {
    // What the call that made the socket says for sure is not asked for: a socket takes nine such
    // calls otherwise.
    let ask = |option, is_known: bool, known| match is_known {
        true => known,
        false => raw::socket_option::<c_int>(fd, option).unwrap_or(known),
    };
    let domain = ask(libc::SO_DOMAIN, nature.has_type(), nature.domain);
    let kind = ask(libc::SO_TYPE, nature.has_type(), nature.kind);
    let cookie = raw::socket_option(fd, libc::SO_COOKIE).unwrap_or(nature.cookie);
    let namespace = raw::socket_option(fd, SO_NETNS_COOKIE).unwrap_or(nature.namespace);
    let protocol = ask(libc::SO_PROTOCOL, nature.has_protocol(), nature.protocol);
    let entry = match (domain, kind) {
        _ if !is_selected(fd, domain, origin) => Entry::OTHER,
        (_, libc::SOCK_DGRAM) if uncaptured::is_ping(domain, protocol) => Entry::OTHER,
        (libc::AF_UNIX | libc::AF_INET | libc::AF_INET6 | libc::AF_VSOCK, libc::SOCK_STREAM) => {
            let flow = writer.next_flow();
            positions::begin(flow);
            watch::begin(fd, flow, origin == Origin::Found);
            let entry = watched(Entry::socket(Kind::Stream, flow));
            if is_first && is_to_be_counted(origin, domain, protocol) {
                entry.found()
            } else {
                entry
            }
        }
        (libc::AF_UNIX | libc::AF_INET | libc::AF_INET6, libc::SOCK_DGRAM)
        | (libc::AF_UNIX, libc::SOCK_SEQPACKET) => {
            let entry = watched(Entry::socket(Kind::Datagram, writer.next_flow()));
            if kind == libc::SOCK_SEQPACKET { entry.with_end() } else { entry }
        }
        _ => Entry::OTHER,
    };
    let entry = if entry.is_other() { entry } else { entry.of(cookie).in_domain(domain) };
    // Of a socket that was made just now, no option is set.
    let may_be_cut = entry.kind() == Kind::Datagram && (origin == Origin::Found || !is_first);
    let entry = if may_be_cut { segments::marked(fd, entry) } else { entry };
    if origin == Origin::Found {
        if let Err(other) = table::replace(writer.state(), fd, Entry::UNKNOWN, entry) {
            return other; // Another thread was first.
        }
    } else if !table::set(writer.state(), fd, entry) {
        writer.lose(lost::DESCRIPTOR);
        return Entry::OTHER;
    }
    if entry.is_other() {
        uncaptured::socket(writer, fd, &Nature { domain, kind, protocol, ..Nature::UNKNOWN });
        return entry;
    }
    remembered::put(fd, Nature { domain, kind, protocol, cookie, namespace });
    let flow = Flow {
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
    let now = clock::now();
    writer.record(&encode::flow(now, &flow), now);
    #[cfg(feature = "injected")]
    if origin == Origin::Found
        && domain == libc::AF_UNIX
        && let Some(other) = unix_peers::of(cookie)
    {
        writer.record(&encode::other_end(now, entry.flow(), other), now);
    }
    entry
}

/// Whether bytes on a socket like that may have gone unseen, and the kernel counts them or tells
/// how many are on their way.
fn is_to_be_counted(origin: Origin, domain: c_int, protocol: c_int) -> bool {
    let is_inet = matches!(domain, libc::AF_INET | libc::AF_INET6);
    let is_counted = domain == libc::AF_UNIX || is_inet && protocol == libc::IPPROTO_TCP;
    origin == Origin::Found && is_counted
}

/// The entry, marked as watched where the user wants more of it than its messages.
fn watched(entry: Entry) -> Entry {
    let is_watched = match entry.kind() {
        Kind::Stream => options().watches_streams(),
        _ => options().watches_datagrams(),
    };
    if is_watched { entry.watched() } else { entry }
}

/// Whether a socket that is new here may be one that the user wants. Where its ends are not known
/// yet, it may.
fn is_selected(fd: c_int, domain: c_int, origin: Origin) -> bool {
    if !options().filters_ports() {
        return true;
    }
    if !matches!(domain, libc::AF_INET | libc::AF_INET6) {
        return false;
    }
    let peer = Name::peer(fd);
    !matches!(origin, Origin::Accept | Origin::Found)
        || !peer.is_known()
        || selects(&Name::local(fd), &peer)
}

/// Whether a flow of these ends has one of the ports that the user wants.
fn selects(local: &Name, peer: &Name) -> bool {
    [local, peer].into_iter().filter_map(Name::port).any(|port| options().selects(port))
}

/// Whether a flow of these ends is one that the user wants. One that is not becomes a plain file to
/// the hooks.
pub(crate) fn stays(writer: Writer, fd: c_int, entry: Entry, local: &Name, peer: &Name) -> bool {
    let stays = !options().filters_ports() || selects(local, peer);
    if !stays {
        // Fails when the descriptor was closed meanwhile, and then there is nothing to do.
        let _ = table::replace(writer.state(), fd, entry, Entry::OTHER);
    }
    stays
}
