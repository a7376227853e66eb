//! The flows of datagrams (pairs of ends) of one partition: their messages in order, with their
//! directions and names. Datagrams are never made fat: each is a message by its nature.

use std::mem;
use std::path::Path;

use message_trace::{PathError, Protocol};
use out_of_core::{ExternalSorter, Keyed, MemoryBudget, MemoryPool, ReadFailure, SpillableVec};
use socket_log::encode::Role;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::absent::NIL;
use crate::calls::FlowMessage;
use crate::datagrams::end::{DatagramMessage, End};
use crate::datagrams::in_order;
use crate::datagrams::peer_names::Views;
use crate::internal::{Callers, Reach, Standing};
use crate::names::NameId;
use crate::options::Options;
use crate::reconciliation::{Reconciliation, add};
use crate::rows::row::Row;
use crate::rows::row_sink::RowSink;

/// A flow of datagrams that is in the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatagramFlow {
    /// Flows are numbered in the order of this.
    pub(crate) first: (i64, [End; 2]),
    pub(crate) protocol: Protocol,
    /// The side that connected or, as datagrams need no connection, the side that began; and the
    /// other.
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

/// The flows and slots of all partitions, and where those of each begin.
#[derive(Debug)]
pub(crate) struct AllFlows {
    /// With its partition and its place there, and where its slots are.
    pub(crate) flows: SpillableVec<(DatagramFlow, [u32; 2], [u64; 2])>,
    pub(crate) slots: SpillableVec<DatagramSlot>,
    /// The first slot of each partition.
    pub(crate) begins: Vec<usize>,
}

impl AllFlows {
    pub(crate) fn new(pool: &MemoryPool) -> AllFlows {
        AllFlows {
            flows: SpillableVec::new(pool),
            slots: SpillableVec::new(pool),
            begins: Vec::new(),
        }
    }

    /// Adds those of the next partition.
    pub(crate) fn add(
        &mut self,
        flows: &[DatagramFlow],
        slots: &[DatagramSlot],
    ) -> Result<(), PathError> {
        let (begin, partition) = (self.slots.len(), self.begins.len() as u32);
        let mut first = 0;
        for (place, flow) in (0u32..).zip(flows) {
            let rest = slots.get(first..).unwrap_or(&[]);
            let end = first + rest.iter().take_while(|slot| slot.flow == place).count();
            let of_flow = [first, end].map(|at| (begin + at) as u64);
            self.flows.push((*flow, [partition, place], of_flow))?;
            first = end;
        }
        self.begins.push(begin);
        self.slots.extend(slots.iter().copied())
    }
}

/// What came of one partition beside its rows. The slot of a row is its place in `slots`.
#[derive(Default)]
pub(crate) struct MatchedFlows {
    pub(crate) flows: Vec<DatagramFlow>,
    pub(crate) slots: Vec<DatagramSlot>,
    pub(crate) counts: Reconciliation,
}

/// What making flows needs to know.
#[derive(Clone, Copy)]
pub(crate) struct FlowMaker<'a> {
    pub(crate) views: &'a Views<'a>,
    pub(crate) options: &'a Options,
    /// For what is sorted.
    pub(crate) budget: &'a MemoryBudget,
    pub(crate) directory: &'a Path,
}

impl<'a> FlowMaker<'a> {
    /// Makes flows of the messages of one partition. They are sorted, in files where there are
    /// many, and gone through by two readers: one looks ahead to the end of each flow for what has
    /// to be known of it before its messages are handed on.
    pub(crate) fn partition(
        &self,
        messages: impl Iterator<Item = Result<Vec<DatagramMessage>, PathError>>,
        rows: &mut RowSink,
    ) -> Result<MatchedFlows, PathError> {
        let mut sorter = self.sorter();
        for block in messages {
            for message in block? {
                sorter.push(message)?;
            }
        }
        let sorted = sorter.finish();
        let failed = ReadFailure::default();
        let mut matched = MatchedFlows::default();
        let [mut ahead, mut messages] = [0, 1].map(|_| sorted.iter(&failed).peekable());
        while let Some(first) = ahead.peek().copied() {
            let flow = first.flow();
            let mut known = Known::new(self, &first);
            while let Some(message) = ahead.next_if(|message| message.flow() == flow) {
                known.add(self.views, &message)?;
            }
            let (reach, reordered) = known.finish()?;
            matched.counts.datagrams.reordered += reordered;
            let of_flow = std::iter::from_fn(|| messages.next_if(|message| message.flow() == flow));
            match self.options.internal.standing(reach) {
                Standing::Ordinary => self.flow(&first, of_flow, &mut matched, rows)?,
                Standing::Kept => {
                    let counts = mem::take(&mut matched.counts);
                    self.flow(&first, of_flow, &mut matched, rows)?;
                    let own = mem::replace(&mut matched.counts, counts);
                    matched.counts.internal.add_flow(reach, own.total_messages());
                }
                Standing::LeftOut => {
                    let mut own = Reconciliation::default();
                    add(&mut own.messages, Protocol::Udp.name(), of_flow.count() as u64);
                    matched.counts.internal.add_flow(reach, own.total_messages());
                }
            }
        }
        failed.check()?;
        Ok(matched)
    }

    fn sorter<T: Keyed>(&self) -> ExternalSorter<'a, T> {
        ExternalSorter::new(self.budget, self.directory, self.options.at_once / 4)
    }

    /// Hands on the messages of one flow, which are in order.
    fn flow(
        &self,
        first: &DatagramMessage,
        messages: impl Iterator<Item = DatagramMessage>,
        matched: &mut MatchedFlows,
        rows: &mut RowSink,
    ) -> Result<(), PathError> {
        let socket = |end: End| match end {
            End::Socket(place) => self.views.sockets.get(place as usize),
            End::Untraced { .. } => None,
        };
        let ends = first.ends();
        let connected = |end: End| socket(end).is_some_and(|socket| socket.role == Role::Connect);
        let client = match ends.map(connected) {
            [false, true] => ends[1],
            _ => ends[0],
        };
        let server = if client == ends[0] { ends[1] } else { ends[0] };
        let protocol =
            ends.into_iter().find_map(socket).map_or(Protocol::Udp, |socket| socket.protocol);
        let flow = matched.flows.len() as u32;
        matched.flows.push(DatagramFlow {
            first: (first.first(), ends),
            protocol,
            ends: [client, server],
        });
        let first_slot = matched.slots.len();
        let mut all = 0;
        for message in messages {
            all += 1;
            let backward = message.ends()[0] != client;
            let [from, to] = [0, 1].map(|side| name(self.views, &message, side));
            let slot = DatagramSlot { flow, names: if backward { [to, from] } else { [from, to] } };
            let slots = matched.slots.get(first_slot..).unwrap_or(&[]);
            // Mostly there is one; of several the latest is the likeliest.
            let place = match slots.iter().rposition(|other| *other == slot) {
                Some(place) => first_slot + place,
                None => {
                    matched.slots.push(slot);
                    matched.slots.len() - 1
                }
            };
            let of_flow = message.flow_message();
            rows.push(Row::of(&of_flow, place as u32, usize::from(backward)))?;
            count(&of_flow, &message, &mut matched.counts);
        }
        add(&mut matched.counts.messages, protocol.name(), all);
        Ok(())
    }
}

/// The name of one end of a message: its own towards its peer where it was seen, otherwise what its
/// peer calls it.
fn name(views: &Views, message: &DatagramMessage, side: usize) -> NameId {
    match message.sockets[side] {
        socket if message.times[side] != NIL => views.own(socket, message.names[side]),
        _ => message.names[side],
    }
}

fn count(of_flow: &FlowMessage, message: &DatagramMessage, counts: &mut Reconciliation) {
    match (of_flow.sent, of_flow.received) {
        (Some(_), Some(_)) => counts.both_ends += 1,
        (Some(_), None) => add(&mut counts.send_only, message.cause().name(), 1),
        (None, _) => add(&mut counts.receive_only, message.cause().name(), 1),
    }
}

/// What is known of a flow so far.
struct Known<'a> {
    /// The sockets of the first message, its sender's first.
    sockets: [u32; 2],
    /// When the datagrams of each direction came.
    arrivals: [ExternalSorter<'a, Arrival>; 2],
    /// Who sent and received.
    callers: Callers,
}

impl<'a> Known<'a> {
    fn new(maker: &FlowMaker<'a>, first: &DatagramMessage) -> Known<'a> {
        let arrivals = [maker.sorter(), maker.sorter()];
        Known { sockets: first.sockets, arrivals, callers: Callers::default() }
    }

    fn add(&mut self, views: &Views, message: &DatagramMessage) -> Result<(), PathError> {
        for side in [0, 1] {
            let tid = Some(message.tids[side]).filter(|_| message.process(side).is_some());
            match process(views, message, side) {
                Some(process) => self.callers.add(process, tid),
                None => self.callers.add_unknown(),
            }
        }
        if !message.is_pair() {
            return Ok(());
        }
        let [sent, received] = message.times;
        self.arrivals[usize::from(message.sockets != self.sockets)].push(Arrival { received, sent })
    }

    /// Between whom the datagrams go, and how many of them came after one that was sent later.
    fn finish(self) -> Result<(Reach, u64), PathError> {
        let failed = ReadFailure::default();
        let mut reordered = 0;
        for arrivals in self.arrivals {
            let arrivals = arrivals.finish();
            reordered += in_order::reordered(arrivals.iter(&failed).map(|arrival| arrival.sent));
        }
        failed.check()?;
        Ok((self.callers.reach(), reordered))
    }
}

/// The process at one end of a message.
fn process(views: &Views, message: &DatagramMessage, side: usize) -> Option<u32> {
    let owner = || views.sockets.get(message.sockets[side] as usize).map(|socket| socket.owner);
    message.process(side).or_else(owner)
}

/// When a datagram came, and when it was sent.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Arrival {
    received: i64,
    sent: i64,
}

impl Keyed for Arrival {
    type Key = (i64, i64);

    fn key(&self) -> (i64, i64) {
        (self.received, self.sent)
    }
}

/// By flow and time, and then by all else, so that it does not matter in which order they come.
type MessageKey = ([End; 2], i64, [End; 2], i64, [u32; 2], Rest);
/// Names, bytes, threads, processes and flags.
type Rest = ([NameId; 2], u32, [i32; 2], [u32; 2], u32);

impl Keyed for DatagramMessage {
    type Key = MessageKey;

    fn key(&self) -> MessageKey {
        let DatagramMessage { times, names, bytes, tids, processes, flags, operations, .. } = *self;
        let rest = (names, bytes, tids, processes, flags);
        (self.flow(), self.first(), self.ends(), times[1], operations, rest)
    }
}
