//! A collector with a good host in addition to the peers under test, and shippers that send
//! arbitrary frames.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use collector::collect::{self, Deadlines, HostLimits, RefusalCause};
use collector::identity::LogIdentity;
use collector::keys::{Authority, KeyBundle};
use collector::link::{DeadlineSocket, StopFlag, WireLink};
use collector::wire::{self, CollectorAnswer, FrameReader, ShipperRequest, TimeExchange, VERSION};
use collector::{ship, tls};
use message_trace::DataDir;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use socket_log::write::LogWriter;
/// Refusals: cause, host and reason.
#[derive(Default)]
pub(super) struct Refusals(pub(super) Mutex<Vec<(RefusalCause, Option<String>, String)>>);

impl collect::CollectListener for Refusals {
    fn on_event(&self, event: &collect::CollectEvent<'_>) {
        if let collect::CollectEvent::Refused { host, cause, why, .. } = event {
            self.0.lock().unwrap().push((*cause, host.map(str::to_owned), (*why).to_owned()));
        }
    }
}

impl ship::ShipListener for Refusals {
    fn on_event(&self, _: &ship::ShipEvent<'_>) {}
}

/// A collector, its authority, and a host `good` that has logs.
pub(super) struct System<'a> {
    pub(super) address: SocketAddr,
    pub(super) authority: &'a Authority,
    pub(super) refusals: &'a Refusals,
    pub(super) directory: &'a Path,
}

/// Short enough for a test, and long enough for a busy machine.
pub(super) const DEADLINES: Deadlines = Deadlines {
    handshake: Duration::from_secs(2),
    silence: Duration::from_secs(2),
    frame: Duration::from_secs(2),
};

/// Time after which a test gives up on an answer: only a hang takes that long, however busy the
/// machine is and however low the priority of the tests.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

/// Runs `work` next to a collector, and afterwards checks that the good host is still served.
pub(super) fn with_collector(work: impl FnOnce(&System<'_>)) {
    with_patient_collector(DEADLINES, work);
}

/// Like [`with_collector`], with other deadlines.
pub(super) fn with_patient_collector(deadlines: Deadlines, work: impl FnOnce(&System<'_>)) {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::create(&directory.path().join("keys"), 10).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let options = collect::CollectOptions {
        data: DataDir::new(directory.path().join("gathered")),
        tls: Some(tls::server_config(&authority.issue_collector(10).unwrap()).unwrap()),
        revoked: None,
        limits: HostLimits { bytes: 1 << 30, files: 100 },
        deadlines,
    };
    let (refusals, stop) = (Refusals::default(), StopFlag::default());
    let system =
        System { address, authority: &authority, refusals: &refusals, directory: directory.path() };
    std::thread::scope(|scope| {
        let collector =
            scope.spawn(|| collect::run_collector(&options, &listener, &refusals, &stop));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            work(&system);
            system.good_host_gets_through();
        }));
        stop.store(true, Relaxed);
        collector.join().unwrap().unwrap();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    // Nothing was created outside the hosts' directories.
    let hosts = directory.path().join("gathered/hosts");
    let mut names: Vec<String> = fs::read_dir(&hosts)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name != "web-1");
    names.sort();
    assert_eq!(names, [".store", "good"]);
}

impl System<'_> {
    pub(super) fn good_host_gets_through(&self) {
        let number = self.refusals.0.lock().unwrap().len() + 1;
        let name = format!("{number}-1.sclog");
        let data = self.directory.join("good");
        let host = data.join("hosts/good");
        fs::create_dir_all(&host).unwrap();
        let pid = number as u32;
        fs::write(host.join(&name), LogWriter::new("good", pid, "/bin/x").to_bytes()).unwrap();
        let options = self.options(&data, "good", self.authority.issue_host(&["good"], 1).unwrap());
        ship::run_shipper(&options, self.refusals, &StopFlag::default()).unwrap();
        let gathered = self.directory.join("gathered/hosts/good").join(&name);
        assert_eq!(fs::read(gathered).unwrap(), fs::read(host.join(&name)).unwrap());
    }

    pub(super) fn options(&self, data: &Path, host: &str, key: KeyBundle) -> ship::ShipOptions {
        ship::ShipOptions {
            data: DataDir::new(data),
            host: host.into(),
            to: self.address.to_string(),
            tls: Some(tls::client_config(&key).unwrap()),
            follow: false,
            interval: Duration::from_millis(50),
            remove: false,
            limit: None,
            patience: PATIENCE,
        }
    }

    /// Runs a shipper that has this key and wants to write as `host`, and returns its error.
    pub(super) fn ship_as(&self, host: &str, key: KeyBundle) -> String {
        let options = self.options(&self.directory.join("other"), host, key);
        ship::run_shipper(&options, self.refusals, &StopFlag::default()).unwrap_err().to_string()
    }

    /// Configuration of a shipper that has a key of another authority, and trusts this collector.
    pub(super) fn trusting(&self, other: &Authority) -> Arc<ClientConfig> {
        let path = self.directory.join("other.pem");
        other.issue_host(&["web-1"], 1).unwrap().write(&path, false).unwrap();
        let certificate = CertificateDer::from_pem_file(&path).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.certificate().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let key = PrivateKeyDer::from_pem_file(&path).unwrap();
        Arc::new(
            config
                .with_root_certificates(roots)
                .with_client_auth_cert(vec![certificate], key)
                .unwrap(),
        )
    }

    /// Waits until a connection was refused for this cause, with a reason that contains these
    /// words.
    pub(super) fn refused(&self, cause: RefusalCause, words: &str) {
        let deadline = Instant::now() + PATIENCE;
        let found = || {
            let refusals = self.refusals.0.lock().unwrap();
            refusals.iter().any(|(of, _, why)| *of == cause && why.contains(words))
        };
        while !found() {
            assert!(
                Instant::now() < deadline,
                "no {cause:?} {words:?}: {:?}",
                self.refusals.0.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Connects with a good key of `web-1`; anything can be sent.
    pub(super) fn raw(&self) -> Raw {
        self.raw_with(&self.authority.issue_host(&["web-1"], 1).unwrap())
    }

    /// Connects with another key.
    pub(super) fn raw_with(&self, key: &KeyBundle) -> Raw {
        let stream = TcpStream::connect(self.address).unwrap();
        let socket = DeadlineSocket::new(stream, StopFlag::default(), PATIENCE).unwrap();
        let connection = tls::connect_client(tls::client_config(key).unwrap()).unwrap();
        Raw { link: WireLink::connect(socket, connection).unwrap(), reader: FrameReader::default() }
    }

    /// Connects, and is admitted.
    pub(super) fn welcomed(&self) -> Raw {
        let mut raw = self.raw();
        raw.send(&wire::encode_frame(&HELLO).unwrap());
        assert!(matches!(raw.answer(), CollectorAnswer::Welcome { .. }));
        raw
    }
}

pub(super) const HELLO: ShipperRequest<'_> =
    ShipperRequest::Hello { version: VERSION, host: "web-1", boot: [1; 16] };
pub(super) const FILE: ShipperRequest<'_> = ShipperRequest::File {
    name: "1-1.sclog",
    identity: LogIdentity { boot: [1; 16], pid: 1, ticks: 2, start: 3, name: 0 },
};

/// A shipper controlled by the test.
pub(super) struct Raw {
    pub(super) link: WireLink,
    pub(super) reader: FrameReader,
}

impl Raw {
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.link.write_all(bytes).and_then(|()| self.link.flush()).unwrap();
    }

    pub(super) fn request(&mut self, request: &ShipperRequest<'_>, payload: &[u8]) {
        self.send(&wire::encode_frame_with(request, payload).unwrap());
    }

    pub(super) fn answer(&mut self) -> CollectorAnswer {
        wire::decode_answer(self.reader.next_frame(&mut self.link).unwrap()).unwrap()
    }

    /// Exchanges times, and returns the exchange with the collector's own times.
    pub(super) fn exchange(&mut self) -> TimeExchange {
        self.request(&ShipperRequest::Time, &[]);
        let CollectorAnswer::Time { received, sent } = self.answer() else { panic!("no time") };
        let exchange = TimeExchange {
            host_sent: 1,
            collector_received: received,
            collector_sent: sent,
            host_received: 9,
        };
        self.request(&ShipperRequest::Hint(exchange), &[]);
        exchange
    }

    /// Reads the reason of the refusal.
    pub(super) fn why(&mut self) -> String {
        match self.answer() {
            CollectorAnswer::Refused { why } => why,
            answer => panic!("{answer:?}"),
        }
    }
}
