//! The messages of the connections of one partition: both directions of each are matched and made
//! fat.

mod open_before;

use std::ops::Range;
use std::path::Path;

use clocks::Samples;
use message_trace::PathError;
use out_of_core::{MemoryBudget, SpillableVec};

use crate::absent::NONE;
use crate::calls::{FlowMessage, StreamCall, Transfer};
use crate::cause::Cause;
use crate::connections::connecting::Connecting;
use crate::connections::connection::Connection;
use crate::internal::{Callers, Reach, Standing};
use crate::logs::capture::Capture;
use crate::options::Options;
use crate::reconciliation::{Reconciliation, add};
use crate::rows::row::Row;
use crate::rows::row_sink::RowSink;
use crate::sockets::socket::Socket;
use crate::streams::fat::{self, Border, Pauses};
use crate::streams::greeting::Greeting;
use crate::streams::inner_gap;
use crate::streams::matching::Parts;
use crate::streams::multiplexed::judge::{self, Multiplexed};
use crate::streams::multiplexed::units::{Cut, Units};
use crate::streams::streaming::{self, Exchange, Inside};
use crate::streams::tally::Tally;
use crate::streams::unanswered;
use crate::streams::ways::{ManyWays, Owners, SortingWays, Ways};
use crate::tuning::{MIN_BODY_CALL_BYTES, STALL_FACTOR};

/// What matching needs to know of all connections.
pub(crate) struct StreamMatcher<'a> {
    pub(crate) capture: &'a Capture,
    pub(crate) sockets: &'a SpillableVec<Socket>,
    pub(crate) owners: Owners<'a>,
    pub(crate) options: &'a Options,
    /// Whether logs tell operations.
    pub(crate) has_operations: bool,
    /// For the calls of connections with very many.
    pub(crate) budget: &'a MemoryBudget,
    pub(crate) directory: &'a Path,
}

/// What came of the connections of one partition beside its rows, whose slots are their
/// connections' places.
#[derive(Default)]
pub(crate) struct MatchedStreams {
    /// Which of the connections have messages.
    pub(crate) used: Vec<bool>,
    pub(crate) counts: Reconciliation,
}

impl StreamMatcher<'_> {
    /// Matches the calls, in the order of logs and records, of the connections in `range`.
    pub(crate) fn partition(
        &self,
        range: Range<u32>,
        calls: impl Iterator<Item = Result<Vec<StreamCall>, PathError>>,
        samples: &mut Samples,
        rows: &mut RowSink,
    ) -> Result<MatchedStreams, PathError> {
        let is_large = |place: &u32| self.calls(*place) > self.options.at_once as u64;
        let sorting =
            |place| (place, SortingWays::new(self.budget, self.directory, self.options.at_once));
        let mut large: Vec<(u32, SortingWays)> =
            range.clone().filter(is_large).map(sorting).collect();
        let rest = match large.as_slice() {
            [] => calls.collect::<Result<Vec<_>, PathError>>()?,
            _ => self.without_large(calls, &mut large)?,
        };
        let ways = ManyWays::new(self.owners, &range, rest);
        let mut large = large.into_iter().peekable();
        let mut matched = MatchedStreams::default();
        for (local, place) in range.enumerate() {
            let connection = &self.owners.connections[place as usize];
            let matching = Matching { matcher: self, connection, place };
            let counts = &mut matched.counts;
            let used = match large.next_if(|(large, _)| *large == place) {
                Some((_, ways)) => matching.connection(&ways.finish(), counts, samples, rows)?,
                None => matching.connection(&ways.of(local), counts, samples, rows)?,
            };
            matched.used.push(used);
        }
        Ok(matched)
    }

    /// How many calls the sockets of a connection have.
    fn calls(&self, place: u32) -> u64 {
        let calls = |socket: u32| {
            self.sockets.get(socket as usize).map_or(0, |socket| u64::from(socket.transfers))
        };
        let connection = self.owners.connections.get(place as usize);
        connection
            .map_or(0, |connection| calls(connection.connecting) + calls(connection.accepting))
    }

    /// Gives the calls of the `large` connections to these. Returns all other calls.
    fn without_large(
        &self,
        calls: impl Iterator<Item = Result<Vec<StreamCall>, PathError>>,
        large: &mut [(u32, SortingWays)],
    ) -> Result<Vec<Vec<StreamCall>>, PathError> {
        let mut rest = Vec::new();
        for block in calls {
            for call in block? {
                let connection = self.owners.connection(&call);
                match large.binary_search_by_key(&connection, |(place, _)| *place) {
                    Ok(at) => large[at].1.push(self.owners, connection, call)?,
                    Err(_) => rest.push(call),
                }
            }
        }
        Ok(vec![rest])
    }
}

/// What is done with the messages of a connection.
struct Treatment<'a> {
    /// Whether its messages are in the trace.
    is_used: bool,
    /// Whether the first message that the connecting side sends is the first of all.
    opens: bool,
    /// Whether logs tell operations of it.
    operations: bool,
    /// What is known of it where the sides need not take turns.
    multiplexed: Option<&'a Multiplexed>,
    /// Where bodies went both ways at once.
    exchanges: Vec<Exchange>,
    /// Maximum time between the parts of a message, in nanoseconds.
    gap: i64,
}

/// One connection, being matched.
struct Matching<'a> {
    matcher: &'a StreamMatcher<'a>,
    connection: &'a Connection,
    place: u32,
}

impl Matching<'_> {
    /// Hands on the messages of the connection, made fat; whether it has any. One message of each
    /// direction is in memory at a time.
    fn messages(
        &self,
        ways: &impl Ways,
        counts: &mut Reconciliation,
        samples: &mut Samples,
        rows: &mut RowSink,
    ) -> Result<bool, PathError> {
        if !(0..4).any(|way| ways.tally(way).calls) {
            return Ok(false);
        }
        if !self.both() {
            add(&mut counts.unmatched_streams, self.connection.cause.name(), 1);
        }
        let reach = if self.both() { self.reach(ways) } else { Reach::Processes };
        let standing = self.matcher.options.internal.standing(reach);
        let is_used = standing != Standing::LeftOut;
        if standing == Standing::Ordinary {
            self.treat(ways, is_used, counts, samples, rows)?;
            return Ok(is_used);
        }
        let mut own = Reconciliation::default();
        self.treat(ways, is_used, &mut own, samples, rows)?;
        counts.internal.add_flow(reach, own.total_messages());
        // They count whatever becomes of the messages.
        counts.stream_bytes.absorb(own.stream_bytes);
        counts.unanswered += own.unanswered;
        Ok(is_used)
    }

    /// Makes the messages of the connection and counts them; they are handed on if the connection
    /// `is_used`.
    fn treat(
        &self,
        ways: &impl Ways,
        is_used: bool,
        counts: &mut Reconciliation,
        samples: &mut Samples,
        rows: &mut RowSink,
    ) -> Result<(), PathError> {
        let mut nobody = Samples::new(0);
        let samples = if self.connection.doubtful { &mut nobody } else { samples };
        let greeting = Greeting::of(ways);
        if let Some(making) =
            greeting.and_then(|greeting| self.making(&greeting)).filter(|_| is_used)
        {
            counts.connects += 1;
            rows.push(Row::of(&making, self.place, 0))?;
        }
        let of_first = ways.tally(0);
        let opens = greeting.is_none() && !of_first.forgotten && !of_first.began_before;
        let operations =
            self.matcher.has_operations && (0..4).any(|way| ways.tally(way).operations);
        let is_known = !is_used || operations;
        let multiplexed = if is_known { None } else { self.multiplexed(ways) };
        counts.multiplexed += u64::from(multiplexed.is_some());
        let exchanges =
            if is_known || multiplexed.is_some() { Vec::new() } else { self.exchanges(ways) };
        let gap = if multiplexed.is_some() { self.gap() } else { self.inner_gap(ways) };
        let multiplexed = multiplexed.as_ref();
        let treatment = Treatment { is_used, opens, operations, multiplexed, exchanges, gap };
        for direction in 0..2 {
            self.direction(ways, direction, &treatment, counts, samples, rows)?;
        }
        ways.check()
    }

    /// Whether both ends were recorded.
    fn both(&self) -> bool {
        self.connection.connecting != NONE && self.connection.accepting != NONE
    }

    /// Whether both ends were recorded by one kernel's clock.
    fn has_one_clock(&self) -> bool {
        let kernel =
            |socket: u32| self.matcher.sockets.get(socket as usize).map(|socket| socket.kernel);
        self.both() && kernel(self.connection.connecting) == kernel(self.connection.accepting)
    }

    /// The messages of one direction, before they are made fat. Where one end was recorded, each
    /// call is one.
    fn parts<'w>(
        &self,
        ways: &'w impl Ways,
        direction: usize,
    ) -> Parts<impl Iterator<Item = Transfer> + 'w, impl Iterator<Item = Transfer> + 'w> {
        let [sends, receives] = [2 * direction, 2 * direction + 1];
        let placed =
            self.both() && [sends, receives].iter().all(|way| ways.tally(*way).is_placed());
        Parts::new(ways.calls(sends), ways.calls(receives), placed)
    }

    fn direction(
        &self,
        ways: &impl Ways,
        direction: usize,
        treatment: &Treatment<'_>,
        counts: &mut Reconciliation,
        samples: &mut Samples,
        rows: &mut RowSink,
    ) -> Result<(), PathError> {
        let inside = Inside::of(&treatment.exchanges, direction);
        let [sends, receives] = [2 * direction, 2 * direction + 1];
        let turns =
            |way: usize| ways.calls(way).filter(|call| !call.is_forgotten()).map(|call| call.time);
        let (sends_back, receives_back) = (turns(2 - sends), turns(3 - sends));
        let mut parts = self.parts(ways, direction);
        let mut bytes = 0;
        let seen = parts.by_ref().inspect(|part| {
            bytes += part.bytes;
            self.sample(part, samples);
        });
        let gap = treatment.gap;
        // What the accepting side sends answers something.
        let factor = if direction == 1 { STALL_FACTOR } else { 1 };
        let pauses = Pauses { usual: gap, stalled: gap.max(self.gap().saturating_mul(factor)) };
        let operations = if treatment.operations { self.operations(ways, direction) } else { 0 };
        let is_unanswered = treatment.multiplexed.is_none()
            && operations == 0
            && self.is_unanswered(ways, direction);
        counts.unanswered += u64::from(is_unanswered);
        let (mut all, mut both, mut send_only) = (0, 0, 0);
        let units = treatment.multiplexed.map(|multiplexed| &multiplexed.units[direction]);
        let border = match treatment.multiplexed {
            Some(multiplexed) => Some(Border { is_border: multiplexed.is_border, units }),
            None => {
                is_unanswered.then_some(Border { is_border: unanswered::is_border, units: None })
            }
        };
        let merged = fat::merge(
            seen,
            (receives_back, sends_back),
            pauses,
            border,
            inside,
            self.has_one_clock(),
            operations,
        );
        let nothing = Units::default();
        for message in Cut::new(merged, units.unwrap_or(&nothing), gap) {
            let opens = all == 0 && direction == 0 && treatment.opens;
            all += 1;
            both += u64::from(message.sent.is_some() && message.received.is_some());
            send_only += u64::from(message.received.is_none());
            if treatment.is_used {
                let row = Row::of(&message, self.place, direction);
                let tells =
                    opens && Connecting::is_told_by(&message, self.end(self.connection.connecting));
                rows.push(if tells { row.opening() } else { row })?;
            }
        }
        if self.both() {
            let of = &mut counts.stream_bytes;
            of.sent_only += parts.unread;
            of.received_only += parts.unsent;
            of.matched += bytes - parts.unread - parts.unsent;
        }
        let [sent, received] = self.causes([sends, receives].map(|way| ways.tally(way)));
        let protocol = self.matcher.sockets[self.connection.socket() as usize].protocol;
        counts.both_ends += both;
        add(&mut counts.messages, protocol.name(), all);
        add(&mut counts.send_only, sent.name(), send_only);
        add(&mut counts.receive_only, received.name(), all - both - send_only);
        Ok(())
    }

    /// The making of the connection, where it was seen.
    fn making(&self, greeting: &Greeting) -> Option<FlowMessage> {
        greeting.making(self.end(self.connection.connecting), self.end(self.connection.accepting))
    }

    /// The socket at an end, where it was recorded.
    fn end(&self, place: u32) -> Option<&Socket> {
        self.matcher.sockets.get(place as usize)
    }

    /// What a message tells of the clocks of two hosts.
    fn sample(&self, part: &FlowMessage, samples: &mut Samples) {
        let processes = &self.matcher.capture.processes;
        let host = |process: u32| processes.get(process as usize).map_or(0, |process| process.host);
        if let (Some(sent), Some(received)) = (part.sent, part.received) {
            let (from, to) = (host(sent.process), host(received.process));
            if from != to {
                samples.add(from, to, sent.first, received.first);
            }
        }
    }

    /// Where bodies went both ways at once. Most connections have no bodies, and are not looked at
    /// any further.
    fn exchanges(&self, ways: &impl Ways) -> Vec<Exchange> {
        let tallies = [0, 1, 2, 3].map(|way| ways.tally(way));
        let is_whole = tallies.iter().all(|tally| !tally.forgotten);
        let is_large =
            |way: usize| tallies[way].largest.max(tallies[way + 1].largest) >= MIN_BODY_CALL_BYTES;
        if !is_whole || !is_large(0) || !is_large(2) {
            return Vec::new();
        }
        streaming::exchanges(self.parts(ways, 0), ways.calls(3), ways.calls(2))
    }

    /// What the connection is like if many calls go over it at once. Where no thread did anything
    /// else, mostly they do not, and it is not looked at any further.
    fn multiplexed(&self, ways: &impl Ways) -> Option<Multiplexed> {
        let tallies = [0, 1, 2, 3].map(|way| ways.tally(way));
        let is_whole = tallies.iter().all(|tally| !tally.forgotten);
        let end = usize::from(self.connection.connecting == NONE);
        let is_judged = is_whole && tallies.iter().any(|tally| tally.elsewhere);
        is_judged.then(|| judge::judge(self.parts(ways, 0), self.parts(ways, 1), end)).flatten()
    }

    /// Maximum time between the parts of a message, in nanoseconds, as the connection itself tells.
    /// Where no thread did anything else, nobody but one asks, and it is not looked at any further.
    fn inner_gap(&self, ways: &impl Ways) -> i64 {
        let tallies = [0, 1, 2, 3].map(|way| ways.tally(way));
        let is_whole = tallies.iter().all(|tally| !tally.forgotten);
        let is_judged = is_whole && tallies.iter().any(|tally| tally.elsewhere);
        let end = usize::from(self.connection.connecting == NONE);
        match is_judged {
            true => inner_gap::learn(self.parts(ways, 0), self.parts(ways, 1), end, self.gap()),
            false => self.gap(),
        }
    }

    /// Number of operations that begin in one direction, as the logs of both ends tell.
    fn operations(&self, ways: &impl Ways, direction: usize) -> u64 {
        self.parts(ways, direction).filter(FlowMessage::begins_operation).count() as u64
    }

    /// Maximum time between the parts of a message, in nanoseconds, unless the connection tells.
    fn gap(&self) -> i64 {
        i64::try_from(self.matcher.options.fat_gap.as_nanos()).unwrap_or(i64::MAX)
    }

    /// Whether nobody answers what is sent in that direction: by the accepting side, what it tells
    /// unasked.
    fn is_unanswered(&self, ways: &impl Ways, direction: usize) -> bool {
        let is_whole = [0, 1, 2, 3].iter().all(|way| !ways.tally(*way).forgotten);
        let [sends, receives, receives_back] =
            [2 * direction, 2 * direction + 1, 3 - 2 * direction];
        let [is_asked, is_told] = [direction == 0, ways.tally(receives).elsewhere];
        let counts = if is_asked { unanswered::is_border } else { unanswered::is_told };
        // Who is told something does not answer it, and asks for something else at last.
        let waits = [self.gap(), if is_asked { i64::MAX } else { self.gap() }];
        // Of what was not seen where it came, when it was sent.
        let is_seen = ways.tally(receives_back).calls || is_asked;
        let back = ways
            .calls(if is_seen { receives_back } else { receives_back - 1 })
            .map(|call| call.time);
        let seen =
            |part: &FlowMessage| part.sent.or(part.received.filter(|_| !is_asked && !is_seen));
        is_whole
            && (ways.tally(sends).elsewhere || !is_seen)
            && (is_asked || is_told)
            && unanswered::is_unanswered(self.parts(ways, direction), back, waits, counts, seen)
    }

    /// Between whom its messages go. Mostly the first one tells that it is not within a process.
    fn reach(&self, ways: &impl Ways) -> Reach {
        let sockets = self.matcher.sockets;
        let owner = |socket: u32| sockets.get(socket as usize).map_or(NONE, |socket| socket.owner);
        let owners = [owner(self.connection.connecting), owner(self.connection.accepting)];
        let mut callers = Callers::default();
        for direction in 0..2 {
            for part in self.parts(ways, direction) {
                let ends = [(part.sent, direction), (part.received, 1 - direction)];
                for (seen, end) in ends {
                    let process = seen.map_or(owners[end], |seen| seen.process);
                    callers.add(process, seen.map(|seen| seen.tid));
                }
                if callers.reach() == Reach::Processes {
                    return Reach::Processes;
                }
            }
        }
        callers.reach()
    }

    /// Why messages have no receive, and why they have no send.
    fn causes(&self, [sends, receives]: [Tally; 2]) -> [Cause; 2] {
        let cause = |other: Tally, otherwise| match other {
            _ if other.by_log => Cause::Forgotten,
            _ if other.forgotten || other.began_before => Cause::NotRecorded,
            _ => otherwise,
        };
        match self.connection.cause {
            Cause::Nothing => [cause(receives, Cause::Unread), cause(sends, Cause::Unsent)],
            cause => [cause, cause],
        }
    }
}
