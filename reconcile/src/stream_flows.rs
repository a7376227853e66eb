//! The messages of connections: both directions of each are matched, made fat, and written.

use message_trace::Protocol;

use crate::calls::Part;
use crate::connections::Connection;
use crate::fat;
use crate::options::Options;
use crate::output::{Heading, Output, Place};
use crate::reconciliation::add;
use crate::socket::Socket;
use crate::streams;

/// The receiver did not read them.
const UNREAD: &str = "not read by the receiver";
/// No call was seen to send them.
const UNSENT: &str = "sending not seen";

/// Writes the messages of `connections`, and drops their calls.
pub(crate) fn write(
    output: &mut Output,
    sockets: &mut [Socket],
    connections: &[Connection],
    options: &Options,
) {
    let gap = i64::try_from(options.fat_gap.as_nanos()).unwrap_or(i64::MAX);
    for connection in connections {
        let Some(protocol) = protocol(sockets, connection) else { continue };
        let parts = match (connection.connecting, connection.accepting) {
            (Some(connecting), Some(accepting)) => {
                both_ends(output, &sockets[connecting as usize], &sockets[accepting as usize])
            }
            (Some(only), None) => one_end(output, &sockets[only as usize], connection.cause, 0),
            (None, Some(only)) => one_end(output, &sockets[only as usize], connection.cause, 1),
            (None, None) => continue,
        };
        let parts = fat::merge(parts, gap);
        for place in [connection.connecting, connection.accepting].into_iter().flatten() {
            let socket = &mut sockets[place as usize];
            (socket.sends, socket.receives) = (Vec::new(), Vec::new());
        }
        if parts.iter().all(Vec::is_empty) {
            continue;
        }
        let owner = |place: Option<u32>| Some(sockets[place? as usize].owner);
        let owners = owner(connection.connecting).zip(owner(connection.accepting)).map(|(a, b)| [a, b]);
        if !options.keep_internal && is_internal(&parts, owners) {
            output.outcome.internal.flows += 1;
            output.outcome.internal.messages += parts.iter().map(|parts| parts.len() as u64).sum::<u64>();
            continue;
        }
        let places = places(output, sockets, connection);
        let flow = output.flow();
        for (direction, parts) in parts.iter().enumerate() {
            let (src, dst) = (places[direction], places[1 - direction]);
            for part in parts {
                let cause = match (connection.cause, part.sent.is_some()) {
                    ("", true) => UNREAD,
                    ("", false) => UNSENT,
                    (cause, _) => cause,
                };
                let direction = direction as i8;
                output.message(part, &Heading { flow, direction, protocol, src, dst, cause });
            }
        }
    }
}

fn protocol(sockets: &[Socket], connection: &Connection) -> Option<Protocol> {
    let place = connection.connecting.or(connection.accepting)?;
    sockets.get(place as usize).map(|socket| socket.protocol)
}

fn both_ends(output: &mut Output, connecting: &Socket, accepting: &Socket) -> [Vec<Part>; 2] {
    [(connecting, accepting), (accepting, connecting)].map(|(sender, receiver)| {
        let matched = streams::match_stream(&sender.sends, &receiver.receives);
        let bytes = &mut output.outcome.stream_bytes;
        bytes.sent_only += matched.unread;
        bytes.received_only += matched.unsent;
        let all: u64 = matched.parts.iter().map(|part| part.bytes).sum();
        bytes.matched += all - matched.unread - matched.unsent;
        matched.parts
    })
}

/// The messages of a connection of which only `socket` is known; `side` is its direction of sending.
fn one_end(output: &mut Output, socket: &Socket, cause: &str, side: usize) -> [Vec<Part>; 2] {
    let mut parts = [streams::sent_only(&socket.sends), streams::received_only(&socket.receives)];
    if parts.iter().any(|parts| !parts.is_empty()) {
        add(&mut output.outcome.unmatched_streams, cause, 1);
    }
    if side == 1 {
        parts.swap(0, 1);
    }
    parts
}

/// Whether one process made all the sends and all the receives: it only talked to itself. `owners` are the
/// processes that hold the ends, where both are traced.
fn is_internal(parts: &[Vec<Part>; 2], owners: Option<[u32; 2]>) -> bool {
    let Some(owners) = owners else { return false };
    let mut processes = (0..2).flat_map(|direction| {
        parts[direction].iter().flat_map(move |part| {
            let sender = part.sent.map_or(owners[direction], |seen| seen.process);
            let receiver = part.received.map_or(owners[1 - direction], |seen| seen.process);
            [sender, receiver]
        })
    });
    let first = processes.next();
    processes.all(|process| Some(process) == first)
}

fn places(output: &mut Output, sockets: &[Socket], connection: &Connection) -> [Place; 2] {
    let end = |place: Option<u32>| place.map(|place| (place, &sockets[place as usize]));
    match (end(connection.connecting), end(connection.accepting)) {
        (Some((_, connecting)), Some((_, accepting))) => {
            [output.traced(connecting, connecting.local), output.traced(accepting, accepting.local)]
        }
        (Some((place, only)), None) => {
            [output.traced(only, only.local), output.untraced(only, place, only.peer, false)]
        }
        (None, Some((place, only))) => {
            [output.untraced(only, place, only.peer, true), output.traced(only, only.local)]
        }
        (None, None) => [Place { node: 0, endpoint: 0 }; 2],
    }
}
