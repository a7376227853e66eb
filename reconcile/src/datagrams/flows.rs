//! Datagram flows (pairs of ends) of one partition: their messages in order, with their directions
//! and names. Datagrams are never merged: each is a message by its nature.

use std::mem;
use std::path::Path;

use message_trace::{PathError, TransportProtocol};
use out_of_core::{
    ExternalSorter, KeyedRecord, MemoryBudget, MemoryPool, ReadFailure, SpillableVec,
};
use socket_log::encode::FlowRole;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::calls::FlowMessage;
use crate::datagrams::datagram_end::{DatagramEnd, DatagramMessage};
use crate::datagrams::fifo_matching;
use crate::datagrams::peer_names::PeerViews;
use crate::indices::{OptionalIndex, ProcessIndex, SocketIndex};
use crate::internal::{FlowCallers, FlowScope, InternalTreatment};
use crate::optional_time::OptionalTime;
use crate::options::Options;
use crate::reconciliation::{Reconciliation, add_count};
use crate::rows::row::MessageRow;
use crate::rows::row_sink::RowSink;
use crate::socket_names::SocketNameId;

/// A flow of datagrams that is in the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatagramFlow {
    /// Sort key by which flows are numbered: the time and the ends of the first message.
    pub(crate) first: (i64, [DatagramEnd; 2]),
    pub(crate) protocol: TransportProtocol,
    /// The connecting side or, as datagrams need no connection, the side that sent first; and the
    /// other.
    pub(crate) ends: [DatagramEnd; 2],
}

/// Messages of one flow with the same names of their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatagramSlot {
    /// The flow, by its index in the partition.
    pub(crate) flow: u32,
    /// The names of the flow's ends; for an untraced end the name by which the other knows it.
    pub(crate) names: [OptionalIndex<SocketNameId>; 2],
}

/// The flows and slots of all partitions, and where each partition begins.
#[derive(Debug)]
pub(crate) struct AllFlows {
    /// Each flow with its partition and its index there, and the range of its slots.
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

    /// Adds the flows and slots of the next partition.
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

/// Results of one partition in addition to its rows. The slot of a row is its index in `slots`.
#[derive(Default)]
pub(crate) struct MatchedFlows {
    pub(crate) flows: Vec<DatagramFlow>,
    pub(crate) slots: Vec<DatagramSlot>,
    pub(crate) counts: Reconciliation,
}

/// Inputs of making flows.
#[derive(Clone, Copy)]
pub(crate) struct FlowMaker<'a> {
    pub(crate) views: &'a PeerViews<'a>,
    pub(crate) options: &'a Options,
    /// Memory budget of the sorters.
    pub(crate) budget: &'a MemoryBudget,
    pub(crate) directory: &'a Path,
}

impl<'a> FlowMaker<'a> {
    /// Makes flows of the messages of one partition. These are sorted, in files if there are many,
    /// and read by two readers: one looks ahead to the end of each flow for the facts that are
    /// needed before its messages are passed on.
    pub(crate) fn build_partition(
        &self,
        messages: impl Iterator<Item = Result<Vec<DatagramMessage>, PathError>>,
        rows: &mut RowSink,
    ) -> Result<MatchedFlows, PathError> {
        let mut sorter = self.new_sorter();
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
            let flow = first.flow_ends();
            let mut known = FlowFacts::new(self, &first);
            while let Some(message) = ahead.next_if(|message| message.flow_ends() == flow) {
                known.add(self.views, &message)?;
            }
            let (scope, reordered) = known.finish()?;
            matched.counts.datagrams.reordered += reordered;
            let of_flow =
                std::iter::from_fn(|| messages.next_if(|message| message.flow_ends() == flow));
            match self.options.internal.treatment_of_flow(scope) {
                InternalTreatment::Ordinary => {
                    self.write_flow(&first, of_flow, &mut matched, rows)?
                }
                InternalTreatment::CountedApart => {
                    let counts = mem::take(&mut matched.counts);
                    self.write_flow(&first, of_flow, &mut matched, rows)?;
                    let own = mem::replace(&mut matched.counts, counts);
                    matched.counts.internal.add_flow(scope, own.total_messages());
                }
                InternalTreatment::LeftOut => {
                    let mut own = Reconciliation::default();
                    add_count(
                        &mut own.messages,
                        TransportProtocol::Udp.name(),
                        of_flow.count() as u64,
                    );
                    matched.counts.internal.add_flow(scope, own.total_messages());
                }
            }
        }
        failed.check_failure()?;
        Ok(matched)
    }

    fn new_sorter<T: KeyedRecord>(&self) -> ExternalSorter<'a, T> {
        ExternalSorter::new(self.budget, self.directory, self.options.at_once / 4)
    }

    /// Passes the messages of one flow, which are in order, to `rows`.
    fn write_flow(
        &self,
        first: &DatagramMessage,
        messages: impl Iterator<Item = DatagramMessage>,
        matched: &mut MatchedFlows,
        rows: &mut RowSink,
    ) -> Result<(), PathError> {
        let socket = |end: DatagramEnd| match end {
            DatagramEnd::Socket(place) => self.views.sockets.get(place.index()),
            DatagramEnd::Untraced { .. } => None,
        };
        let ends = first.ends();
        let connected =
            |end: DatagramEnd| socket(end).is_some_and(|socket| socket.role == FlowRole::Connect);
        let client = match ends.map(connected) {
            [false, true] => ends[1],
            _ => ends[0],
        };
        let server = if client == ends[0] { ends[1] } else { ends[0] };
        let protocol = ends
            .into_iter()
            .find_map(socket)
            .map_or(TransportProtocol::Udp, |socket| socket.protocol);
        let flow = matched.flows.len() as u32;
        matched.flows.push(DatagramFlow {
            first: (first.first_time(), ends),
            protocol,
            ends: [client, server],
        });
        let first_slot = matched.slots.len();
        let mut all = 0;
        for message in messages {
            all += 1;
            let backward = message.ends()[0] != client;
            let [from, to] = [0, 1].map(|side| name_of_end(self.views, &message, side));
            let slot = DatagramSlot { flow, names: if backward { [to, from] } else { [from, to] } };
            let slots = matched.slots.get(first_slot..).unwrap_or(&[]);
            // Mostly there is one slot; of several the latest is the most probable.
            let place = match slots.iter().rposition(|other| *other == slot) {
                Some(place) => first_slot + place,
                None => {
                    matched.slots.push(slot);
                    matched.slots.len() - 1
                }
            };
            let of_flow = message.to_flow_message();
            rows.push(MessageRow::from_message(&of_flow, place as u32, usize::from(backward)))?;
            count_message(&of_flow, &message, &mut matched.counts);
        }
        add_count(&mut matched.counts.messages, protocol.name(), all);
        Ok(())
    }
}

/// The name of one end of a message: its own towards its peer if the end was recorded, otherwise
/// the name that its peer uses.
fn name_of_end(
    views: &PeerViews,
    message: &DatagramMessage,
    side: usize,
) -> OptionalIndex<SocketNameId> {
    match message.sockets[side].get().filter(|_| message.times[side].is_some()) {
        Some(socket) => views.own_name(socket, message.names[side]),
        None => message.names[side],
    }
}

/// Counts a message by the ends that saw it.
fn count_message(of_flow: &FlowMessage, message: &DatagramMessage, counts: &mut Reconciliation) {
    match (of_flow.sent, of_flow.received) {
        (Some(_), Some(_)) => counts.both_ends += 1,
        (Some(_), None) => add_count(&mut counts.send_only, message.cause().name(), 1),
        (None, _) => add_count(&mut counts.receive_only, message.cause().name(), 1),
    }
}

/// Facts about a flow so far.
struct FlowFacts<'a> {
    /// The sockets of the first message, its sender's first.
    sockets: [OptionalIndex<SocketIndex>; 2],
    /// Times when the datagrams of each direction arrived.
    arrivals: [ExternalSorter<'a, DatagramArrival>; 2],
    /// Processes and threads that sent and received.
    callers: FlowCallers,
}

impl<'a> FlowFacts<'a> {
    fn new(maker: &FlowMaker<'a>, first: &DatagramMessage) -> FlowFacts<'a> {
        let arrivals = [maker.new_sorter(), maker.new_sorter()];
        FlowFacts { sockets: first.sockets, arrivals, callers: FlowCallers::default() }
    }

    fn add(&mut self, views: &PeerViews, message: &DatagramMessage) -> Result<(), PathError> {
        for side in [0, 1] {
            let tid = Some(message.tids[side]).filter(|_| message.process_at(side).is_some());
            match process_of_end(views, message, side) {
                Some(process) => self.callers.add(process, tid),
                None => self.callers.add_unknown(),
            }
        }
        let times = message.times.map(OptionalTime::get);
        let ([Some(sent), Some(received)], true) = (times, message.is_pair()) else {
            return Ok(());
        };
        self.arrivals[usize::from(message.sockets != self.sockets)]
            .push(DatagramArrival { received, sent })
    }

    /// The scope of the flow, and the number of its datagrams that came after one that was sent
    /// later.
    fn finish(self) -> Result<(FlowScope, u64), PathError> {
        let failed = ReadFailure::default();
        let mut reordered = 0;
        for arrivals in self.arrivals {
            let arrivals = arrivals.finish();
            reordered +=
                fifo_matching::count_reordered(arrivals.iter(&failed).map(|arrival| arrival.sent));
        }
        failed.check_failure()?;
        Ok((self.callers.flow_scope(), reordered))
    }
}

/// The process at one end of a message.
fn process_of_end(
    views: &PeerViews,
    message: &DatagramMessage,
    side: usize,
) -> Option<ProcessIndex> {
    let owner = || Some(views.sockets.get(message.sockets[side].get()?.index())?.owner);
    message.process_at(side).or_else(owner)
}

/// Times when a datagram arrived and when it was sent.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct DatagramArrival {
    received: i64,
    sent: i64,
}

impl KeyedRecord for DatagramArrival {
    type Key = (i64, i64);

    fn key(&self) -> (i64, i64) {
        (self.received, self.sent)
    }
}

/// By flow and time, and then by all other fields, so that the order of input does not matter.
type DatagramMessageKey =
    ([DatagramEnd; 2], i64, [DatagramEnd; 2], OptionalTime, [u32; 2], DatagramMessageRest);
/// Names, bytes, threads, processes and flags.
type DatagramMessageRest =
    ([OptionalIndex<SocketNameId>; 2], u32, [i32; 2], [OptionalIndex<ProcessIndex>; 2], u32);

impl KeyedRecord for DatagramMessage {
    type Key = DatagramMessageKey;

    fn key(&self) -> DatagramMessageKey {
        let DatagramMessage { times, names, bytes, tids, processes, flags, operations, .. } = *self;
        let rest = (names, bytes, tids, processes, flags);
        (self.flow_ends(), self.first_time(), self.ends(), times[1], operations, rest)
    }
}
