//! Hand-written reports on which the outputs are tested. The patterns are those of `tests/support`,
//! which the tests of other crates use, too.

use analyze::paths::{
    CallOutcomes, DelayStatistics, DelayTable, HopDelays, NodeDelays, PathPattern,
};
use analyze::{CallEvidence, ServiceEvidence};
use message_trace::TransportProtocol;

use crate::clocks::{ClockStep, ComparedClock};
use crate::{DecidedCalls, DelaysBy, InferenceLimit, RestSums, TraceMeta, UnseenNote};

pub(crate) use test_support::patterns::*;

/// A trace with unseen parts.
pub(crate) fn sample_meta() -> TraceMeta {
    let note = |count, label: &str| UnseenNote { label: label.to_owned(), count };
    TraceMeta {
        source: "sockcap.data".to_owned(),
        messages: 2_416,
        processes: 7,
        hosts: 1,
        begin: None,
        span: 12_345_000_000,
        expected_paths: 369.9,
        notes: vec![
            note(14, "messages without a receiver"),
            note(2, "datagrams lost"),
            note(0, "logs with a torn tail"),
        ],
        decided: sample_decided_calls(),
        clocks: sample_clocks(),
        requests: None,
        other: None,
        rest: RestSums::default(),
        filtered: None,
        next_steps: vec!["timelines: sockcap report --html FILE".to_owned()],
    }
}

/// Calls of two services; the tasks of one are not followed.
pub(crate) fn sample_decided_calls() -> DecidedCalls {
    let service = |name: &str, counts: &[(CallEvidence, u64)]| {
        let mut of = ServiceEvidence { service: name.to_owned(), ..ServiceEvidence::default() };
        counts.iter().for_each(|(evidence, calls)| of.calls.add(*evidence, *calls));
        of
    };
    let mut gateway =
        service("gateway", &[(CallEvidence::Inferred, 36), (CallEvidence::Words, 72)]);
    gateway.unfollowed.push("Python 3.15".to_owned());
    let services = vec![gateway, service("app.py", &[(CallEvidence::Tasks, 1_092)])];
    let reason = "Python 3.15, tasks are not followed; calls at more than one request at a time \
                  are inferred";
    let limit = InferenceLimit { service: Some("gateway".to_owned()), reason: reason.to_owned() };
    DecidedCalls { services, limits: vec![limit] }
}

/// Two patterns with operations. Of the first, a fourth of the requests fails, and so do its calls
/// of redis; of the second, half of the responses of redis have an outcome, and some of these fail.
pub(crate) fn patterns_with_operations() -> Vec<PathPattern> {
    let outcomes =
        |answers, errors, error_share| Some(CallOutcomes { answers, errors, error_share });
    let (mut cart, mut start) = (cached_pattern(), cached_pattern());
    (cart.count, cart.expected) = (200, 200.0);
    cart.hops[0].operation = Some("GET /cart/{}".to_owned());
    cart.hops[1].operation = Some("GET /cart/{}".to_owned());
    cart.hops[2].operation = Some("GET".to_owned());
    cart.hops[3].outcomes = outcomes(200, 50, 0.25);
    cart.hops[5].outcomes = outcomes(200, 51, 0.255);
    (start.id, start.count, start.expected) = (1, 100, 50.0);
    start.hops[0].operation = Some("GET /".to_owned());
    start.hops[2].operation = Some("GET".to_owned());
    start.hops[3].outcomes = outcomes(50, 10, 0.16);
    start.hops[5].outcomes = outcomes(100, 0, 0.0);
    vec![cart, start]
}

/// Sample clocks: a reference, a clock that is hours ahead, a clock that was set, a clock with
/// messages in one direction only, and a clock without messages.
pub(crate) fn sample_clocks() -> Vec<ComparedClock> {
    const BEGIN: i64 = 1_700_000_000_000_000_000;
    let host = |host: &str, against: &str, found: &str| ComparedClock {
        host: host.to_owned(),
        against: against.to_owned(),
        found: found.to_owned(),
        at: BEGIN,
        ..ComparedClock::default()
    };
    // Over twelve seconds, a little slower than the fastest.
    let messages = |least: i64, number: i64| -> Vec<[i64; 2]> {
        (0..number)
            .map(|index| {
                [
                    BEGIN + index * 12_000_000_000 / number,
                    least + (index * 7_919) % 9_001 * (index % 5),
                ]
            })
            .collect()
    };
    let ahead = ComparedClock {
        offset_ns: 3 * 3_600_000_000_000 + 123_456_789,
        skew_ppm: 150.042,
        uncertainty_ns: Some(46_200),
        skew_uncertainty_ppm: Some(1.44),
        fastest: [messages(31_000, 90), messages(28_000, 80)],
        ..host("db", "web", "messages: 2,410")
    };
    let stepped = ComparedClock {
        offset_ns: -2_345_678,
        skew_ppm: -12.5,
        uncertainty_ns: Some(61_000),
        skew_uncertainty_ppm: Some(3.1),
        steps: vec![
            ClockStep {
                at: BEGIN + 4_000_000_000,
                offset_ns: 1_500_000_000,
                skew_ppm: -12.4,
                within_ns: 40_000_000,
            },
            ClockStep { at: BEGIN + 8_000_000_000, offset_ns: 0, skew_ppm: 80.0, within_ns: 0 },
        ],
        fastest: [messages(40_000, 60), messages(35_000, 60)],
        ..host("<script>alert(2)</script>", "web", "messages: 800")
    };
    let one_way = ComparedClock {
        offset_ns: 77_000,
        skew_ppm: 3.0,
        fastest: [messages(0, 20), Vec::new()],
        ..host("logger", "web", "messages in one direction: 20")
    };
    vec![
        host("web", "web", "the one that others are compared with"),
        ahead,
        stepped,
        one_way,
        host("alone", "alone", "no messages"),
    ]
}

/// Delays by node and by hop of 400 paths of 10 ms each, all of probability 0.75.
pub(crate) fn sample_delays() -> (DelaysBy, DelaysBy) {
    let of = |count: u64, mean: Option<f64>, bytes| DelayStatistics {
        count,
        expected: count as f64 * 0.75,
        delay: mean.map(|mean| delay_around(mean * MS)),
        total_time: mean.map_or(0.0, |mean| count as f64 * 0.75 * mean * MS),
        bytes,
        connect: None,
    };
    let node = |name: &str, traced, delays| NodeDelays { node: name.to_owned(), traced, delays };
    let nodes = vec![
        node("nginx", true, of(800, Some(0.15), 900.0)),
        node("shop.py", true, of(800, Some(2.0), 420.0)),
        node("10.0.0.2", false, of(120, Some(2.2), 96.0)),
        node(
            "a-service-with-a-very-long-name.production.cluster-17.example",
            true,
            of(3, Some(-0.004), 12.0),
        ),
    ];
    let hop = |src: (&str, &str), dst: (&str, &str), delays| HopDelays {
        src: src.0.to_owned(),
        dst: dst.0.to_owned(),
        src_port: src.1.to_owned(),
        dst_port: dst.1.to_owned(),
        protocol: TransportProtocol::Tcp,
        src_traced: true,
        dst_traced: true,
        delays,
    };
    let mut asked = hop(("shop.py", "*"), ("10.0.0.2", "53"), of(120, None, 64.0));
    (asked.protocol, asked.dst_traced) = (TransportProtocol::Udp, false);
    let hops = vec![
        asked,
        hop(("nginx", "*"), ("shop.py", "18081"), of(400, Some(0.031), 180.0)),
        hop(("shop.py", "18081"), ("nginx", "*"), of(400, Some(0.052), 65_536.0)),
        hop(("shop.py", "unix:/run/cache.sock"), ("nginx", "*"), of(400, Some(0.012), 2_000.0)),
    ];
    let (instances, expected, total_time) = (400, 300.0, 300.0 * 10.0 * MS);
    (
        DelaysBy::Node(DelayTable { rows: nodes, instances, expected, total_time }),
        DelaysBy::Hop(DelayTable { rows: hops, instances, expected, total_time }),
    )
}
