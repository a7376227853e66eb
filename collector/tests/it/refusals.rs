//! Refusals: a peer that should not be admitted is refused, with a line that has the reason;
//! meanwhile the logs of another host are gathered undisturbed.

#![expect(clippy::type_complexity, reason = "tests fail by panics")]

mod system;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use collector::collect::{Deadlines, RefusalCause};
use collector::keys::{Authority, KeyRole, KeyValidity};
use collector::link::{DeadlineSocket, StopFlag, WireLink};
use collector::wire::{
    self, ASK_LIMIT, CollectorAnswer, EXTENT_LIMIT, FRAME_LIMIT, ShipperRequest, TimeExchange,
    VERSION,
};
use collector::{ship, tls};

use self::system::{FILE, HELLO, PATIENCE, with_collector, with_patient_collector};

#[test]
fn invalid_certificates_are_refused() {
    with_collector(|system| {
        const DAY: i64 = 24 * 60 * 60;
        let now = KeyValidity::for_days(0).until;
        let issue = |from, until| {
            system
                .authority
                .issue_key(KeyRole::Host, &["web-1"], KeyValidity { from, until })
                .unwrap()
        };
        let error = system.ship_as("web-1", issue(now - 3 * DAY, now - DAY));
        assert!(error.contains("our certificate has expired"), "{error}");
        system.refused(RefusalCause::Tls, "certificate expired");
        system.ship_as("web-1", issue(now + DAY, now + 3 * DAY));
        system.refused(RefusalCause::Tls, "certificate not yet valid");

        // A key of another authority: the shipper trusts that authority and not this collector, so
        // the shipper is the first to refuse.
        let other = Authority::create(&system.directory.join("other-keys"), 10).unwrap();
        let error = system.ship_as("web-1", other.issue_host(&["web-1"], 1).unwrap());
        assert!(error.contains("certificate of another authority"), "{error}");
        // A shipper that accepts any collector is refused there.
        let mut options =
            system.options(&system.directory.join("other"), "web-1", issue(now - DAY, now + DAY));
        options.tls = Some(system.trusting(&other));
        let error = ship::run_shipper(&options, system.refusals, &StopFlag::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("our certificate is of another authority"), "{error}");
        system.refused(RefusalCause::Tls, "certificate of another authority");

        // The collector's own key is not accepted for a host.
        assert!(tls::client_config(&system.authority.issue_collector(1).unwrap()).is_err());
    });
}

#[test]
fn names_outside_the_certificate_are_refused() {
    with_collector(|system| {
        let key = || system.authority.issue_host(&["web-1"], 1).unwrap();
        let error = system.ship_as("web-2", key());
        assert!(error.contains("its certificate is for web-1"), "{error}");
        system.refused(RefusalCause::Name, "wants to write as 'web-2'");
        for name in ["..", "../good", "good/../good", "/", "", "a\0b", ".store"] {
            let mut raw = system.raw();
            raw.request(
                &ShipperRequest::Hello { version: VERSION, host: name, boot: [0; 16] },
                &[],
            );
            assert!(raw.why().contains("a host name has"), "{name:?}");
        }
        system.refused(RefusalCause::Name, "a host name has");
    });
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    with_collector(|system| {
        let ShipperRequest::File { identity, .. } = FILE else { return };
        for name in [
            "../good/1-1.sclog",
            "/tmp/x.sclog",
            "..",
            "a/b.sclog",
            ".hidden.sclog",
            "x.txt",
            "",
            "x\n.sclog",
        ] {
            let mut raw = system.welcomed();
            raw.request(&ShipperRequest::File { name, identity }, &[]);
            assert!(raw.why().contains("a log's name has"), "{name:?}");
        }
        system.refused(RefusalCause::Violation, "a log's name has");
        // A planted symbolic link at the path of the log is not followed.
        let host = system.directory.join("gathered/hosts/web-1");
        fs::create_dir_all(&host).unwrap();
        let target = system.directory.join("target");
        fs::write(&target, "untouched").unwrap();
        std::os::unix::fs::symlink(&target, host.join("1-1.sclog")).unwrap();
        let mut raw = system.welcomed();
        raw.request(&FILE, &[]);
        let page = zstd::bulk::compress(&[7; 4096], 1).unwrap();
        raw.request(&ShipperRequest::Extent { offset: 0, length: 4096 }, &page);
        raw.request(&ShipperRequest::Flush { number: 1, left: 0 }, &[]);
        assert_eq!(raw.answer(), CollectorAnswer::Durable { number: 1 });
        assert_eq!(fs::read_to_string(&target).unwrap(), "untouched");
        assert_eq!(fs::read(host.join("1-1+2.sclog")).unwrap(), [7; 4096]);
    });
}

#[test]
fn invalid_frames_are_refused() {
    with_collector(|system| {
        // Longer than any frame.
        let mut raw = system.welcomed();
        raw.send(&(FRAME_LIMIT as u32 + 1).to_le_bytes());
        assert!(raw.why().contains("above the limit"));
        // Not a message; a message followed by extra bytes; a message of the other side.
        for frame in
            [vec![4, 0, 0, 0, 255, 255, 255, 255], vec![2, 0, 0, 0, 8, 8], vec![0, 0, 0, 0]]
        {
            let mut raw = system.welcomed();
            raw.send(&frame);
            assert!(raw.why().contains("not a message of this protocol"), "{frame:?}");
        }
        system.refused(RefusalCause::Protocol, "not a message of this protocol");
        // Valid messages at the wrong time.
        let garbage = vec![3; 100];
        let page = zstd::bulk::compress(&[7; 4096], 1).unwrap();
        let bomb = zstd::bulk::compress(&vec![0; EXTENT_LIMIT + 1], 1).unwrap();
        let limit = EXTENT_LIMIT as u32;
        let none = TimeExchange {
            host_sent: 0,
            collector_received: 0,
            collector_sent: 0,
            host_received: 0,
        };
        let cases: Vec<(Vec<(ShipperRequest<'_>, &[u8])>, &str)> = vec![
            (vec![(HELLO, &[])], "greeted twice"),
            (vec![(ShipperRequest::Hint(none), &[])], "a time exchange that did not happen"),
            (
                vec![(ShipperRequest::Flush { number: 2, left: 0 }, &[])],
                "not numbered consecutively",
            ),
            (
                vec![(FILE, &[]), (ShipperRequest::Ask { page: 0, pages: ASK_LIMIT + 1 }, &[])],
                "too many checksums",
            ),
            (vec![(ShipperRequest::Ask { page: 0, pages: 1 }, &[])], "without selecting a file"),
            (vec![(ShipperRequest::Length { length: 1 }, &[])], "without selecting a file"),
            (
                vec![(FILE, &[]), (ShipperRequest::Extent { offset: 0, length: 4096 }, &garbage)],
                "differs from its announcement",
            ),
            (
                vec![(FILE, &[]), (ShipperRequest::Extent { offset: 0, length: 4095 }, &page)],
                "differs from its announcement",
            ),
            (
                vec![(FILE, &[]), (ShipperRequest::Extent { offset: 0, length: limit }, &bomb)],
                "differs from its announcement",
            ),
            (
                vec![(FILE, &[]), (ShipperRequest::Extent { offset: 0, length: limit + 1 }, &bomb)],
                "above the maximum length",
            ),
            (
                vec![(FILE, &[]), (ShipperRequest::Extent { offset: 5, length: 4096 }, &page)],
                "at byte 5",
            ),
            (
                vec![
                    (FILE, &[]),
                    (ShipperRequest::Extent { offset: u64::MAX - 4095, length: 4096 }, &page),
                ],
                "at byte",
            ),
            (
                vec![
                    (FILE, &[]),
                    (ShipperRequest::Extent { offset: 1 << 42, length: 4096 }, &page),
                ],
                "bytes of content to",
            ),
            (
                vec![(FILE, &[]), (ShipperRequest::Length { length: 1 << 42 }, &[])],
                "bytes of content to",
            ),
        ];
        for (requests, words) in &cases {
            let mut raw = system.welcomed();
            raw.exchange();
            for (request, payload) in requests {
                raw.request(request, payload);
            }
            let why = raw.why();
            assert!(why.contains(words), "{requests:?}: {why}");
        }
        // Something other than a greeting, and a greeting of another version.
        let mut raw = system.raw();
        raw.request(&FILE, &[]);
        assert!(raw.why().contains("not a greeting"));
        let mut raw = system.raw();
        raw.request(
            &ShipperRequest::Hello { version: VERSION + 1, host: "web-1", boot: [0; 16] },
            &[],
        );
        assert!(raw.why().contains("uses version 2"));
        system.refused(RefusalCause::Version, "uses version 2");
    });
}

#[test]
fn peers_without_tls_are_refused() {
    with_collector(|system| {
        for bytes in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            &wire::encode_frame(&HELLO).unwrap(),
            &[0x16, 3, 1, 0xff, 0xff, 1],
        ] {
            let mut stream = TcpStream::connect(system.address).unwrap();
            stream.write_all(bytes).unwrap();
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
        let refused = || {
            let refusals = system.refusals.0.lock().unwrap();
            refusals.iter().filter(|(cause, ..)| *cause == RefusalCause::Tls).count()
        };
        let deadline = Instant::now() + PATIENCE;
        while refused() < 3 {
            assert!(Instant::now() < deadline, "{}", refused());
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn slow_silent_and_half_closed_peers_are_disconnected() {
    with_collector(|system| {
        // Connected and nothing more; TLS and nothing more; welcome and nothing more.
        let silent = TcpStream::connect(system.address).unwrap();
        let no_greeting = system.raw();
        let mut idle = system.welcomed();
        // Many silent connections do not keep others out.
        let crowd: Vec<TcpStream> =
            (0..100).map(|_| TcpStream::connect(system.address).unwrap()).collect();
        system.good_host_gets_through();
        system.refused(RefusalCause::Slow, "its handshake took too long");
        system.refused(RefusalCause::Slow, "too slow, or silent");
        assert!(idle.why().contains("silent for too long"));
        drop((silent, no_greeting, crowd));
        // A frame sent byte by byte.
        let mut slow = system.welcomed();
        let frame =
            wire::encode_frame_with(&ShipperRequest::Extent { offset: 0, length: 0 }, &[0; 1000])
                .unwrap();
        let mut sent = 0;
        let began = Instant::now();
        while slow.link.write_all(&frame[sent..=sent]).and_then(|()| slow.link.flush()).is_ok() {
            sent += 1;
            std::thread::sleep(Duration::from_millis(100));
            assert!(sent < frame.len() && began.elapsed() < Duration::from_secs(60), "no effect");
            slow.link.socket().set_deadline(PATIENCE);
        }
        // A shipper that is cut off and reconnects need not wait for its previous connection.
        let former = system.welcomed();
        let again = system.welcomed();
        drop((former, again));
    });
}

/// Deadlines longer than any test: an admitted peer has not waited for them.
const NEVER: Deadlines = Deadlines {
    handshake: Duration::from_secs(3600),
    silence: Duration::from_secs(3600),
    frame: Duration::from_secs(3600),
};

#[test]
fn silent_connections_keep_no_host_out() {
    with_patient_collector(NEVER, |system| {
        // An admitted host stays connected, however many connections follow.
        let mut known = system.welcomed();
        let connect = || TcpStream::connect(system.address).unwrap();
        let silent: Vec<TcpStream> = (0..700).map(|_| connect()).collect();
        system.good_host_gets_through();
        system.refused(RefusalCause::Many, "it had not identified itself");
        // The beginning of a handshake does not identify a peer, nor does a handshake without a
        // greeting.
        let half: Vec<TcpStream> = (0..700).map(|_| connect()).collect();
        half.iter().for_each(|mut stream| drop(stream.write_all(&[0x16, 3, 1, 2, 0, 1])));
        let shaken: Vec<_> = (0..50).map(|_| system.raw()).collect();
        system.good_host_gets_through();
        known.exchange();
        known.request(&ShipperRequest::Flush { number: 1, left: 0 }, &[]);
        assert_eq!(known.answer(), CollectorAnswer::Durable { number: 1 });
        drop((silent, half, shaken));
    });
}

#[test]
fn many_hosts_of_one_address_are_connected_together() {
    with_patient_collector(NEVER, |system| {
        let names: Vec<String> = (0..100).map(|number| format!("host-{number}")).collect();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let key = system.authority.issue_host(&all, 1).unwrap();
        let connected: Vec<_> = all
            .iter()
            .map(|host| {
                let mut raw = system.raw_with(&key);
                raw.request(&ShipperRequest::Hello { version: VERSION, host, boot: [1; 16] }, &[]);
                assert!(matches!(raw.answer(), CollectorAnswer::Welcome { .. }), "{host}");
                raw
            })
            .collect();
        for mut raw in connected {
            raw.request(&ShipperRequest::Flush { number: 1, left: 0 }, &[]);
            assert_eq!(raw.answer(), CollectorAnswer::Durable { number: 1 });
        }
    });
}

#[test]
fn a_greeting_is_short() {
    with_collector(|system| {
        let mut raw = system.raw();
        raw.send(&2000_u32.to_le_bytes());
        assert!(raw.why().contains("above the limit"));
        system.refused(RefusalCause::Protocol, "above the limit");
    });
}

#[test]
fn a_collector_of_another_authority_is_refused_by_the_shipper() {
    with_collector(|system| {
        // A host's key is not accepted as a collector's: its owner cannot pose as the collector.
        assert!(tls::server_config(&system.authority.issue_host(&["web-1"], 1).unwrap()).is_err());
        let other = Authority::create(&system.directory.join("false-keys"), 10).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut options = system.options(
            &system.directory.join("other"),
            "web-1",
            system.authority.issue_host(&["web-1"], 1).unwrap(),
        );
        options.to = listener.local_addr().unwrap().to_string();
        let config = tls::server_config(&other.issue_collector(1).unwrap()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let (stream, _) = listener.accept().unwrap();
                let socket = DeadlineSocket::new(stream, StopFlag::default(), PATIENCE).unwrap();
                assert!(WireLink::accept(socket, Arc::clone(&config)).is_err());
            });
            let error = ship::run_shipper(&options, system.refusals, &StopFlag::default())
                .unwrap_err()
                .to_string();
            assert!(error.contains("certificate of another authority"), "{error}");
        });
    });
}

#[test]
fn a_collector_stops_although_a_shipper_sends_all_the_time() {
    let talking = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let mut thread = None;
    with_collector(|system| {
        let mut raw = system.welcomed();
        let talking = Arc::clone(&talking);
        thread = Some(std::thread::spawn(move || {
            let frames: Vec<u8> =
                (0..1000).flat_map(|_| wire::encode_frame(&FILE).unwrap()).collect();
            raw.link.socket().set_deadline(Duration::from_secs(600));
            while talking.load(Relaxed) && raw.link.write_all(&frames).is_ok() {}
        }));
    });
    // The collector has ended while the shipper was still sending.
    talking.store(false, Relaxed);
    thread.unwrap().join().unwrap();
}
