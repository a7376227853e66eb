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

/// Finds the sockets that a more informative source saw as well.
pub(crate) fn find_duplicates(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    addresses: &MachineAddresses,
) -> Result<Vec<SocketIndex>, PathError> {
    let mut duplicates: Vec<SocketIndex> = Vec::new();
    if sockets.iter().all(|socket| socket.source == source::LIBRARY) {
        return Ok(duplicates);
    }
    find_duplicate_streams(capture, sockets, &mut duplicates)?;
    find_duplicate_datagrams(capture, sockets, addresses, &mut duplicates);
    find_duplicate_unix(capture, sockets, &mut duplicates);
    duplicates.sort_unstable();
    Ok(duplicates)
}

/// The names of an end, and its machine if they are local to it.
type EndNames = (SocketNameId, SocketNameId, OptionalIndex<MachineIndex>);

/// Finds duplicate streams: they have equal names and existed at the same time. Times of different
/// hosts are not comparable: there, if a source has as many connections with these names as the
/// more informative sources have, all its connections are treated as duplicates.
fn find_duplicate_streams(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    duplicates: &mut Vec<SocketIndex>,
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
        // The sources are numbered from the most informative one.
        let mut kept: Vec<SocketIndex> = Vec::new();
        for of_source in group.chunk_by(|one, next| one.1 == next.1) {
            let of_source: Vec<SocketIndex> = of_source.iter().map(|end| end.3).collect();
            let socket = |place: SocketIndex| &sockets[place.index()];
            let as_many = kept.len() == of_source.len();
            let is_duplicate = |place: &SocketIndex| {
                kept.iter().any(|other| match socket(*place).host == socket(*other).host {
                    true => overlap_in_time(socket(*place), socket(*other)),
                    false => as_many || overlap_in_time(socket(*place), socket(*other)),
                })
            };
            let (again, new): (Vec<SocketIndex>, Vec<SocketIndex>) =
                of_source.iter().partition(|place| is_duplicate(place));
            duplicates.extend(again);
            kept.extend(new);
        }
    }
    Ok(())
}

/// Whether two sockets existed at the same time, up to [`DUPLICATE_SLACK_NS`].
fn overlap_in_time(one: &KernelSocket, other: &KernelSocket) -> bool {
    other.is_open_at(one.opened, DUPLICATE_SLACK_NS)
        && one.is_open_at(other.opened, DUPLICATE_SLACK_NS)
}

/// Finds duplicate datagram sockets: a more informative source saw a socket that is bound to the
/// same address, or to the same port of all addresses of the machine.
fn find_duplicate_datagrams(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    addresses: &MachineAddresses,
    duplicates: &mut Vec<SocketIndex>,
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
        let is_duplicate = by_port.get(&own.port()).is_some_and(|all| {
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
        if is_duplicate {
            duplicates.push(place);
        }
    }
}

/// Finds duplicate unix sockets. They have few names, and no id that all sources know, but the
/// library sees all sockets of a process.
fn find_duplicate_unix(
    capture: &Capture,
    sockets: &SpillableVec<KernelSocket>,
    duplicates: &mut Vec<SocketIndex>,
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
            socket.is_open_at(*start, DUPLICATE_SLACK_NS)
                && socket.opened <= end.saturating_add(DUPLICATE_SLACK_NS)
        };
        let spans = recorded.get(&(socket.host, socket.pid));
        if socket.source != source::LIBRARY
            && is_unix(socket.protocol)
            && spans.is_some_and(|spans| spans.iter().any(overlaps))
        {
            duplicates.push(place);
        }
    }
}
