//! Matching of the connections of one partition: both directions of each are matched and merged
//! into messages.

mod open_before;

use std::ops::Range;
use std::path::Path;

use clocks::ClockSamples;
use message_trace::PathError;
use out_of_core::{MemoryBudget, SpillableVec};

use crate::calls::{FlowMessage, StreamCall, StreamTransfer};
use crate::connections::connection::Connection;
use crate::connections::connection_setup::ConnectionSetup;
use crate::indices::{ConnectionIndex, OptionalIndex, ProcessIndex, SocketIndex};
use crate::internal::{FlowCallers, FlowScope, InternalTreatment};
use crate::logs::capture::Capture;
use crate::options::Options;
use crate::reconciliation::{Reconciliation, add_count};
use crate::rows::row::MessageRow;
use crate::rows::row_sink::RowSink;
use crate::sockets::socket::KernelSocket;
use crate::streams::call_streams::{CallStreams, ConnectionLookup, PartitionStreams, StreamSorter};
use crate::streams::fragment_matching::StreamFragments;
use crate::streams::greeting::ServerGreeting;
use crate::streams::inner_gap;
use crate::streams::merging::{self, BoundaryRule, PauseLimits};
use crate::streams::multiplexed::detection::{self, MultiplexedTraits};
use crate::streams::multiplexed::usual_sizes::{MessageCutter, UsualSizes};
use crate::streams::streaming::{self, ExchangeInterior, StreamingExchange};
use crate::streams::tally::CallTally;
use crate::streams::unanswered;
use crate::tuning::{MIN_BODY_CALL_BYTES, STALL_FACTOR};
use crate::unmatched_cause::UnmatchedCause;

/// Inputs of matching that all connections share.
pub(crate) struct StreamMatcher<'a> {
    pub(crate) capture: &'a Capture,
    pub(crate) sockets: &'a SpillableVec<KernelSocket>,
    pub(crate) connection_lookup: ConnectionLookup<'a>,
    pub(crate) options: &'a Options,
    /// Whether logs have operations.
    pub(crate) has_operations: bool,
    /// Memory budget for the calls of connections with very many.
    pub(crate) budget: &'a MemoryBudget,
    pub(crate) directory: &'a Path,
}

/// Results of the connections of one partition in addition to its rows, with the indices of their
/// connections as slots.
#[derive(Default)]
pub(crate) struct MatchedStreams {
    /// Which of the connections have messages.
    pub(crate) used: Vec<bool>,
    pub(crate) counts: Reconciliation,
}

impl StreamMatcher<'_> {
    /// Matches the calls, in the order of logs and records, of the connections in `range`.
    pub(crate) fn match_partition(
        &self,
        range: Range<u32>,
        calls: impl Iterator<Item = Result<Vec<StreamCall>, PathError>>,
        samples: &mut ClockSamples,
        rows: &mut RowSink,
    ) -> Result<MatchedStreams, PathError> {
        let is_large =
            |place: &ConnectionIndex| self.call_count(*place) > self.options.at_once as u64;
        let sorting =
            |place| (place, StreamSorter::new(self.budget, self.directory, self.options.at_once));
        let connections = range.clone().map(|place| ConnectionIndex::from_index(place as usize));
        let mut large: Vec<(ConnectionIndex, StreamSorter)> =
            connections.clone().filter(is_large).map(sorting).collect();
        let rest = match large.as_slice() {
            [] => calls.collect::<Result<Vec<_>, PathError>>()?,
            _ => self.take_large(calls, &mut large)?,
        };
        let streams = PartitionStreams::new(self.connection_lookup, &range, rest);
        let mut large = large.into_iter().peekable();
        let mut matched = MatchedStreams::default();
        for (local, place) in connections.enumerate() {
            let connection = &self.connection_lookup.connections[place.index()];
            let matching = ConnectionMatcher { matcher: self, connection, place };
            let counts = &mut matched.counts;
            let used = match large.next_if(|(large, _)| *large == place) {
                Some((_, streams)) => {
                    matching.write_connection(&streams.finish(), counts, samples, rows)?
                }
                None => matching.write_connection(
                    &streams.of_connection(local),
                    counts,
                    samples,
                    rows,
                )?,
            };
            matched.used.push(used);
        }
        Ok(matched)
    }

    /// Number of calls of the sockets of a connection.
    fn call_count(&self, place: ConnectionIndex) -> u64 {
        let connection = self.connection_lookup.connections.get(place.index());
        connection.map_or(0, |connection| connection.transfer_count(self.sockets))
    }

    /// Moves the calls of the `large` connections to their sorters. Returns all other calls.
    fn take_large(
        &self,
        calls: impl Iterator<Item = Result<Vec<StreamCall>, PathError>>,
        large: &mut [(ConnectionIndex, StreamSorter)],
    ) -> Result<Vec<Vec<StreamCall>>, PathError> {
        let mut rest = Vec::new();
        for block in calls {
            for call in block? {
                let connection = self.connection_lookup.connection_of_call(&call);
                let at =
                    |of| Some((of, large.binary_search_by_key(&of, |(place, _)| *place).ok()?));
                match connection.and_then(at) {
                    Some((of, at)) => large[at].1.push(self.connection_lookup, of, call)?,
                    None => rest.push(call),
                }
            }
        }
        Ok(vec![rest])
    }
}

/// Treatment of the messages of a connection.
struct MessageTreatment<'a> {
    /// Whether the messages of the connection are in the trace.
    is_used: bool,
    /// Whether the first message that the connecting side sends is the first of all.
    opens: bool,
    /// Whether logs have operations of the connection.
    operations: bool,
    /// The traits of the connection if its sides need not take turns.
    multiplexed: Option<&'a MultiplexedTraits>,
    /// Exchanges of bodies in both directions at the same time.
    exchanges: Vec<StreamingExchange>,
    /// Maximum time between the parts of a message, in nanoseconds.
    gap: i64,
}

/// Matcher of one connection.
struct ConnectionMatcher<'a> {
    matcher: &'a StreamMatcher<'a>,
    connection: &'a Connection,
    place: ConnectionIndex,
}

impl ConnectionMatcher<'_> {
    /// Passes the merged messages of the connection to `rows`. Returns whether there are any. One
    /// message of each direction is in memory at a time.
    fn write_messages(
        &self,
        streams: &impl CallStreams,
        counts: &mut Reconciliation,
        samples: &mut ClockSamples,
        rows: &mut RowSink,
    ) -> Result<bool, PathError> {
        if !(0..4).any(|stream| streams.tally(stream).has_calls) {
            return Ok(false);
        }
        if !self.has_both_ends() {
            add_count(&mut counts.unmatched_streams, self.connection.cause.name(), 1);
        }
        let scope =
            if self.has_both_ends() { self.flow_scope(streams) } else { FlowScope::Processes };
        let treatment = self.matcher.options.internal.treatment_of_flow(scope);
        let is_used = treatment != InternalTreatment::LeftOut;
        if treatment == InternalTreatment::Ordinary {
            self.make_messages(streams, is_used, counts, samples, rows)?;
            return Ok(is_used);
        }
        let mut own = Reconciliation::default();
        self.make_messages(streams, is_used, &mut own, samples, rows)?;
        counts.internal.add_flow(scope, own.total_messages());
        // These bytes count whatever happens to the messages.
        counts.stream_bytes.absorb(own.stream_bytes);
        counts.unanswered += own.unanswered;
        Ok(is_used)
    }

    /// Makes the messages of the connection and counts them; the messages are passed on to the rows
    /// if the connection `is_used`.
    fn make_messages(
        &self,
        streams: &impl CallStreams,
        is_used: bool,
        counts: &mut Reconciliation,
        samples: &mut ClockSamples,
        rows: &mut RowSink,
    ) -> Result<(), PathError> {
        let mut unused = ClockSamples::new(0);
        let samples = if self.connection.ambiguous { &mut unused } else { samples };
        let greeting = ServerGreeting::find_greeting(streams);
        if let Some(making) =
            greeting.and_then(|greeting| self.setup_message(&greeting)).filter(|_| is_used)
        {
            counts.connects += 1;
            rows.push(MessageRow::from_message(&making, self.place.slot(), 0))?;
        }
        let of_first = streams.tally(0);
        let opens = greeting.is_none() && !of_first.forgotten && !of_first.began_before;
        let operations =
            self.matcher.has_operations && (0..4).any(|stream| streams.tally(stream).operations);
        let is_known = !is_used || operations;
        let multiplexed = if is_known { None } else { self.detect_multiplexing(streams) };
        counts.multiplexed += u64::from(multiplexed.is_some());
        let exchanges = if is_known || multiplexed.is_some() {
            Vec::new()
        } else {
            self.find_exchanges(streams)
        };
        let gap = if multiplexed.is_some() { self.max_gap() } else { self.inner_gap(streams) };
        let multiplexed = multiplexed.as_ref();
        let treatment =
            MessageTreatment { is_used, opens, operations, multiplexed, exchanges, gap };
        for direction in 0..2 {
            self.make_direction(streams, direction, &treatment, counts, samples, rows)?;
        }
        streams.check()
    }

    /// Whether both ends were recorded.
    fn has_both_ends(&self) -> bool {
        self.connection.connecting.get().is_some() && self.connection.accepting.get().is_some()
    }

    /// Whether both ends were recorded with one kernel's clock.
    fn has_one_clock(&self) -> bool {
        let kernel =
            |end: OptionalIndex<SocketIndex>| self.socket_at(end).map(|socket| socket.kernel);
        self.has_both_ends()
            && kernel(self.connection.connecting) == kernel(self.connection.accepting)
    }

    /// The fragments of one direction, before merging. If only one end was recorded, each call is a
    /// fragment.
    fn direction_fragments<'w>(
        &self,
        streams: &'w impl CallStreams,
        direction: usize,
    ) -> StreamFragments<
        impl Iterator<Item = StreamTransfer> + 'w,
        impl Iterator<Item = StreamTransfer> + 'w,
    > {
        let [sends, receives] = [2 * direction, 2 * direction + 1];
        let placed = self.has_both_ends()
            && [sends, receives].iter().all(|stream| streams.tally(*stream).is_placed());
        StreamFragments::new(streams.calls(sends), streams.calls(receives), placed)
    }

    /// Makes the messages of one direction (0: from the connecting end) and counts them.
    fn make_direction(
        &self,
        streams: &impl CallStreams,
        direction: usize,
        treatment: &MessageTreatment<'_>,
        counts: &mut Reconciliation,
        samples: &mut ClockSamples,
        rows: &mut RowSink,
    ) -> Result<(), PathError> {
        let inside = ExchangeInterior::from_exchanges(&treatment.exchanges, direction);
        let [sends, receives] = [2 * direction, 2 * direction + 1];
        let turns = |stream: usize| {
            streams.calls(stream).filter(|call| !call.is_forgotten()).map(|call| call.time)
        };
        let (sends_back, receives_back) = (turns(2 - sends), turns(3 - sends));
        let mut parts = self.direction_fragments(streams, direction);
        let mut bytes = 0;
        let seen = parts.by_ref().inspect(|part| {
            bytes += part.bytes;
            self.add_sample(part, samples);
        });
        let gap = treatment.gap;
        // Data from the accepting side answers something.
        let factor = if direction == 1 { STALL_FACTOR } else { 1 };
        let pauses =
            PauseLimits { usual: gap, stalled: gap.max(self.max_gap().saturating_mul(factor)) };
        let operations =
            if treatment.operations { self.operation_count(streams, direction) } else { 0 };
        let is_unanswered = treatment.multiplexed.is_none()
            && operations == 0
            && self.is_unanswered(streams, direction);
        counts.unanswered += u64::from(is_unanswered);
        let (mut all, mut both, mut send_only) = (0, 0, 0);
        let units = treatment.multiplexed.map(|multiplexed| &multiplexed.units[direction]);
        let boundary = match treatment.multiplexed {
            Some(multiplexed) => Some(BoundaryRule { separates: multiplexed.separates, units }),
            None => is_unanswered
                .then_some(BoundaryRule { separates: unanswered::is_boundary, units: None }),
        };
        let merged = merging::merge_messages(
            seen,
            (receives_back, sends_back),
            pauses,
            boundary,
            inside,
            self.has_one_clock(),
            operations,
        );
        let nothing = UsualSizes::default();
        for message in MessageCutter::new(merged, units.unwrap_or(&nothing), gap) {
            let opens = all == 0 && direction == 0 && treatment.opens;
            all += 1;
            both += u64::from(message.sent.is_some() && message.received.is_some());
            send_only += u64::from(message.received.is_none());
            if treatment.is_used {
                let row = MessageRow::from_message(&message, self.place.slot(), direction);
                let carries_setup = opens
                    && ConnectionSetup::is_carried_by(
                        &message,
                        self.socket_at(self.connection.connecting),
                    );
                rows.push(if carries_setup { row.into_opening() } else { row })?;
            }
        }
        if self.has_both_ends() {
            let of = &mut counts.stream_bytes;
            of.sent_only += parts.unread;
            of.received_only += parts.unsent;
            of.matched += bytes - parts.unread - parts.unsent;
        }
        let [sent, received] =
            self.missing_causes([sends, receives].map(|stream| streams.tally(stream)));
        let protocol = self.matcher.sockets[self.connection.any_socket().index()].protocol;
        counts.both_ends += both;
        add_count(&mut counts.messages, protocol.name(), all);
        add_count(&mut counts.send_only, sent.name(), send_only);
        add_count(&mut counts.receive_only, received.name(), all - both - send_only);
        Ok(())
    }

    /// The setup of the connection, if it was seen.
    fn setup_message(&self, greeting: &ServerGreeting) -> Option<FlowMessage> {
        greeting.setup_message(
            self.socket_at(self.connection.connecting),
            self.socket_at(self.connection.accepting),
        )
    }

    /// The socket at an end, if it was recorded.
    fn socket_at(&self, end: OptionalIndex<SocketIndex>) -> Option<&KernelSocket> {
        self.matcher.sockets.get(end.get()?.index())
    }

    /// Adds a message between two hosts as a sample of their clocks.
    fn add_sample(&self, part: &FlowMessage, samples: &mut ClockSamples) {
        let processes = &self.matcher.capture.processes;
        let host = |process: ProcessIndex| {
            let host = processes.get(process.index()).map(|process| process.host);
            host.unwrap_or_default().number()
        };
        if let (Some(sent), Some(received)) = (part.sent, part.received) {
            let (from, to) = (host(sent.process), host(received.process));
            if from != to {
                samples.add_message(from, to, sent.first, received.first);
            }
        }
    }

    /// Finds exchanges of bodies in both directions at the same time. Most connections have no
    /// bodies, and are not examined any further.
    fn find_exchanges(&self, streams: &impl CallStreams) -> Vec<StreamingExchange> {
        let tallies = [0, 1, 2, 3].map(|stream| streams.tally(stream));
        let is_whole = tallies.iter().all(|tally| !tally.forgotten);
        let is_large = |stream: usize| {
            tallies[stream].largest.max(tallies[stream + 1].largest) >= MIN_BODY_CALL_BYTES
        };
        if !is_whole || !is_large(0) || !is_large(2) {
            return Vec::new();
        }
        streaming::find_streaming_exchanges(
            self.direction_fragments(streams, 0),
            streams.calls(3),
            streams.calls(2),
        )
    }

    /// Traits of the connection if it is multiplexed. If no thread did anything else between its
    /// calls, the connection mostly is not multiplexed, and is not examined any further.
    fn detect_multiplexing(&self, streams: &impl CallStreams) -> Option<MultiplexedTraits> {
        let tallies = [0, 1, 2, 3].map(|stream| streams.tally(stream));
        let is_whole = tallies.iter().all(|tally| !tally.forgotten);
        let end = usize::from(self.connection.connecting.get().is_none());
        let is_examined = is_whole && tallies.iter().any(|tally| tally.elsewhere);
        is_examined
            .then(|| {
                detection::detect_multiplexing(
                    self.direction_fragments(streams, 0),
                    self.direction_fragments(streams, 1),
                    end,
                )
            })
            .flatten()
    }

    /// Maximum time between the parts of a message, in nanoseconds, learned from the connection
    /// itself. If no thread did anything else between its calls, a single client sends requests,
    /// and the connection is not examined any further.
    fn inner_gap(&self, streams: &impl CallStreams) -> i64 {
        let tallies = [0, 1, 2, 3].map(|stream| streams.tally(stream));
        let is_whole = tallies.iter().all(|tally| !tally.forgotten);
        let is_examined = is_whole && tallies.iter().any(|tally| tally.elsewhere);
        let end = usize::from(self.connection.connecting.get().is_none());
        match is_examined {
            true => inner_gap::learn_inner_gap(
                self.direction_fragments(streams, 0),
                self.direction_fragments(streams, 1),
                end,
                self.max_gap(),
            ),
            false => self.max_gap(),
        }
    }

    /// Number of operations that begin in one direction, according to the logs of both ends.
    fn operation_count(&self, streams: &impl CallStreams, direction: usize) -> u64 {
        self.direction_fragments(streams, direction).filter(FlowMessage::begins_operation).count()
            as u64
    }

    /// Maximum time between the parts of a message, in nanoseconds, unless it is learned from the
    /// connection.
    fn max_gap(&self) -> i64 {
        i64::try_from(self.matcher.options.fat_gap.as_nanos()).unwrap_or(i64::MAX)
    }

    /// Whether a direction is unanswered; for the accepting side, whether its messages are
    /// notifications.
    fn is_unanswered(&self, streams: &impl CallStreams, direction: usize) -> bool {
        let is_whole = [0, 1, 2, 3].iter().all(|stream| !streams.tally(*stream).forgotten);
        let [sends, receives, receives_back] =
            [2 * direction, 2 * direction + 1, 3 - 2 * direction];
        let [is_request, is_notification] = [direction == 0, streams.tally(receives).elsewhere];
        let counts = if is_request { unanswered::is_boundary } else { unanswered::is_notification };
        // The receiver of a notification does not answer it, and requests something else in the
        // end.
        let waits = [self.max_gap(), if is_request { i64::MAX } else { self.max_gap() }];
        // If the receives were not recorded, the times of the sends are used.
        let is_seen = streams.tally(receives_back).has_calls || is_request;
        let back = streams
            .calls(if is_seen { receives_back } else { receives_back - 1 })
            .map(|call| call.time);
        let seen =
            |part: &FlowMessage| part.sent.or(part.received.filter(|_| !is_request && !is_seen));
        is_whole
            && (streams.tally(sends).elsewhere || !is_seen)
            && (is_request || is_notification)
            && unanswered::is_unanswered(
                self.direction_fragments(streams, direction),
                back,
                waits,
                counts,
                seen,
            )
    }

    /// Scope of the connection's messages. Mostly the first one shows that it is not within a
    /// process.
    fn flow_scope(&self, streams: &impl CallStreams) -> FlowScope {
        let owner = |end: OptionalIndex<SocketIndex>| self.socket_at(end).map(|end| end.owner);
        let owners = [owner(self.connection.connecting), owner(self.connection.accepting)];
        let mut callers = FlowCallers::default();
        for direction in 0..2 {
            for part in self.direction_fragments(streams, direction) {
                let ends = [(part.sent, direction), (part.received, 1 - direction)];
                for (seen, end) in ends {
                    match seen.map(|seen| seen.process).or(owners[end]) {
                        Some(process) => callers.add(process, seen.map(|seen| seen.tid)),
                        None => callers.add_unknown(),
                    }
                }
                if callers.flow_scope() == FlowScope::Processes {
                    return FlowScope::Processes;
                }
            }
        }
        callers.flow_scope()
    }

    /// Reasons why messages have no receive, and why they have no send.
    fn missing_causes(&self, [sends, receives]: [CallTally; 2]) -> [UnmatchedCause; 2] {
        let cause = |other: CallTally, otherwise| match other {
            _ if other.by_log => UnmatchedCause::Forgotten,
            _ if other.forgotten || other.began_before => UnmatchedCause::NotRecorded,
            _ => otherwise,
        };
        match self.connection.cause {
            UnmatchedCause::Nothing => {
                [cause(receives, UnmatchedCause::Unread), cause(sends, UnmatchedCause::Unsent)]
            }
            cause => [cause, cause],
        }
    }
}
