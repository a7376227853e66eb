//! Hosts with clocks of their own, from their logs to the times of the messages.

use ::clocks::ClockModel;
use ::clocks::ClockSource;
use message_trace::Message;
use socket_log::write::{EPOCH, LogWriter};

use crate::common::{Outcome, System, accept, connect};

const SECOND: u64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND as i64;

/// A host's clock: ahead by `offset` ns at the beginning, and faster by `ppm`.
#[derive(Clone, Copy)]
struct Host {
    name: &'static str,
    boot: u8,
    offset: i64,
    ppm: f64,
}

const A: Host = Host { name: "a", boot: 1, offset: 0, ppm: 0.0 };
const B: Host = Host { name: "b", boot: 2, offset: 2 * HOUR, ppm: 150.0 };
const C: Host = Host { name: "c", boot: 3, offset: -HOUR, ppm: -100.0 };

impl Host {
    fn log(self, pid: u32) -> LogWriter {
        let mut log = LogWriter::new(self.name, pid, &format!("/usr/bin/p{pid}"));
        log.set_boot(self.boot).set_epoch(EPOCH + self.offset);
        log
    }

    /// The tick at a true time.
    fn tick(self, at: u64) -> u64 {
        at.saturating_add_signed((at as f64 * self.ppm / 1e6).round() as i64)
    }

    /// The true time at which the clock showed `time`, had it never been set.
    fn truth(self, time: i64) -> i64 {
        ((time - EPOCH - self.offset) as f64 / (1.0 + self.ppm / 1e6)).round() as i64
    }
}

/// A connection with requests in one direction and answers in the other, twenty times a second.
/// Each message takes 40 us and a little more.
fn talk(
    client: (&mut LogWriter, Host),
    server: (&mut LogWriter, Host),
    port: u16,
    between: [u64; 2],
) {
    let ((client, here), (server, there)) = (client, server);
    let names = (format!("10.0.{port}.1:4000"), format!("10.0.{port}.2:80"));
    connect(client, here.tick(between[0]), 1, u64::from(port), &names.0, &names.1);
    accept(server, there.tick(between[0] + 50_000), 1, u64::from(port) + 1, &names.1, &names.0);
    let mut more = 12_345;
    let mut at = between[0] + SECOND / 100;
    while at < between[1] {
        let mut took = || {
            more = (more * 7_919 + 1) % 100_003;
            40_000 + more
        };
        let (asked, answered) = (at + took(), at + 200_000);
        client.send(here.tick(at), 1, 10);
        server.receive(there.tick(asked), 1, 10).send(there.tick(answered), 1, 20);
        client.receive(here.tick(answered + took()), 1, 20);
        at += SECOND / 20;
    }
}

/// Checks that each message's corrected times are the true ones, to `most` ns, and that none
/// arrives before it was sent by more than is stated.
fn hold(outcome: &Outcome, clocks: &ClockModel, most: i64) {
    let host = |m: &Message, src: bool| {
        let name = &outcome.trace.nodes.get(if src { m.src } else { m.dst }).unwrap().host;
        *[A, B, C].iter().find(|host| host.name == name).unwrap()
    };
    // The common clock is the reference's.
    let reference = *[A, B, C].iter().find(|host| host.name == clocks.reference).unwrap();
    let stated = |host: Host| {
        clocks.hosts.iter().find(|clock| clock.host == host.name).unwrap().uncertainty_ns.unwrap()
    };
    assert!(outcome.trace.messages().count() > 500);
    for m in outcome.trace.messages() {
        let (src, dst) = (host(&m, true), host(&m, false));
        for (host, own, common) in [(src, m.send_first, m.send_ts), (dst, m.recv_last, m.recv_ts)] {
            let off = reference.truth(common.unwrap()) - host.truth(own.unwrap());
            assert!(off.abs() <= most, "{off} {m:?} {clocks:?}");
        }
        let took = m.recv_ts.unwrap() - m.send_ts.unwrap();
        assert!(took > -stated(src) - stated(dst) && took < 1_000_000, "{took} {m:?}");
    }
}

#[test]
fn hosts_have_clocks_of_their_own() {
    let system = System::new();
    let (mut a, mut b, mut c) = (A.log(10), B.log(20), C.log(30));
    let mut b2 = B.log(21);
    talk((&mut a, A), (&mut b, B), 1, [0, 20 * SECOND]);
    // Only the second knows the third.
    talk((&mut c, C), (&mut b2, B), 2, [2 * SECOND, 20 * SECOND]);
    system.add("a", "10", &a).add("b", "20", &b).add("b", "21", &b2).add("c", "30", &c);
    let outcome = system.reconcile();
    let clocks = ClockModel::read(system.data().clocks_path()).unwrap();
    assert_eq!(clocks.reference, "b", "it is the best connected");
    hold(&outcome, &clocks, 60_000);
    let found = |name: &str| clocks.hosts.iter().find(|clock| clock.host == name).unwrap();
    for (host, skew) in [(found("a"), -150.0), (found("c"), -250.0)] {
        assert_eq!(host.source, ClockSource::Messages);
        assert!((host.skew_ppm - skew).abs() < 3.0, "{host:?}");
        assert!(host.steps.is_empty(), "{host:?}");
    }
    assert_eq!(clocks.links.len(), 2);
}

#[test]
fn a_clock_that_is_set_back_loses_no_order() {
    let system = System::new();
    let (mut a, mut b) = (A.log(10), B.log(20));
    talk((&mut a, A), (&mut b, B), 1, [0, 10 * SECOND]);
    // At 10 s it is set back by 5 s, so 5 s are shown twice. One process saw it, another one began
    // after it.
    b.set_epoch(EPOCH + B.offset - 5 * SECOND as i64);
    let mut b2 = B.log(21);
    b2.set_epoch(EPOCH + B.offset - 5 * SECOND as i64).set_start(B.tick(11 * SECOND));
    let mut a2 = A.log(11);
    a2.set_start(11 * SECOND);
    talk((&mut a, A), (&mut b, B), 3, [10 * SECOND, 20 * SECOND]);
    talk((&mut a2, A), (&mut b2, B), 2, [12 * SECOND, 20 * SECOND]);
    // The header's anchor is of the beginning.
    b.set_epoch(EPOCH + B.offset);
    system.add("a", "10", &a).add("a", "11", &a2).add("b", "20", &b).add("b", "21", &b2);
    let outcome = system.reconcile();
    let clocks = ClockModel::read(system.data().clocks_path()).unwrap();
    hold(&outcome, &clocks, 60_000);
    let b = clocks.hosts.iter().find(|clock| clock.host == "b").unwrap();
    let [step] = b.steps[..] else { panic!("{b:?}") };
    assert_eq!(step.offset_ns, -5 * SECOND as i64);
    let reference = if clocks.reference == "a" { A } else { B };
    let at = reference.truth(step.at);
    // The log has one anchor per second, so the setting was in the middle between two or half a
    // second around that.
    assert!((at - 10 * SECOND as i64).abs() <= step.within_ns + 100_000, "{at} {step:?}");
    assert!((1..SECOND as i64).contains(&step.within_ns), "{step:?}");
    // A time that it showed converts to the common one: after 15 s it showed the correct time of 10
    // s.
    let shown = |at: u64, set: i64| EPOCH + B.offset + B.tick(at) as i64 + set;
    for (at, set) in [(3 * SECOND, 0), (18 * SECOND, -5 * SECOND as i64)] {
        let off = reference.truth(b.common_time(shown(at, set))) - at as i64;
        assert!(off.abs() < 60_000, "{at} {off} {b:?}");
    }
}
