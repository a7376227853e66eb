//! Replay of one sniffer's captures, the second pass: connections and datagrams become the logs of
//! the hosts that are timed by this sniffer.

use message_trace::{DataDir, DataPath, Progress};
use rustc_hash::FxHashMap;
use socket_log::encode::{Direction, FlowRole};

use super::flow::{PacketFlowKey, is_group_address};
use super::headers::{Packet, PacketEnd, TcpHeader, Transport};
use super::logs::{FlowRef, SnifferLogs};
use super::plan::CapturePlan;
use super::sniffer::{Sighting, Sniffer, read_without_copies};
use super::tcp::{DataSegment, HalfStream, StreamEvent, StreamOddities};
use crate::error::Error;
use crate::tuning::{CLOSED_KEPT_NS, IDLE_CONNECTION_KEPT_NS, MAX_FOLLOWED, SWEEP_NS};

/// Result of a sniffer's second pass.
#[derive(Debug, Default)]
pub(crate) struct ReplayResult {
    pub(crate) logs: Vec<DataPath>,
    pub(crate) records: u64,
    /// Bytes of streams that are odd, by kind.
    pub(crate) odd: StreamOddities,
    /// Number of midstream connections.
    pub(crate) midstream: u64,
    /// Number of connections that were given up because too many were open.
    pub(crate) given_up: u64,
    /// Number of connections without data, which are in no log.
    pub(crate) empty: u64,
    /// Number of packets with no host at either address: broadcasts, or before an address is
    /// assigned.
    pub(crate) homeless: u64,
}

/// Writes the logs of the hosts that get their times from the clock of `sniffer` according to
/// `plan`. `number` is the number of the sniffer.
pub(crate) fn replay_sniffer(
    sniffer: &Sniffer,
    number: u32,
    plan: &CapturePlan,
    data: Option<&DataDir>,
    progress: &dyn Progress,
) -> Result<ReplayResult, Error> {
    let mut replay = SnifferReplay::new(number, plan, SnifferLogs::new(data, &sniffer.name));
    // A connection through an address translation is one connection: between the own names of its
    // ends.
    let canonical = |packet: &mut Packet| {
        let names = (packet.source, packet.destination, packet.transport == Transport::Udp);
        if let Some((source, destination)) = plan.translations.own_names(&names) {
            (packet.source, packet.destination) = (source, destination);
        }
    };
    read_without_copies(sniffer, progress, canonical, |seen| replay.add_packet(seen))?;
    replay.finish()
}

struct SnifferReplay<'a> {
    sniffer: u32,
    plan: &'a CapturePlan,
    logs: SnifferLogs,
    connections: FxHashMap<PacketFlowKey, TcpConnection>,
    sockets: FxHashMap<PacketEnd, UdpSocketState>,
    /// Keys of connections that were seen before: the plan's `starts` apply only to the first
    /// connection of a key.
    started: FxHashMap<PacketFlowKey, ()>,
    events: Vec<StreamEvent>,
    /// Time of the latest search for idle connections, in nanoseconds.
    swept: i64,
    result: ReplayResult,
}

struct UdpSocketState {
    flow: FlowRef,
    last: i64,
}

/// A connection: the stream from each end to the other.
#[derive(Default)]
struct TcpConnection {
    halves: [HalfStream; 2],
    /// Sockets of both ends, if this sniffer times the ends and the sockets have transferred data.
    flows: [Option<FlowRef>; 2],
    /// Whether packets of each end were seen.
    seen: [bool; 2],
    /// End that connected, as an index of the key's ends; `None` if it is not known.
    connector: Option<usize>,
    first: i64,
    last: i64,
    reset: bool,
}

impl TcpConnection {
    fn is_closed(&self) -> bool {
        self.reset || self.halves.iter().all(HalfStream::is_finished)
    }
}

impl<'a> SnifferReplay<'a> {
    fn new(sniffer: u32, plan: &'a CapturePlan, logs: SnifferLogs) -> SnifferReplay<'a> {
        SnifferReplay {
            sniffer,
            plan,
            logs,
            connections: FxHashMap::default(),
            sockets: FxHashMap::default(),
            started: FxHashMap::default(),
            events: Vec::new(),
            swept: i64::MIN,
            result: ReplayResult::default(),
        }
    }

    fn add_packet(&mut self, seen: &Sighting) -> Result<(), Error> {
        let packet = seen.packet;
        self.close_idle(packet.time)?;
        let (key, sender) = PacketFlowKey::from_packet(packet);
        let mine = |end: PacketEnd| self.plan.timed_by(end.0, self.sniffer).is_some();
        if !key.ends.into_iter().any(mine) {
            let is_known = |end: PacketEnd| self.plan.host_of(end.0, self.sniffer).is_some();
            self.result.homeless += u64::from(!key.ends.into_iter().any(is_known));
            return Ok(());
        }
        match packet.transport {
            Transport::Tcp(tcp) => self.add_segment(packet, &tcp, key, sender),
            Transport::Udp => self.add_datagram(packet, seen.checksum),
        }
    }

    fn add_datagram(&mut self, packet: &Packet, checksum: u32) -> Result<(), Error> {
        let whole = packet.payload.len() as u32 == packet.bytes;
        let what = (packet.bytes, checksum, whole);
        let (source, destination) = (packet.source, packet.destination);
        for (own, peer, direction) in
            [(source, destination, Direction::Send), (destination, source, Direction::Receive)]
        {
            if is_group_address(own.0) {
                continue;
            }
            let Some(host) = self.plan.timed_by(own.0, self.sniffer) else { continue };
            let logs = &mut self.logs;
            let socket = self.sockets.entry(own).or_insert_with(|| UdpSocketState {
                flow: logs.open_datagram_socket(host, own, packet.time),
                last: packet.time,
            });
            socket.last = packet.time;
            logs.write_datagram(socket.flow, direction, packet.time, peer, what)?;
        }
        Ok(())
    }

    fn add_segment(
        &mut self,
        packet: &Packet,
        tcp: &TcpHeader,
        key: PacketFlowKey,
        sender: usize,
    ) -> Result<(), Error> {
        let time = packet.time;
        if tcp.has_flag(TcpHeader::SYN) {
            let begin = tcp.sequence.wrapping_add(1);
            let another = |connection: &TcpConnection| {
                let half = &connection.halves[sender];
                half.begins_elsewhere(begin)
                    && (connection.is_closed()
                        || !tcp.has_flag(TcpHeader::ACK)
                        || connection.connector == Some(sender))
            };
            if self
                .connections
                .get(&key)
                .is_some_and(|c| another(c) && !self.plan.starts.contains_key(&key))
            {
                self.close_connection(key)?;
            }
        }
        let plan = self.plan;
        let connection = self.connections.entry(key).or_insert_with(|| {
            let mut connection =
                TcpConnection { first: time, last: time, ..TcpConnection::default() };
            let start = plan.starts.get(&key).filter(|_| self.started.insert(key, ()).is_none());
            for (half, start) in connection.halves.iter_mut().zip(start.into_iter().flatten()) {
                if let Some(start) = *start {
                    half.begin_at(start);
                }
            }
            self.result.midstream += u64::from(!tcp.has_flag(TcpHeader::SYN));
            connection
        });
        connection.last = connection.last.max(time);
        connection.seen[sender] = true;
        if tcp.has_flag(TcpHeader::SYN) {
            connection.connector.get_or_insert(if tcp.has_flag(TcpHeader::ACK) {
                1 - sender
            } else {
                sender
            });
            connection.halves[sender].begin_at(tcp.sequence.wrapping_add(1));
        }
        let near = key
            .ends
            .map(|end| plan.timed_by(end.0, self.sniffer).is_some_and(|(_, host)| host.near));
        for half in 0..2 {
            connection.halves[half].advance_time(time, near[1 - half], &mut self.events);
            write_stream_events(
                &mut self.logs,
                plan,
                self.sniffer,
                connection,
                key,
                half,
                &mut self.events,
            )?;
        }
        if tcp.has_flag(TcpHeader::ACK) && !(tcp.has_flag(TcpHeader::RST) && tcp.acknowledged == 0)
        {
            connection.halves[1 - sender].acknowledge_until(
                tcp.acknowledged,
                time,
                &mut self.events,
            );
            write_stream_events(
                &mut self.logs,
                plan,
                self.sniffer,
                connection,
                key,
                1 - sender,
                &mut self.events,
            )?;
        }
        // The payload of a reset explains it in words, and is not part of the stream.
        if packet.bytes > 0 && !tcp.has_flag(TcpHeader::RST) {
            let sequence = tcp.sequence.wrapping_add(u32::from(tcp.has_flag(TcpHeader::SYN)));
            let (bytes, push, near) =
                (packet.bytes, tcp.has_flag(TcpHeader::PUSH), near[1 - sender]);
            let segment = DataSegment { time, sequence, bytes, push, near };
            let new = connection.halves[sender].add_segment(&segment, &mut self.events);
            write_stream_events(
                &mut self.logs,
                plan,
                self.sniffer,
                connection,
                key,
                sender,
                &mut self.events,
            )?;
            if new {
                connection.halves[1 - sender].end_message(&mut self.events);
                write_stream_events(
                    &mut self.logs,
                    plan,
                    self.sniffer,
                    connection,
                    key,
                    1 - sender,
                    &mut self.events,
                )?;
            }
        }
        if tcp.has_flag(TcpHeader::FIN) {
            let bytes = packet.bytes + u32::from(tcp.has_flag(TcpHeader::SYN));
            connection.halves[sender].finish_at(tcp.sequence.wrapping_add(bytes));
        }
        connection.reset |= tcp.has_flag(TcpHeader::RST);
        Ok(())
    }

    /// Ends a connection and writes its pending events.
    fn close_connection(&mut self, key: PacketFlowKey) -> Result<(), Error> {
        let Some(mut connection) = self.connections.remove(&key) else { return Ok(()) };
        for half in 0..2 {
            let to = 1 - half;
            let host = self.plan.timed_by(key.ends[to].0, self.sniffer);
            let near = host.is_some_and(|(_, host)| host.near);
            let answered = connection.seen[to];
            connection.halves[half].close_stream(near, answered, &mut self.events);
            write_stream_events(
                &mut self.logs,
                self.plan,
                self.sniffer,
                &mut connection,
                key,
                half,
                &mut self.events,
            )?;
            let StreamOddities { repeated, missed, unacknowledged, impossible } =
                connection.halves[half].odd;
            let sum = &mut self.result.odd;
            sum.repeated += repeated;
            sum.missed += missed;
            // The packets' arrival is determined by the sniffer that times the receiver.
            sum.unacknowledged += if host.is_some() { unacknowledged } else { 0 };
            sum.impossible += impossible;
        }
        self.result.empty += u64::from(connection.flows == [None; 2]);
        for flow in connection.flows.into_iter().flatten() {
            self.logs.close_socket(flow, connection.last);
        }
        Ok(())
    }

    /// Closes connections that have ended or are idle, and idle sockets; sooner if there are many.
    fn close_idle(&mut self, now: i64) -> Result<(), Error> {
        let mut full = self.connections.len().max(self.sockets.len()) >= MAX_FOLLOWED;
        if !full
            && now.saturating_sub(self.swept) < SWEEP_NS
            && now >= self.swept.saturating_sub(SWEEP_NS)
        {
            return Ok(());
        }
        self.swept = now;
        let (mut linger, mut idle) = (CLOSED_KEPT_NS, IDLE_CONNECTION_KEPT_NS);
        loop {
            let over = |connection: &TcpConnection| {
                let rest = now.saturating_sub(connection.last);
                rest > idle || (rest > linger && connection.is_closed())
            };
            let keys = self.connections.iter().filter(|(_, connection)| over(connection));
            let mut keys: Vec<PacketFlowKey> = keys.map(|(key, _)| *key).collect();
            // Sorted, so that equal captures give equal logs.
            keys.sort_unstable();
            for key in keys {
                self.result.given_up += u64::from(full && !self.connections[&key].is_closed());
                self.close_connection(key)?;
            }
            let mut sockets: Vec<PacketEnd> = self
                .sockets
                .iter()
                .filter(|(_, socket)| now.saturating_sub(socket.last) > idle)
                .map(|(end, _)| *end)
                .collect();
            sockets.sort_unstable();
            for end in sockets {
                if let Some(socket) = self.sockets.remove(&end) {
                    self.logs.close_socket(socket.flow, socket.last);
                }
            }
            full = self.connections.len().max(self.sockets.len()) >= MAX_FOLLOWED / 4 * 3;
            if !full || idle < 0 {
                return Ok(());
            }
            (linger, idle) = (linger / 8, if idle > 1_000_000 { idle / 8 } else { -1 });
        }
    }

    fn finish(mut self) -> Result<ReplayResult, Error> {
        let mut keys: Vec<PacketFlowKey> = self.connections.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            self.close_connection(key)?;
        }
        self.result.records = self.logs.records;
        self.result.logs = self.logs.finish()?;
        Ok(self.result)
    }
}

/// Writes the new events of the stream of end number `half`: its sends to that end's log, its
/// arrivals to the other end's.
fn write_stream_events(
    logs: &mut SnifferLogs,
    plan: &CapturePlan,
    sniffer: u32,
    connection: &mut TcpConnection,
    key: PacketFlowKey,
    half: usize,
    events: &mut Vec<StreamEvent>,
) -> Result<(), Error> {
    for event in events.drain(..) {
        let (end, direction, time, bytes) = match event {
            StreamEvent::Sent { time, bytes } => (half, Direction::Send, time, bytes),
            StreamEvent::Arrived { time, bytes } => (1 - half, Direction::Receive, time, bytes),
        };
        let Some(host) = plan.timed_by(key.ends[end].0, sniffer) else { continue };
        let flow = match connection.flows[end] {
            Some(flow) => flow,
            None => {
                let role = match connection.connector {
                    Some(connector) if connector == end => FlowRole::Connect,
                    Some(_) => FlowRole::Accept,
                    None => FlowRole::Unknown,
                };
                let ends = [key.ends[end], key.ends[1 - end]];
                if role == FlowRole::Unknown && host.1.listening.contains(&ends[0].1) {
                    logs.open_listener(host, ends[0], connection.first);
                }
                let flow = logs.open_connection(host, ends, role, connection.first);
                connection.flows[end] = Some(flow);
                flow
            }
        };
        logs.write_transfer(flow, direction, time, bytes)?;
    }
    Ok(())
}
