//! The services of a synthetic system, their clients, unrelated flows, and what of these is traced.
//! [`connection_of_call`](super::connection) has the events of each connection.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use reconcile::translation::HalfFlow;

use super::connection::ConnectionRequest;
use super::random::Random;

/// Translation between the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server's address is rewritten.
    Destination,
    /// The client's address is rewritten.
    Source,
    /// Both addresses are rewritten.
    Both,
    /// An untraced process passes the bytes on.
    Proxy,
}

/// The sizes of a service's messages.
#[derive(Clone, Debug)]
pub enum Sizes {
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
pub struct Service {
    pub kind: Kind,
    pub name: SocketAddr,
    pub gateway: IpAddr,
    /// Name, host and process; `None` if the backend is not traced.
    pub backends: Vec<(SocketAddr, Option<(u32, u32)>)>,
    pub sizes: Sizes,
    pub way: f64,
    pub keep_alive: f64,
    pub duplex: bool,
    pub unique: f64,
}

/// A system's half flows, and the ground truth.
#[derive(Clone, Debug, Default)]
pub struct System {
    pub halves: Vec<HalfFlow>,
    /// The other end of each, and the kind of translation.
    pub truth: Vec<Option<(u32, Kind)>>,
}

/// Parameters of a system.
#[derive(Clone, Copy, Debug)]
pub struct SystemParameters {
    pub seed: u64,
    pub fingerprints: bool,
    /// Approximate maximum number of connections of each client.
    pub connections: u64,
    /// Maximum number of clients.
    pub clients: u64,
}

pub struct Maker {
    pub random: Random,
    pub wanted: SystemParameters,
    /// Offset and skew of each host's clock.
    pub clocks: Vec<(f64, f64)>,
    /// End of each host's logs, in seconds.
    pub ends: Vec<f64>,
    pub next_port: u16,
    pub system: System,
}

fn address(a: u8, b: u8, c: u8, d: u8, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), port)
}

/// Makes a system.
pub fn system(wanted: SystemParameters) -> System {
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
    let mut maker =
        Maker { random, wanted, clocks, ends, next_port: 32_768, system: System::default() };
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
        let class =
            |_| (random.log_uniform(5.0, 800.0) as u64, random.log_uniform(5.0, 20_000.0) as u64);
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
            // Some clients are not traced: their flows exist, without their ends.
            let traced = (!self.random.chance(0.25)).then_some((host, client as u32));
            let local = address(10, 0, host as u8, client as u8, 0).ip();
            let number = self.random.below(services.len() as u64) as usize;
            let mut service = services[number].clone();
            if self.random.chance(0.15) {
                // The same protocol, spoken to an unrelated peer.
                service.name = address(172, 16, 0, client as u8, 80);
                service.backends = vec![(address(172, 16, 0, client as u8, 80), None)];
            }
            if unrelated {
                // Nothing is translated: the clients have other servers and the servers other
                // clients.
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
        // Flows to and from untraced hosts: some of other protocols, some of the same, some
        // periodic.
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
                    // The flows come to a real server, perhaps through the same translation.
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

    fn client(
        &mut self,
        service: &Service,
        local: IpAddr,
        traced: Option<(u32, u32)>,
        length: f64,
    ) {
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
            let asked = ConnectionRequest { service, local, traced, time, number, sizes };
            let done = self.connection(asked);
            if replicates {
                let later = self.random.exponential(100e-6);
                self.connection(ConnectionRequest {
                    service: &replica,
                    time: time + later,
                    ..asked
                });
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
}
