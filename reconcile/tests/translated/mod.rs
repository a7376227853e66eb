//! Made-up systems behind address translation: who talks to whom through what, and what each traced end saw of it, with
//! clocks that nobody knows. The truth is known, so that what is found can be judged.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "a test helper, of which each user uses a part")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use reconcile::translation::{Fingerprint, HalfFlow, Pair, Side, TURNS, Turn, Way};

/// Small, seeded, and the same everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Between the two, equally likely in the logarithm.
    pub fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }
}

/// What stands between the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server's address is rewritten.
    Destination,
    /// The client's is.
    Source,
    /// Both are.
    Both,
    /// An untraced process passes the bytes on.
    Proxy,
}

/// The sizes of a service's messages.
#[derive(Clone, Debug)]
enum Sizes {
    Rich,
    Classes(Vec<(u64, u64)>),
}

#[derive(Clone, Copy, Debug)]
enum Arrivals {
    Poisson(f64),
    Loop(f64),
    Periodic(f64),
}

#[derive(Clone, Debug)]
struct Service {
    kind: Kind,
    name: SocketAddr,
    gateway: IpAddr,
    /// Name, host, process; `None`: the backend is not traced.
    backends: Vec<(SocketAddr, Option<(u32, u32)>)>,
    sizes: Sizes,
    way: f64,
    keep_alive: f64,
    duplex: bool,
    unique: f64,
}

/// A system's half flows, and the truth.
#[derive(Clone, Debug, Default)]
pub struct System {
    pub halves: Vec<HalfFlow>,
    /// The other end of each, and by what kind of translation.
    pub truth: Vec<Option<(u32, Kind)>>,
}

/// What is wanted of a system.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub seed: u64,
    pub fingerprints: bool,
    /// About as many connections of each client, at most.
    pub connections: u64,
    /// As many clients at most.
    pub clients: u64,
}

struct Maker {
    random: Random,
    wanted: Wanted,
    /// Offset and skew of each host's clock.
    clocks: Vec<(f64, f64)>,
    /// When each host's logs end, in seconds.
    ends: Vec<f64>,
    next_port: u16,
    system: System,
}

const BASE: f64 = 1.7e18;

fn address(a: u8, b: u8, c: u8, d: u8, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), port)
}

/// Makes a system.
pub fn system(wanted: Wanted) -> System {
    let mut random = Random::new(wanted.seed);
    let hosts = 2 + random.below(6) as usize;
    let length = random.log_uniform(5.0, 200.0);
    let far = random.chance(0.6);
    let clocks = (0..hosts)
        .map(|_| {
            let offset = if far { 3.0 * 3600.0 } else { 0.05 } * (random.unit() * 2.0 - 1.0);
            (offset, (random.unit() * 2.0 - 1.0) * 200e-6)
        })
        .collect();
    let ends = (0..hosts).map(|_| length + random.unit() * 0.005).collect();
    let mut maker = Maker { random, wanted, clocks, ends, next_port: 32_768, system: System::default() };
    maker.run(hosts as u64, length);
    maker.system
}

impl Maker {
    fn sizes(&mut self) -> Sizes {
        if self.random.chance(0.55) {
            return Sizes::Rich;
        }
        let classes = if self.random.chance(0.5) { 1 } else { 2 + self.random.below(5) };
        let random = &mut self.random;
        let class = |_| (random.log_uniform(5.0, 800.0) as u64, random.log_uniform(5.0, 20_000.0) as u64);
        Sizes::Classes((0..classes).map(class).collect())
    }

    fn service(&mut self, number: u8, hosts: u64) -> Service {
        let kinds = [Kind::Destination, Kind::Source, Kind::Both, Kind::Proxy, Kind::Proxy];
        let kind = kinds[self.random.below(5) as usize];
        let count = if kind == Kind::Source { 1 } else { 1 + self.random.below(3) };
        let untraced = if self.random.chance(0.3) { 0.4 } else { 0.0 };
        let backends: Vec<_> = (0..count)
            .map(|backend| {
                let host = self.random.below(hosts) as u32;
                let name = address(10, 1, host as u8, number, 8000 + backend as u16);
                let process = 1000 + u32::from(number) * 10 + backend as u32;
                (name, (!self.random.chance(untraced)).then_some((host, process)))
            })
            .collect();
        let name = if kind == Kind::Source { backends[0].0 } else { address(10, 9, 9, number, 80) };
        Service {
            kind,
            name,
            gateway: address(10, 8, 8, number, 0).ip(),
            backends,
            sizes: self.sizes(),
            way: self.random.log_uniform(30e-6, 10e-3),
            keep_alive: if self.random.chance(0.4) { 0.7 } else { 0.0 },
            duplex: self.random.chance(0.1),
            unique: if self.random.chance(0.5) { 1.0 } else { 0.0 },
        }
    }

    fn run(&mut self, hosts: u64, length: f64) {
        let services: Vec<Service> =
            (0..1 + self.random.below(3)).map(|number| self.service(number as u8, hosts)).collect();
        let clients = 1 + self.random.below(self.wanted.clients);
        let unrelated = self.random.chance(0.15);
        for client in 0..clients {
            let host = self.random.below(hosts) as u32;
            // Some clients are not traced: their flows are there, without their ends.
            let traced = (!self.random.chance(0.25)).then_some((host, client as u32));
            let local = address(10, 0, host as u8, client as u8, 0).ip();
            let number = self.random.below(services.len() as u64) as usize;
            let mut service = services[number].clone();
            if self.random.chance(0.15) {
                // The same protocol, spoken to somebody else.
                service.name = address(172, 16, 0, client as u8, 80);
                service.backends = vec![(address(172, 16, 0, client as u8, 80), None)];
            }
            if unrelated {
                // Nothing is translated: the clients' servers and the servers' clients are others.
                let served = service.clone();
                service.name = address(172, 18, 0, client as u8, 80);
                service.backends.iter_mut().for_each(|backend| backend.1 = None);
                let arrivals = self.arrivals(length);
                self.client_at(&service, local, traced, length, arrivals);
                let stranger = address(192, 168, 8, client as u8, 0).ip();
                self.client_at(&served, stranger, None, length, arrivals);
                continue;
            }
            self.client(&service, local, traced, length);
        }
        // Flows to and from hosts that are not traced: some of other protocols, some of the same, some periodic.
        for noise in 0..self.random.below(4) {
            let host = self.random.below(hosts) as u32;
            let alike = self.random.below(services.len() as u64) as usize;
            let mut service = self.service(100 + noise as u8, hosts);
            if self.random.chance(0.5) {
                service.sizes = services[alike].sizes.clone();
                service.unique = services[alike].unique;
            }
            let (local, process) =
                (address(10, 0, host as u8, 200 + noise as u8, 0).ip(), 500 + noise as u32);
            if self.random.chance(0.5) {
                service.backends.iter_mut().for_each(|backend| backend.1 = None);
                self.client(&service, local, Some((host, process)), length);
            } else {
                if self.random.chance(0.5) {
                    // They come to a real server, perhaps by the same way.
                    service.backends = services[alike].backends.clone();
                    service.gateway = services[alike].gateway;
                }
                self.client(&service, address(192, 168, 7, noise as u8, 0).ip(), None, length);
            }
        }
    }

    fn arrivals(&mut self, length: f64) -> (u64, Arrivals) {
        let count = 1 + self.random.below(self.wanted.connections);
        let mean = length / count as f64;
        let arrivals = match self.random.below(3) {
            0 => Arrivals::Poisson(mean),
            1 => Arrivals::Loop(self.random.log_uniform(1e-4, 1.0).min(mean)),
            _ => Arrivals::Periodic(mean),
        };
        (count, arrivals)
    }

    fn client(&mut self, service: &Service, local: IpAddr, traced: Option<(u32, u32)>, length: f64) {
        let arrivals = self.arrivals(length);
        self.client_at(service, local, traced, length, arrivals);
    }

    fn client_at(
        &mut self,
        service: &Service,
        local: IpAddr,
        traced: Option<(u32, u32)>,
        length: f64,
        (count, arrivals): (u64, Arrivals),
    ) {
        // Some send everything to a second, untraced server as well.
        let mut replica = service.clone();
        replica.name = address(172, 17, 0, 1, 80);
        replica.backends = vec![(replica.name, None)];
        let replicates = self.random.chance(0.1);
        let mut time = self.random.unit() * length / 4.0;
        for number in 0..count {
            let sizes = self.random.next();
            let done = self.connection(service, local, traced, time, number, sizes);
            if replicates {
                let later = self.random.exponential(100e-6);
                self.connection(&replica, local, traced, time + later, number, sizes);
            }
            time = match arrivals {
                Arrivals::Poisson(mean) => time + self.random.exponential(mean),
                Arrivals::Loop(think) => done + self.random.exponential(think),
                Arrivals::Periodic(period) => time + period + self.random.exponential(60e-6),
            };
            if time > length {
                break;
            }
        }
    }

    /// One connection, with the sizes that `sizes` seeds; returns when it was over.
    #[allow(clippy::too_many_arguments, reason = "a test helper")]
    fn connection(
        &mut self,
        service: &Service,
        local: IpAddr,
        traced: Option<(u32, u32)>,
        time: f64,
        number: u64,
        sizes: u64,
    ) -> f64 {
        let mut sized = Random::new(sizes);
        let random = &mut self.random;
        self.next_port =
            if self.next_port >= 60_000 { 32_768 } else { self.next_port + 1 + random.below(3) as u16 };
        let port = self.next_port;
        let (real, server) = service.backends[(number % service.backends.len() as u64) as usize];
        let way = |random: &mut Random| {
            let tail = if random.chance(0.02) { 20.0 } else { 1.0 };
            service.way * (1.0 + random.exponential(0.3) * tail) + 5e-6
        };
        let accepted = time + way(random) * if service.kind == Kind::Proxy { 2.0 } else { 1.0 };
        // Messages: from the client or not, bytes, sent, received.
        let mut messages: Vec<(bool, u64, f64, f64)> = Vec::new();
        let mut exchanges = 1;
        while sized.chance(service.keep_alive) && exchanges < 60 {
            exchanges += 1;
        }
        let mut contents = [0u64; 2];
        let mut now = time + 20e-6 + random.exponential(20e-6);
        let mut arrived = [0.0f64; 2];
        for exchange in 0..exchanges {
            let (request, response) = match &service.sizes {
                Sizes::Rich => {
                    (sized.log_uniform(60.0, 700.0) as u64, sized.log_uniform(100.0, 60_000.0) as u64)
                }
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
        let asked = time;
        let client = traced.map(|end| {
            self.half(end, Side::Connecting, [here, service.name], asked, &messages, over, contents)
        });
        let server = server
            .map(|end| self.half(end, Side::Accepting, [there, seen], accepted, &messages, over, contents));
        let (Some(client), Some(server)) = (client.flatten(), server.flatten()) else { return over };
        self.system.truth[client as usize] = Some((server, service.kind));
        self.system.truth[server as usize] = Some((client, service.kind));
        over
    }

    /// What one end saw.
    #[allow(clippy::too_many_arguments, reason = "a test helper")]
    fn half(
        &mut self,
        (host, process): (u32, u32),
        side: Side,
        [local, peer]: [SocketAddr; 2],
        made: f64,
        messages: &[(bool, u64, f64, f64)],
        over: f64,
        contents: [u64; 2],
    ) -> Option<u32> {
        let (offset, skew) = self.clocks[host as usize];
        let clock = |time: f64| (BASE + (time + offset + time * skew) * 1e9) as i64;
        let end = self.ends[host as usize];
        let mut events: Vec<(f64, bool, u64)> = messages
            .iter()
            .map(|(forward, bytes, sent, received)| {
                let sends = *forward == (side == Side::Connecting);
                (if sends { *sent } else { *received }, sends, *bytes)
            })
            .filter(|(time, ..)| *time < end)
            .collect();
        if made > end {
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
            sent: Way::default(),
            received: Way::default(),
            turns: Vec::new(),
            all_turns: true,
            whole: over < end,
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
                _ => half.turns.push(Turn { sent: sends, bytes, first: time }),
            }
        }
        if self.wanted.fingerprints {
            let forward = usize::from(side != Side::Connecting);
            let print = |way: &Way, content: u64| {
                (way.bytes > 0 && half.whole).then(|| Fingerprint {
                    bytes: way.bytes.min(64) as u32,
                    crc: Random::new(content).next() as u32,
                })
            };
            let (sent, received) =
                (print(&half.sent, contents[forward]), print(&half.received, contents[1 - forward]));
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

/// The confidence that pairs need by default.
pub const LEAST: f64 = 0.8;
/// Lower bounds of the confidences that are counted together.
pub const BOUNDS: [f64; 9] = [0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, f64::INFINITY];

/// How good what was found is.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// Pairs by confidence: all, those that are right, and those that are right or with one that is equal to the
    /// right one (of the same process and name).
    pub buckets: [[u64; 3]; BOUNDS.len() - 1],
    /// True pairs and those of them that were found with enough confidence, by kind.
    pub kinds: [(u64, u64); 4],
}

impl Judgement {
    pub fn judge(&mut self, system: &System, found: &[Pair]) {
        for (half, truth) in system.halves.iter().zip(&system.truth) {
            if let (Side::Connecting, Some((_, kind))) = (half.side, truth) {
                self.kinds[*kind as usize].0 += 1;
            }
        }
        for pair in found {
            let place = BOUNDS.iter().rposition(|bound| pair.confidence >= *bound).unwrap_or(0);
            let truth = system.truth[pair.connecting as usize];
            let right = truth.is_some_and(|(other, _)| other == pair.accepting);
            let accepted = &system.halves[pair.accepting as usize];
            let equal = truth.is_some_and(|(other, _)| {
                let other = &system.halves[other as usize];
                (other.process, other.local) == (accepted.process, accepted.local)
            });
            let bucket = &mut self.buckets[place];
            bucket[0] += 1;
            bucket[1] += u64::from(right);
            bucket[2] += u64::from(equal);
            if let Some((_, kind)) = truth.filter(|_| right && pair.confidence >= LEAST) {
                self.kinds[kind as usize].1 += 1;
            }
        }
    }

    /// The share of the pairs with at least `least` confidence that are right.
    pub fn precision(&self, least: f64) -> f64 {
        let counted = self.buckets.iter().zip(BOUNDS).filter(|(_, bound)| *bound >= least);
        let [all, right] =
            counted.fold([0, 0], |[all, right], (bucket, _)| [all + bucket[0], right + bucket[1]]);
        right as f64 / all.max(1) as f64
    }

    /// The share of the true pairs of a kind that were found.
    pub fn recall(&self, kind: Kind) -> f64 {
        let (all, found) = self.kinds[kind as usize];
        found as f64 / all.max(1) as f64
    }
}

impl std::fmt::Display for Judgement {
    fn fmt(&self, text: &mut std::fmt::Formatter) -> std::fmt::Result {
        for (bound, [all, right, equal]) in BOUNDS.iter().zip(self.buckets) {
            let share = |count: u64| count as f64 / all.max(1) as f64;
            writeln!(
                text,
                "  from {bound:5}: {all:7}, right {:.4}, or equal {:.4}",
                share(right),
                share(equal)
            )?;
        }
        for (kind, (all, found)) in
            [Kind::Destination, Kind::Source, Kind::Both, Kind::Proxy].iter().zip(self.kinds)
        {
            writeln!(text, "  {kind:?}: {found} of {all}, {:.3}", found as f64 / all.max(1) as f64)?;
        }
        Ok(())
    }
}
