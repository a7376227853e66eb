//! The flows of datagrams (pairs of ends) of one partition: their messages in order, with their directions and names.
//! Datagrams are never made fat: each is a message by its nature.

use message_trace::{Error, Protocol};
use socket_log::encode::Role;

use crate::calls::Part;
use crate::datagram_names::Views;
use crate::datagrams;
use crate::end::{DatagramMessage, End};
use crate::names::NameId;
use crate::options::Options;
use crate::reconciliation::{Reconciliation, add};
use crate::row_sink::RowSink;
use crate::rows::{NIL, Row};
use crate::store::joined;

/// A flow of datagrams that is in the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatagramFlow {
    /// Flows are numbered in the order of this.
    pub(crate) first: (i64, [End; 2]),
    pub(crate) protocol: Protocol,
    /// The side that connected or, as datagrams need no connection, the side that began; and the other.
    pub(crate) ends: [End; 2],
}

/// Messages of one flow whose ends have the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatagramSlot {
    /// The flow, by its place among those of the partition.
    pub(crate) flow: u32,
    /// The names of the flow's ends; of an untraced end that which the other knows it by.
    pub(crate) names: [NameId; 2],
}

/// What came of one partition beside its rows. The slot of a row is its place in `slots`.
#[derive(Default)]
pub(crate) struct MatchedFlows {
    pub(crate) flows: Vec<DatagramFlow>,
    pub(crate) slots: Vec<DatagramSlot>,
    pub(crate) counts: Reconciliation,
}

/// Makes flows of the messages of one partition.
pub(crate) fn partition(
    views: &Views,
    messages: Vec<Vec<DatagramMessage>>,
    options: &Options,
    rows: &mut RowSink,
) -> Result<MatchedFlows, Error> {
    let mut messages = joined(messages);
    messages.sort_unstable_by_key(|m| (m.flow(), m.first(), m.ends(), m.times[1], m.names, m.bytes, m.tids));
    let mut matched = MatchedFlows::default();
    for of_flow in messages.chunk_by(|one, next| one.flow() == next.flow()) {
        flow(views, of_flow, options, &mut matched, rows)?;
    }
    Ok(matched)
}

/// Adds the messages of one flow, which are in order.
fn flow(
    views: &Views,
    messages: &[DatagramMessage],
    options: &Options,
    matched: &mut MatchedFlows,
    rows: &mut RowSink,
) -> Result<(), Error> {
    let Some(first) = messages.first() else { return Ok(()) };
    let counts = &mut matched.counts;
    counts.datagrams.reordered += reordered(messages);
    if !options.keep_internal && is_internal(views, messages) {
        counts.internal.flows += 1;
        counts.internal.messages += messages.len() as u64;
        return Ok(());
    }
    let socket = |end: End| match end {
        End::Socket(place) => views.sockets.get(place as usize),
        End::Untraced { .. } => None,
    };
    let ends = first.ends();
    let connected = |end: End| socket(end).is_some_and(|socket| socket.role == Role::Connect);
    let client = match ends.map(connected) {
        [false, true] => ends[1],
        _ => ends[0],
    };
    let server = if client == ends[0] { ends[1] } else { ends[0] };
    let protocol = ends.into_iter().find_map(socket).map_or(Protocol::Udp, |socket| socket.protocol);
    let flow = matched.flows.len() as u32;
    matched.flows.push(DatagramFlow { first: (first.first(), ends), protocol, ends: [client, server] });
    let first_slot = matched.slots.len();
    for message in messages {
        let backward = message.ends()[0] != client;
        let [from, to] = [0, 1].map(|side| name(views, message, side));
        let slot = DatagramSlot { flow, names: if backward { [to, from] } else { [from, to] } };
        let of_flow = matched.slots.get(first_slot..).unwrap_or(&[]);
        // Mostly there is one; of several the latest is the likeliest.
        let place = match of_flow.iter().rposition(|other| *other == slot) {
            Some(place) => first_slot + place,
            None => {
                matched.slots.push(slot);
                matched.slots.len() - 1
            }
        };
        let part = message.part();
        rows.push(Row::of(&part, place as u32, usize::from(backward)))?;
        count(&part, message, &mut matched.counts);
    }
    add(&mut matched.counts.messages, protocol.name(), messages.len() as u64);
    Ok(())
}

/// The name of one end of a message: its own towards its peer where it was seen, otherwise what its peer calls it.
fn name(views: &Views, message: &DatagramMessage, side: usize) -> NameId {
    match message.sockets[side] {
        socket if message.times[side] != NIL => views.own(socket, message.names[side]),
        _ => message.names[side],
    }
}

fn count(part: &Part, message: &DatagramMessage, counts: &mut Reconciliation) {
    match (part.sent, part.received) {
        (Some(_), Some(_)) => counts.both_ends += 1,
        (Some(_), None) => add(&mut counts.send_only, message.cause().name(), 1),
        (None, _) => add(&mut counts.receive_only, message.cause().name(), 1),
    }
}

/// How many of the datagrams came after one that was sent later.
fn reordered(messages: &[DatagramMessage]) -> u64 {
    let senders = messages.first().map(|message| message.sockets);
    let both = |forward: bool| {
        let mut times: Vec<(i64, i64)> = messages
            .iter()
            .filter(|message| message.is_pair() && (Some(message.sockets) == senders) == forward)
            .map(|message| (message.times[1], message.times[0]))
            .collect();
        times.sort_unstable();
        datagrams::reordered(times.into_iter().map(|(_, sent)| sent))
    };
    both(true) + both(false)
}

/// Whether one process made all the sends and all the receives.
fn is_internal(views: &Views, messages: &[DatagramMessage]) -> bool {
    let mut processes = messages.iter().flat_map(|message| {
        [0, 1].map(|side| match (message.process(side), message.sockets[side]) {
            (Some(process), _) => Some(process),
            (None, socket) => views.sockets.get(socket as usize).map(|socket| socket.owner),
        })
    });
    let first = processes.next().flatten();
    first.is_some() && processes.all(|process| process == first)
}
