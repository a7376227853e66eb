//! Duplicate sockets that two sources saw, such as the sockets of a program under the library with
//! its packets captured as well. Only the one from the most informative source is kept: the
//! library, then strace, then packets.

use std::net::SocketAddr;

use message_trace::{PathError, TransportProtocol};
use out_of_core::SpillableVec;
use rustc_hash::FxHashMap;
use socket_log::layout::source;

use crate::indices::{HostIndex, MachineIndex, OptionalIndex, SocketIndex};
use crate::logs::capture::Capture;
use crate::socket_names::SocketNameId;
use crate::sockets::addresses::MachineAddresses;
use crate::sockets::socket::KernelSocket;
use crate::tuning::DUPLICATE_SLACK_NS;

/// Finds the sockets that another source saw more of.
pub(crate) fn find_duplicates(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    addresses: &MachineAddresses,
) -> Result<Vec<SocketIndex>, PathError> {
    let mut second: Vec<SocketIndex> = Vec::new();
    if sockets.iter().all(|socket| socket.source == source::LIBRARY) {
        return Ok(second);
    }
    find_duplicate_streams(capture, sockets, &mut second)?;
    find_duplicate_datagrams(capture, sockets, addresses, &mut second);
    find_duplicate_unix(capture, sockets, &mut second);
    second.sort_unstable();
    Ok(second)
}

/// The names of an end, and its machine if they are local to it.
type EndNames = (SocketNameId, SocketNameId, OptionalIndex<MachineIndex>);

/// Finds duplicate streams: they have equal names and existed at the same time. Times of different
/// hosts are not comparable: there, as many connections with these names as the other source has
/// are treated as duplicates.
fn find_duplicate_streams(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    second: &mut Vec<SocketIndex>,
) -> Result<(), PathError> {
    let names = &capture.names;
    let mut ends: SpillableVec<(EndNames, u32, i64, SocketIndex)> =
        SpillableVec::new(&capture.pool);
    for (place, socket) in SocketIndex::indices().zip(sockets.iter()) {
        let both = names.inet_name(socket.local).zip(names.inet_name(socket.peer));
        if let (TransportProtocol::Tcp, Some((local, peer))) = (socket.protocol, both) {
            let machine = names.machine_of_name(socket.local, socket.machine);
            ends.push(((local, peer, machine), socket.source, socket.named, place))?;
        }
    }
    ends.sort_by_key(|end| *end)?;
    let mut next = 0;
    while let Some((key, ..)) = ends.get(next).copied() {
        let end = ends.end_where(next, |end| end.0 == key);
        let group = ends.slice(next..end);
        next = end;
        let mut kept: Vec<SocketIndex> = Vec::new();
        for of_source in group.chunk_by(|one, next| one.1 == next.1) {
            let of_source: Vec<SocketIndex> = of_source.iter().map(|end| end.3).collect();
            let socket = |place: SocketIndex| &sockets[place.index()];
            let many = kept.len() == of_source.len();
            let known = |place: &SocketIndex| {
                kept.iter().any(|other| match socket(*place).host == socket(*other).host {
                    true => overlap_in_time(socket(*place), socket(*other)),
                    false => many || overlap_in_time(socket(*place), socket(*other)),
                })
            };
            let (twice, new): (Vec<SocketIndex>, Vec<SocketIndex>) =
                of_source.iter().partition(|place| known(place));
            second.extend(twice);
            kept.extend(new);
        }
    }
    Ok(())
}

fn overlap_in_time(one: &KernelSocket, other: &KernelSocket) -> bool {
    one.opened <= other.closed.saturating_add(DUPLICATE_SLACK_NS)
        && other.opened <= one.closed.saturating_add(DUPLICATE_SLACK_NS)
}

/// Finds duplicate datagram sockets: one is bound to the other's address, or to all addresses of
/// its machine.
fn find_duplicate_datagrams(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    addresses: &MachineAddresses,
    second: &mut Vec<SocketIndex>,
) {
    let address = |socket: &KernelSocket| {
        capture.names.inet_address(socket.local).filter(|own| own.port() != 0)
    };
    let udp_sockets = || {
        let all = SocketIndex::indices().zip(sockets.iter());
        all.filter(|(_, socket)| socket.protocol == TransportProtocol::Udp)
    };
    let mut by_port: FxHashMap<u16, Vec<(SocketAddr, SocketIndex)>> = FxHashMap::default();
    for (place, socket) in udp_sockets() {
        if let Some(own) = address(socket) {
            by_port.entry(own.port()).or_default().push((own, place));
        }
    }
    for (place, socket) in udp_sockets() {
        let Some(own) = address(socket).filter(|_| socket.source != source::LIBRARY) else {
            continue;
        };
        let known = by_port.get(&own.port()).is_some_and(|all| {
            all.iter().any(|(address, other)| {
                let other = &sockets[other.index()];
                let same_place = *address == own
                    || address.ip().is_unspecified()
                        && addresses.machines_with(own.ip()).contains(&other.machine);
                let same_machine = !own.ip().is_loopback() || other.machine == socket.machine;
                let same_time = other.host != socket.host || overlap_in_time(other, socket);
                other.source < socket.source && same_place && same_machine && same_time
            })
        });
        if known {
            second.push(place);
        }
    }
}

/// Finds duplicate unix sockets. They have few names, and no id that all sources know, but the
/// library sees all sockets of a process.
fn find_duplicate_unix(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    second: &mut Vec<SocketIndex>,
) {
    let mut recorded: FxHashMap<(HostIndex, u32), Vec<(i64, i64)>> = FxHashMap::default();
    for process in capture.processes.iter().filter(|process| process.source == source::LIBRARY) {
        let span = (process.node.start.unwrap_or(i64::MIN), process.ended.unwrap_or(i64::MAX));
        recorded.entry((process.host, process.pid)).or_default().push(span);
    }
    let is_unix = |protocol| {
        matches!(
            protocol,
            TransportProtocol::UnixStream
                | TransportProtocol::UnixDatagram
                | TransportProtocol::UnixSequence
        )
    };
    for (place, socket) in SocketIndex::indices().zip(sockets.iter()) {
        let overlaps = |(start, end): &(i64, i64)| {
            *start <= socket.closed.saturating_add(DUPLICATE_SLACK_NS)
                && socket.opened <= end.saturating_add(DUPLICATE_SLACK_NS)
        };
        let spans = recorded.get(&(socket.host, socket.pid));
        if socket.source != source::LIBRARY
            && is_unix(socket.protocol)
            && spans.is_some_and(|spans| spans.iter().any(overlaps))
        {
            second.push(place);
        }
    }
}
