//! The messages of the connections of one partition: both directions of each are matched and made fat.

use std::ops::Range;

use crate::calls::{Part, StreamCall, Transfer};
use crate::capture::{Capture, NONE};
use crate::cause::Cause;
use crate::clocks::Samples;
use crate::connections::Connection;
use crate::fat;
use crate::options::Options;
use crate::reconciliation::{Reconciliation, add};
use crate::rows::Row;
use crate::socket::Socket;
use crate::streams;

/// What matching needs to know of all connections.
pub(crate) struct StreamMatcher<'a> {
    pub(crate) capture: &'a Capture,
    pub(crate) sockets: &'a [Socket],
    pub(crate) connections: &'a [Connection],
    /// The connection of each socket.
    pub(crate) connection_of: &'a [u32],
    pub(crate) options: &'a Options,
}

/// What came of the connections of one partition. The slot of a row is its connection's place.
pub(crate) struct MatchedStreams {
    pub(crate) rows: Vec<Row>,
    /// Which of the connections have messages.
    pub(crate) used: Vec<bool>,
    pub(crate) counts: Reconciliation,
}

/// Where the sends and the receives of each direction of each connection are among the calls of a partition.
struct Ways {
    calls: Vec<Transfer>,
    /// By connection and direction, first the sends, then the receives: where each ends.
    ends: Vec<u32>,
}

impl Ways {
    fn range(&self, way: usize) -> Range<usize> {
        let begin = way.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(way).copied().unwrap_or(begin);
        begin as usize..end as usize
    }

    fn get(&self, way: usize) -> &[Transfer] {
        self.calls.get(self.range(way)).unwrap_or(&[])
    }

    /// Puts the calls of a way into the order of time; equal times stay as they are.
    fn order(&mut self, way: usize) {
        let range = self.range(way);
        let calls = self.calls.get_mut(range).unwrap_or(&mut []);
        if !calls.is_sorted_by_key(|call| call.time) {
            calls.sort_by_key(|call| call.time);
        }
    }
}

impl StreamMatcher<'_> {
    /// Matches the calls, in the order of logs and records, of the connections in `range`.
    pub(crate) fn partition(
        &self,
        range: Range<u32>,
        calls: Vec<Vec<StreamCall>>,
        samples: &mut Samples,
    ) -> MatchedStreams {
        let mut ways = self.by_way(&range, calls);
        let mut matched = MatchedStreams {
            rows: Vec::new(),
            used: Vec::with_capacity(range.len()),
            counts: Reconciliation::default(),
        };
        for (local, connection) in range.clone().enumerate() {
            for way in 0..4 {
                ways.order(4 * local + way);
            }
            let parts = self.parts(connection, local, &ways, &mut matched.counts, samples);
            let forgotten = [0, 1].map(|direction| {
                [0, 1]
                    .map(|side| ways.get(4 * local + 2 * direction + side).iter().any(Transfer::is_forgotten))
            });
            if local + 1 == range.len() {
                // A connection that fills a partition is its last, and may be as large as memory is.
                ways.calls = Vec::new();
            }
            let used = self.connection(connection, parts, forgotten, &mut matched);
            matched.used.push(used);
        }
        matched
    }

    /// Puts calls that belong together side by side, those of each way in their present order.
    fn by_way(&self, range: &Range<u32>, calls: Vec<Vec<StreamCall>>) -> Ways {
        let way = |call: &StreamCall| {
            let socket = call.socket >> 1;
            let connection = self.connection_of.get(socket as usize).copied().unwrap_or(NONE);
            let accepting = self.connections.get(connection as usize).is_some_and(|c| c.accepting == socket);
            let (received, accepting) = (call.socket as usize & 1, usize::from(accepting));
            4 * connection.wrapping_sub(range.start) as usize + 2 * (accepting ^ received) + received
        };
        let mut places = vec![0u32; 4 * range.len()];
        calls.iter().flatten().for_each(|call| {
            if let Some(place) = places.get_mut(way(call)) {
                *place += 1;
            }
        });
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        let nothing = Transfer { time: 0, bytes: 0, process: 0, tid: 0 };
        let mut sorted = vec![nothing; sum as usize];
        for call in calls.into_iter().flatten() {
            let Some(place) = places.get_mut(way(&call)) else { continue };
            if let Some(slot) = sorted.get_mut(*place as usize) {
                *slot = call.transfer();
            }
            *place += 1;
        }
        // Each place has moved to the end of its way.
        Ways { calls: sorted, ends: places }
    }

    /// The messages of both directions of one connection.
    fn parts(
        &self,
        place: u32,
        local: usize,
        ways: &Ways,
        counts: &mut Reconciliation,
        samples: &mut Samples,
    ) -> [Vec<Part>; 2] {
        let connection = &self.connections[place as usize];
        let both = connection.connecting != NONE && connection.accepting != NONE;
        let mut nobody = Samples::new(0);
        let samples = if connection.doubtful { &mut nobody } else { samples };
        [0, 1].map(|direction| {
            let [sends, receives] = [0, 1].map(|received| ways.get(4 * local + 2 * direction + received));
            match both {
                true => self.both_ends(sends, receives, counts, samples),
                false if sends.is_empty() => streams::received_only(receives),
                false => streams::sent_only(sends),
            }
        })
    }

    /// Adds the messages of one connection, made fat; whether it has any. Of each direction's sends and receives it is
    /// known whether some were `forgotten`.
    fn connection(
        &self,
        place: u32,
        parts: [Vec<Part>; 2],
        forgotten: [[bool; 2]; 2],
        matched: &mut MatchedStreams,
    ) -> bool {
        let connection = &self.connections[place as usize];
        let both = connection.connecting != NONE && connection.accepting != NONE;
        if parts.iter().all(Vec::is_empty) {
            return false;
        }
        if !both {
            add(&mut matched.counts.unmatched_streams, connection.cause.name(), 1);
        }
        let gap = i64::try_from(self.options.fat_gap.as_nanos()).unwrap_or(i64::MAX);
        let parts = fat::merge(parts, gap);
        if both && !self.options.keep_internal && self.is_internal(&parts, connection) {
            matched.counts.internal.flows += 1;
            matched.counts.internal.messages += parts.iter().map(|parts| parts.len() as u64).sum::<u64>();
            return false;
        }
        matched.rows.reserve(parts.iter().map(Vec::len).sum());
        for (direction, parts) in parts.iter().enumerate() {
            matched.rows.extend(parts.iter().map(|part| Row::of(part, place, direction)));
            self.count(parts, connection, forgotten[direction], &mut matched.counts);
        }
        true
    }

    fn both_ends(
        &self,
        sends: &[Transfer],
        receives: &[Transfer],
        counts: &mut Reconciliation,
        samples: &mut Samples,
    ) -> Vec<Part> {
        let streams::Matched { parts, unread, unsent } = streams::match_stream(sends, receives);
        let bytes = &mut counts.stream_bytes;
        bytes.sent_only += unread;
        bytes.received_only += unsent;
        let all: u64 = parts.iter().map(|part| part.bytes).sum();
        bytes.matched += all - unread - unsent;
        let host =
            |process: u32| self.capture.processes.get(process as usize).map_or(0, |process| process.host);
        for part in &parts {
            if let (Some(sent), Some(received)) = (part.sent, part.received) {
                let (from, to) = (host(sent.process), host(received.process));
                if from != to {
                    samples.add(from, to, sent.first, received.first);
                }
            }
        }
        parts
    }

    /// Whether one process made all the sends and all the receives: it only talked to itself.
    fn is_internal(&self, parts: &[Vec<Part>; 2], connection: &Connection) -> bool {
        let owner = |socket: u32| self.sockets.get(socket as usize).map_or(NONE, |socket| socket.owner);
        let owners = [owner(connection.connecting), owner(connection.accepting)];
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

    fn count(
        &self,
        parts: &[Part],
        connection: &Connection,
        [sends_forgotten, receives_forgotten]: [bool; 2],
        counts: &mut Reconciliation,
    ) {
        let protocol = self.sockets[connection.socket() as usize].protocol;
        let (sent, received) = match connection.cause {
            Cause::Nothing => (
                if receives_forgotten { Cause::Forgotten } else { Cause::Unread },
                if sends_forgotten { Cause::Forgotten } else { Cause::Unsent },
            ),
            cause => (cause, cause),
        };
        let both = parts.iter().filter(|part| part.sent.is_some() && part.received.is_some()).count() as u64;
        let send_only = parts.iter().filter(|part| part.received.is_none()).count() as u64;
        counts.both_ends += both;
        add(&mut counts.messages, protocol.name(), parts.len() as u64);
        add(&mut counts.send_only, sent.name(), send_only);
        add(&mut counts.receive_only, received.name(), parts.len() as u64 - both - send_only);
    }
}
