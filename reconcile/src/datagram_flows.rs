//! The messages of datagrams: what was matched, what was lost, and what only one side saw; named, grouped into
//! flows (pairs of ends), and written. Datagrams are never made fat: each is a message by its nature.

use message_trace::Protocol;
use rustc_hash::FxHashMap;
use socket_log::encode::Role;

use crate::addresses::Addresses;
use crate::calls::{Datagram, Part, Seen};
use crate::connections::UNTRACED;
use crate::datagram_match::{self, At, Matches};
use crate::datagram_names::{Fallback, Views};
use crate::datagrams;
use crate::names::NameId;
use crate::options::Options;
use crate::output::{Heading, Output, Place};
use crate::receivers::Receivers;
use crate::socket::Socket;

/// Sent to a socket that was there, and never received.
const LOST: &str = "lost";
/// Sent to a socket that had been closed, or was not open yet.
const CLOSED: &str = "receiver closed";

/// One end of a flow of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum End {
    Socket(u32),
    /// An untraced peer: its name as `of` sees it.
    Untraced {
        name: NameId,
        of: u32,
    },
}

/// A message before its flow is known.
struct Message {
    ends: [End; 2],
    names: [NameId; 2],
    part: Part,
    cause: &'static str,
}

/// Writes the messages of all datagrams. `partner` gives the other end of connected unix sockets.
pub(crate) fn write(
    output: &mut Output,
    sockets: &[Socket],
    addresses: &Addresses,
    partner: &[Option<u32>],
    fallbacks: &FxHashMap<u32, Fallback>,
    options: &Options,
) {
    let matches = datagram_match::match_all(output.capture, sockets, addresses, partner);
    count(output, sockets, &matches);
    let views = Views::of(&output.capture.names, sockets, fallbacks, &matches.pairs);
    let receivers = Receivers::of(output.capture, sockets, addresses, partner);
    let mut messages = messages(output, sockets, &views, &receivers, &matches);
    messages.sort_by_key(|message| {
        let [sent, received] =
            [message.part.sent, message.part.received].map(|seen| seen.map(|seen| seen.first));
        (sent.or(received), message.ends)
    });
    // Flows in the order of their first message, each with its messages in order.
    let mut flows: Vec<Vec<u32>> = Vec::new();
    let mut flow_of: FxHashMap<[End; 2], usize> = FxHashMap::default();
    for (place, message) in messages.iter().enumerate() {
        let mut key = message.ends;
        key.sort_unstable();
        let flow = *flow_of.entry(key).or_insert(flows.len());
        match flows.get_mut(flow) {
            Some(flow) => flow.push(place as u32),
            None => flows.push(vec![place as u32]),
        }
    }
    for flow in &flows {
        let of_flow: Vec<&Message> = flow.iter().map(|place| &messages[*place as usize]).collect();
        write_flow(output, sockets, &of_flow, options);
    }
}

fn count(output: &mut Output, sockets: &[Socket], matches: &Matches) {
    let counts = &mut output.outcome.datagrams;
    let all = sockets.iter().flat_map(|socket| &socket.datagrams);
    let (sent, all) = all.fold((0, 0), |(sent, all), datagram| (sent + u64::from(datagram.sent), all + 1));
    counts.sent += sent;
    counts.received += all - sent;
    counts.matched += matches.pairs.len() as u64;
    counts.copies += matches.copies.len() as u64;
    counts.duplicated += matches.duplicates.len() as u64;
    let datagram = |at: At| &sockets[at.socket as usize].datagrams[at.index as usize];
    let mut by_flow: Vec<(u32, u32, i64, i64)> = matches
        .pairs
        .iter()
        .map(|(send, receive)| (send.socket, receive.socket, datagram(*receive).time, datagram(*send).time))
        .collect();
    by_flow.sort_unstable();
    for flow in by_flow.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        counts.reordered += datagrams::reordered(flow.iter().map(|pair| pair.3));
    }
}

fn messages(
    output: &mut Output,
    sockets: &[Socket],
    views: &Views,
    receivers: &Receivers,
    matches: &Matches,
) -> Vec<Message> {
    let datagram = |at: At| &sockets[at.socket as usize].datagrams[at.index as usize];
    let mut messages = Vec::with_capacity(matches.pairs.len() + matches.sends.len() + matches.receives.len());
    for (send, receive) in matches.pairs.iter().chain(&matches.copies) {
        let (sent, received) = (datagram(*send), datagram(*receive));
        messages.push(Message {
            ends: [End::Socket(send.socket), End::Socket(receive.socket)],
            names: [views.own(send.socket, sent.peer), views.own(receive.socket, received.peer)],
            part: part(Some(sent), Some(received)),
            cause: "",
        });
    }
    for send in &matches.sends {
        let sent = datagram(*send);
        let receiver = receivers.find(send.socket, sent);
        let (to, cause) = match receiver {
            Some((receiver, true)) => (End::Socket(receiver), LOST),
            Some((receiver, false)) => (End::Socket(receiver), CLOSED),
            None => (End::Untraced { name: sent.peer, of: send.socket }, UNTRACED),
        };
        output.outcome.datagrams.lost += u64::from(cause == LOST);
        messages.push(Message {
            ends: [End::Socket(send.socket), to],
            names: [views.own(send.socket, sent.peer), sent.peer],
            part: part(Some(sent), None),
            cause,
        });
    }
    for receive in &matches.receives {
        let received = datagram(*receive);
        messages.push(Message {
            ends: [End::Untraced { name: received.peer, of: receive.socket }, End::Socket(receive.socket)],
            names: [received.peer, views.own(receive.socket, received.peer)],
            part: part(None, Some(received)),
            cause: UNTRACED,
        });
    }
    messages
}

fn part(sent: Option<&Datagram>, received: Option<&Datagram>) -> Part {
    let seen = |datagram: &Datagram| Seen::once(datagram.time, datagram.process, datagram.tid);
    Part {
        sent: sent.map(seen),
        received: received.map(seen),
        bytes: sent.or(received).map_or(0, |datagram| u64::from(datagram.bytes)),
        parts: 1,
    }
}

/// Writes the messages of one flow, in order.
fn write_flow(output: &mut Output, sockets: &[Socket], messages: &[&Message], options: &Options) {
    let Some(first) = messages.first() else { return };
    if !options.keep_internal && is_internal(sockets, messages) {
        output.outcome.internal.flows += 1;
        output.outcome.internal.messages += messages.len() as u64;
        return;
    }
    let connected =
        |end: End| matches!(end, End::Socket(place) if sockets[place as usize].role == Role::Connect);
    // The side that connected comes first or, as datagrams need no connection, the side that began.
    let client = match first.ends.map(connected) {
        [false, true] => first.ends[1],
        _ => first.ends[0],
    };
    let protocol = first.ends.into_iter().find_map(|end| match end {
        End::Socket(place) => Some(sockets[place as usize].protocol),
        End::Untraced { .. } => None,
    });
    let protocol = protocol.unwrap_or(Protocol::Udp);
    let flow = output.flow();
    for message in messages {
        let mut place = |side: usize| -> Place {
            match message.ends[side] {
                End::Socket(place) => output.traced(&sockets[place as usize], message.names[side]),
                End::Untraced { name, of } => {
                    output.untraced(&sockets[of as usize], of, name, message.ends[side] == client)
                }
            }
        };
        let (src, dst) = (place(0), place(1));
        let direction = i8::from(message.ends[0] != client);
        output.message(&message.part, &Heading { flow, direction, protocol, src, dst, cause: message.cause });
    }
}

/// Whether one process made all the sends and all the receives.
fn is_internal(sockets: &[Socket], messages: &[&Message]) -> bool {
    let mut processes = messages.iter().flat_map(|message| {
        let seen = [message.part.sent, message.part.received];
        message.ends.into_iter().zip(seen).map(|(end, seen)| match (seen, end) {
            (Some(seen), _) => Some(seen.process),
            (None, End::Socket(place)) => Some(sockets[place as usize].owner),
            (None, End::Untraced { .. }) => None,
        })
    });
    let first = processes.next().flatten();
    first.is_some() && processes.all(|process| process == first)
}
