//! The second pass over the captures of one sniffer: connections and datagrams become the logs of
//! the hosts that are timed by this sniffer.

use message_trace::{DataDir, DataPath, Progress};
use rustc_hash::FxHashMap;
use socket_log::encode::{Direction, Role};

use super::flow::{Key, is_for_many};
use super::headers::{End, Packet, Tcp, Transport};
use super::logs::{FlowRef, Logs};
use super::plan::Plan;
use super::sniffer::{Sighting, Sniffer, read_once};
use super::tcp::{Event, Half, Oddities, Segment};
use crate::error::Error;
use crate::tuning::{CLOSED_KEPT_NS, MAX_FOLLOWED, RESTING_KEPT_NS, SWEEP_NS};

/// What a sniffer's second pass made.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    pub(crate) logs: Vec<DataPath>,
    pub(crate) records: u64,
    pub(crate) odd: Oddities,
    /// Connections that were joined in their middle.
    pub(crate) joined: u64,
    /// Connections that were given up, as there were too many at once.
    pub(crate) given_up: u64,
    /// Connections that no data was seen of, so that they are in no log.
    pub(crate) empty: u64,
    /// Packets neither of whose addresses is a host's: to all, from nobody yet.
    pub(crate) homeless: u64,
}

/// Writes the logs of the hosts that `plan` has timed by `sniffer`, whose number is `number`.
pub(crate) fn replay(
    sniffer: &Sniffer,
    number: u32,
    plan: &Plan,
    data: Option<&DataDir>,
    progress: &dyn Progress,
) -> Result<Replayed, Error> {
    let mut replay = Replay::new(number, plan, Logs::new(data, &sniffer.name));
    let canonical = |packet: &mut Packet| {
        let names = (packet.source, packet.destination, packet.transport == Transport::Udp);
        if let Some((source, destination)) = plan.translations.of(&names) {
            (packet.source, packet.destination) = (source, destination);
        }
    };
    read_once(sniffer, progress, canonical, |seen| replay.packet(seen))?;
    replay.finish()
}

struct Replay<'a> {
    sniffer: u32,
    plan: &'a Plan,
    logs: Logs,
    connections: FxHashMap<Key, Connection>,
    sockets: FxHashMap<End, Socket>,
    /// Keys of connections that began once: places in the plan's starts count for the first only.
    started: FxHashMap<Key, ()>,
    events: Vec<Event>,
    swept: i64,
    result: Replayed,
}

struct Socket {
    flow: FlowRef,
    last: i64,
}

/// A connection: the stream of each end to the other.
#[derive(Default)]
struct Connection {
    halves: [Half; 2],
    /// The sockets of both ends, where they are this sniffer's and have moved data.
    flows: [Option<FlowRef>; 2],
    /// Whether packets of each end were seen.
    seen: [bool; 2],
    connector: Option<usize>,
    first: i64,
    last: i64,
    reset: bool,
}

impl Connection {
    fn is_closed(&self) -> bool {
        self.reset || self.halves.iter().all(Half::is_finished)
    }
}

impl<'a> Replay<'a> {
    fn new(sniffer: u32, plan: &'a Plan, logs: Logs) -> Replay<'a> {
        Replay {
            sniffer,
            plan,
            logs,
            connections: FxHashMap::default(),
            sockets: FxHashMap::default(),
            started: FxHashMap::default(),
            events: Vec::new(),
            swept: i64::MIN,
            result: Replayed::default(),
        }
    }

    fn packet(&mut self, seen: &Sighting) -> Result<(), Error> {
        let packet = seen.packet;
        self.sweep(packet.time)?;
        let (key, sender) = Key::of(packet);
        let mine = |end: End| self.plan.timed_by(end.0, self.sniffer).is_some();
        if !key.ends.into_iter().any(mine) {
            let is_known = |end: End| self.plan.host_of(end.0, self.sniffer).is_some();
            self.result.homeless += u64::from(!key.ends.into_iter().any(is_known));
            return Ok(());
        }
        match packet.transport {
            Transport::Tcp(tcp) => self.segment(packet, &tcp, key, sender),
            Transport::Udp => self.datagram(packet, seen.checksum),
        }
    }

    fn datagram(&mut self, packet: &Packet, checksum: u32) -> Result<(), Error> {
        let whole = packet.payload.len() as u32 == packet.bytes;
        let what = (packet.bytes, checksum, whole);
        let (source, destination) = (packet.source, packet.destination);
        for (own, peer, direction) in
            [(source, destination, Direction::Send), (destination, source, Direction::Receive)]
        {
            if is_for_many(own.0) {
                continue;
            }
            let Some(host) = self.plan.timed_by(own.0, self.sniffer) else { continue };
            let logs = &mut self.logs;
            let socket = self.sockets.entry(own).or_insert_with(|| Socket {
                flow: logs.socket(host, own, packet.time),
                last: packet.time,
            });
            socket.last = packet.time;
            logs.datagram(socket.flow, direction, packet.time, peer, what)?;
        }
        Ok(())
    }

    fn segment(
        &mut self,
        packet: &Packet,
        tcp: &Tcp,
        key: Key,
        sender: usize,
    ) -> Result<(), Error> {
        let time = packet.time;
        if tcp.has(Tcp::SYN) {
            let begin = tcp.sequence.wrapping_add(1);
            let another = |connection: &Connection| {
                let half = &connection.halves[sender];
                half.begins_elsewhere(begin)
                    && (connection.is_closed()
                        || !tcp.has(Tcp::ACK)
                        || connection.connector == Some(sender))
            };
            if self
                .connections
                .get(&key)
                .is_some_and(|c| another(c) && !self.plan.starts.contains_key(&key))
            {
                self.close(key)?;
            }
        }
        let plan = self.plan;
        let connection = self.connections.entry(key).or_insert_with(|| {
            let mut connection = Connection { first: time, last: time, ..Connection::default() };
            let start = plan.starts.get(&key).filter(|_| self.started.insert(key, ()).is_none());
            for (half, start) in connection.halves.iter_mut().zip(start.into_iter().flatten()) {
                if let Some(start) = *start {
                    half.begin(start);
                }
            }
            self.result.joined += u64::from(!tcp.has(Tcp::SYN));
            connection
        });
        connection.last = connection.last.max(time);
        connection.seen[sender] = true;
        if tcp.has(Tcp::SYN) {
            connection.connector.get_or_insert(if tcp.has(Tcp::ACK) { 1 - sender } else { sender });
            connection.halves[sender].begin(tcp.sequence.wrapping_add(1));
        }
        let near = key
            .ends
            .map(|end| plan.timed_by(end.0, self.sniffer).is_some_and(|(_, host)| host.near));
        for half in 0..2 {
            connection.halves[half].tick(time, near[1 - half], &mut self.events);
            write(&mut self.logs, plan, self.sniffer, connection, key, half, &mut self.events)?;
        }
        if tcp.has(Tcp::ACK) && !(tcp.has(Tcp::RST) && tcp.acknowledged == 0) {
            connection.halves[1 - sender].acknowledge(tcp.acknowledged, time, &mut self.events);
            write(
                &mut self.logs,
                plan,
                self.sniffer,
                connection,
                key,
                1 - sender,
                &mut self.events,
            )?;
        }
        // What a reset carries is for people.
        if packet.bytes > 0 && !tcp.has(Tcp::RST) {
            let sequence = tcp.sequence.wrapping_add(u32::from(tcp.has(Tcp::SYN)));
            let (bytes, push, near) = (packet.bytes, tcp.has(Tcp::PUSH), near[1 - sender]);
            let segment = Segment { time, sequence, bytes, push, near };
            let new = connection.halves[sender].segment(&segment, &mut self.events);
            write(&mut self.logs, plan, self.sniffer, connection, key, sender, &mut self.events)?;
            if new {
                connection.halves[1 - sender].turn(&mut self.events);
                write(
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
        if tcp.has(Tcp::FIN) {
            let bytes = packet.bytes + u32::from(tcp.has(Tcp::SYN));
            connection.halves[sender].finish(tcp.sequence.wrapping_add(bytes));
        }
        connection.reset |= tcp.has(Tcp::RST);
        Ok(())
    }

    /// Ends a connection: what was held back is written.
    fn close(&mut self, key: Key) -> Result<(), Error> {
        let Some(mut connection) = self.connections.remove(&key) else { return Ok(()) };
        for half in 0..2 {
            let to = 1 - half;
            let host = self.plan.timed_by(key.ends[to].0, self.sniffer);
            let near = host.is_some_and(|(_, host)| host.near);
            let answered = connection.seen[to];
            connection.halves[half].close(near, answered, &mut self.events);
            write(
                &mut self.logs,
                self.plan,
                self.sniffer,
                &mut connection,
                key,
                half,
                &mut self.events,
            )?;
            let Oddities { repeated, missed, unacknowledged, impossible } =
                connection.halves[half].odd;
            let sum = &mut self.result.odd;
            sum.repeated += repeated;
            sum.missed += missed;
            // Whether they arrived is asked where the receiver is timed.
            sum.unacknowledged += if host.is_some() { unacknowledged } else { 0 };
            sum.impossible += impossible;
        }
        self.result.empty += u64::from(connection.flows == [None; 2]);
        for flow in connection.flows.into_iter().flatten() {
            self.logs.close(flow, connection.last);
        }
        Ok(())
    }

    /// Ends the connections that are over, and forgets sockets that nothing is heard of; sooner
    /// where there are many.
    fn sweep(&mut self, now: i64) -> Result<(), Error> {
        let mut full = self.connections.len().max(self.sockets.len()) >= MAX_FOLLOWED;
        if !full
            && now.saturating_sub(self.swept) < SWEEP_NS
            && now >= self.swept.saturating_sub(SWEEP_NS)
        {
            return Ok(());
        }
        self.swept = now;
        let (mut linger, mut idle) = (CLOSED_KEPT_NS, RESTING_KEPT_NS);
        loop {
            let over = |connection: &Connection| {
                let rest = now.saturating_sub(connection.last);
                rest > idle || (rest > linger && connection.is_closed())
            };
            let keys = self.connections.iter().filter(|(_, connection)| over(connection));
            let mut keys: Vec<Key> = keys.map(|(key, _)| *key).collect();
            // In an order that is the connections' own, that equal captures give equal logs.
            keys.sort_unstable();
            for key in keys {
                self.result.given_up += u64::from(full && !self.connections[&key].is_closed());
                self.close(key)?;
            }
            let mut sockets: Vec<End> = self
                .sockets
                .iter()
                .filter(|(_, socket)| now.saturating_sub(socket.last) > idle)
                .map(|(end, _)| *end)
                .collect();
            sockets.sort_unstable();
            for end in sockets {
                if let Some(socket) = self.sockets.remove(&end) {
                    self.logs.close(socket.flow, socket.last);
                }
            }
            full = self.connections.len().max(self.sockets.len()) >= MAX_FOLLOWED / 4 * 3;
            if !full || idle < 0 {
                return Ok(());
            }
            (linger, idle) = (linger / 8, if idle > 1_000_000 { idle / 8 } else { -1 });
        }
    }

    fn finish(mut self) -> Result<Replayed, Error> {
        let mut keys: Vec<Key> = self.connections.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            self.close(key)?;
        }
        self.result.records = self.logs.records;
        self.result.logs = self.logs.finish()?;
        Ok(self.result)
    }
}

/// Writes what became known of the stream of end number `half`: its sends to that end's log, its
/// arrivals to the other's.
fn write(
    logs: &mut Logs,
    plan: &Plan,
    sniffer: u32,
    connection: &mut Connection,
    key: Key,
    half: usize,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    for event in events.drain(..) {
        let (end, direction, time, bytes) = match event {
            Event::Sent { time, bytes } => (half, Direction::Send, time, bytes),
            Event::Arrived { time, bytes } => (1 - half, Direction::Receive, time, bytes),
        };
        let Some(host) = plan.timed_by(key.ends[end].0, sniffer) else { continue };
        let flow = match connection.flows[end] {
            Some(flow) => flow,
            None => {
                let role = match connection.connector {
                    Some(connector) if connector == end => Role::Connect,
                    Some(_) => Role::Accept,
                    None => Role::Unknown,
                };
                let ends = [key.ends[end], key.ends[1 - end]];
                if role == Role::Unknown && host.1.listening.contains(&ends[0].1) {
                    logs.listening(host, ends[0], connection.first);
                }
                let flow = logs.connection(host, ends, role, connection.first);
                connection.flows[end] = Some(flow);
                flow
            }
        };
        logs.transfer(flow, direction, time, bytes)?;
    }
    Ok(())
}
