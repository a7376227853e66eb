//! One connection through a translation: its messages, and the view of each traced end by its own
//! clock.

use std::net::{IpAddr, SocketAddr};

use reconcile::translation::{
    FlowDirectionSummary, FlowTurn, HalfFlow, HalfFlowSide, PrefixChecksum, TURNS,
};

use super::random::Random;
use super::system::{Kind, Maker, Service, Sizes};

const BASE: f64 = 1.7e18;

/// Request for a connection: to `service` from `local`, and the client's host and process if
/// traced. It is the `number`-th, which selects the backend, and its sizes are seeded by `sizes`.
#[derive(Clone, Copy)]
pub struct ConnectionRequest<'a> {
    pub service: &'a Service,
    pub local: IpAddr,
    pub traced: Option<(u32, u32)>,
    pub time: f64,
    pub number: u64,
    pub sizes: u64,
}

/// A message: whether it is from the client, its bytes, the times when it was sent and received.
type Sent = (bool, u64, f64, f64);

/// Events of a connection: its messages, its end, and the contents at the beginning of its
/// directions.
struct ConnectionEvents {
    messages: Vec<Sent>,
    over: f64,
    contents: [u64; 2],
}

/// One end of a connection, with the names that it knows, and the time when it was made there.
struct End {
    side: HalfFlowSide,
    local: SocketAddr,
    peer: SocketAddr,
    made: f64,
}

impl Maker {
    /// Makes one connection; returns the time when it was over.
    pub fn connection(&mut self, asked: ConnectionRequest) -> f64 {
        let ConnectionRequest { service, local, traced, time, number, sizes } = asked;
        let mut sized = Random::new(sizes);
        let random = &mut self.random;
        self.next_port = if self.next_port >= 60_000 {
            32_768
        } else {
            self.next_port + 1 + random.below(3) as u16
        };
        let port = self.next_port;
        let (real, server) = service.backends[(number % service.backends.len() as u64) as usize];
        let way = |random: &mut Random| {
            let tail = if random.chance(0.02) { 20.0 } else { 1.0 };
            service.way * (1.0 + random.exponential(0.3) * tail) + 5e-6
        };
        let accepted = time + way(random) * if service.kind == Kind::Proxy { 2.0 } else { 1.0 };
        let mut messages: Vec<Sent> = Vec::new();
        let mut exchanges = 1;
        while sized.chance(service.keep_alive) && exchanges < 60 {
            exchanges += 1;
        }
        let mut contents = [0u64; 2];
        let mut now = time + 20e-6 + random.exponential(20e-6);
        let mut arrived = [0.0f64; 2];
        for exchange in 0..exchanges {
            let (request, response) = match &service.sizes {
                Sizes::Rich => (
                    sized.log_uniform(60.0, 700.0) as u64,
                    sized.log_uniform(100.0, 60_000.0) as u64,
                ),
                Sizes::Classes(classes) => classes[sized.below(classes.len() as u64) as usize],
            };
            if exchange == 0 {
                let unique = sized.chance(service.unique);
                let content = if unique { sized.next() } else { 0 };
                contents = [request ^ content << 20, response ^ content << 20];
            }
            let came = (now + way(random)).max(accepted + 10e-6).max(arrived[0]);
            messages.push((true, request, now, came));
            let answered = came + random.log_uniform(20e-6, 20e-3);
            let back = (answered + way(random)).max(arrived[1]);
            messages.push((false, response, answered, back));
            arrived = [came, back];
            now = if service.duplex {
                now + random.exponential(service.way)
            } else {
                back + random.exponential(0.05)
            };
        }
        let over = messages.iter().map(|message| message.3).fold(now, f64::max) + 50e-6;
        let (here, there) = (SocketAddr::new(local, port), real);
        let kept_port = random.chance(0.92);
        let other_port = 32_768 + random.below(28_000) as u16;
        let seen = match service.kind {
            Kind::Destination => here,
            Kind::Source | Kind::Both => {
                SocketAddr::new(service.gateway, if kept_port { port } else { other_port })
            }
            Kind::Proxy => SocketAddr::new(service.gateway, other_port),
        };
        let what = ConnectionEvents { messages, over, contents };
        let client =
            End { side: HalfFlowSide::Connecting, local: here, peer: service.name, made: time };
        let server_end =
            End { side: HalfFlowSide::Accepting, local: there, peer: seen, made: accepted };
        let client = traced.map(|process| self.half(process, client, &what));
        let server = server.map(|process| self.half(process, server_end, &what));
        let (Some(client), Some(server)) = (client.flatten(), server.flatten()) else {
            return over;
        };
        self.system.truth[client as usize] = Some((server, service.kind));
        self.system.truth[server as usize] = Some((client, service.kind));
        over
    }

    /// The half flow of one end.
    fn half(
        &mut self,
        (host, process): (u32, u32),
        end: End,
        what: &ConnectionEvents,
    ) -> Option<u32> {
        let End { side, local, peer, made } = end;
        let ConnectionEvents { messages, over, contents } = what;
        let (offset, skew) = self.clocks[host as usize];
        let clock = |time: f64| (BASE + (time + offset + time * skew) * 1e9) as i64;
        let logged = self.ends[host as usize];
        let mut events: Vec<(f64, bool, u64)> = messages
            .iter()
            .map(|(forward, bytes, sent, received)| {
                let sends = *forward == (side == HalfFlowSide::Connecting);
                (if sends { *sent } else { *received }, sends, *bytes)
            })
            .filter(|(time, ..)| *time < logged)
            .collect();
        if made > logged {
            return None;
        }
        events.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut half = HalfFlow {
            side,
            local,
            peer,
            host,
            machine: host,
            process,
            made: clock(made),
            sent: FlowDirectionSummary::default(),
            received: FlowDirectionSummary::default(),
            turns: Vec::new(),
            all_turns: true,
            whole: *over < logged,
        };
        for (time, sends, bytes) in events {
            let time = clock(time);
            let way = if sends { &mut half.sent } else { &mut half.received };
            if way.bytes == 0 {
                way.first = time;
            }
            (way.bytes, way.last) = (way.bytes + bytes, time);
            let full = half.turns.len() == TURNS;
            match half.turns.last_mut() {
                _ if !half.all_turns => {}
                Some(turn) if turn.sent == sends => turn.bytes += bytes,
                _ if full => half.all_turns = false,
                _ => half.turns.push(FlowTurn { sent: sends, bytes, first: time }),
            }
        }
        if self.wanted.fingerprints {
            let forward = usize::from(side != HalfFlowSide::Connecting);
            let print = |way: &FlowDirectionSummary, content: u64| {
                (way.bytes > 0 && half.whole).then(|| PrefixChecksum {
                    bytes: way.bytes.min(64) as u32,
                    crc: Random::new(content).next() as u32,
                })
            };
            let (sent, received) = (
                print(&half.sent, contents[forward]),
                print(&half.received, contents[1 - forward]),
            );
            (half.sent.fingerprint, half.received.fingerprint) = (sent, received);
        }
        if half.sent.bytes + half.received.bytes == 0 {
            return None;
        }
        self.system.halves.push(half);
        self.system.truth.push(None);
        Some(self.system.halves.len() as u32 - 1)
    }
}
