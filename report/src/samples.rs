//! Patterns made by hand, on which the outputs are tested and looked at.

use analyze::paths::{Connects, DelayTable, Delays, Hop, HopDelays, NodeDelays, PathPattern};
use message_trace::Protocol;
use message_trace::stats::Summary;

use crate::clocks::{Clock, ClockStep};
use crate::{DelaysBy, Meta, Note, Rest};

/// A millisecond in nanoseconds.
pub(crate) const MS: f64 = 1e6;

/// A delay around `mean`, with a tail.
pub(crate) fn delay(mean: f64) -> Summary {
    Summary { mean, p50: mean * 0.92, p99: mean * 2.7 }
}

/// A hop over TCP between traced nodes, with its delays in milliseconds.
fn hop(
    parent: Option<usize>,
    src: (&str, &str),
    dst: (&str, &str),
    node: f64,
    network: f64,
) -> Hop {
    let client = |name: &str| name == "CLIENT";
    Hop {
        parent,
        depth: 0,
        src: src.0.to_owned(),
        dst: dst.0.to_owned(),
        src_port: src.1.to_owned(),
        dst_port: dst.1.to_owned(),
        protocol: Protocol::Tcp,
        src_traced: !client(src.0),
        dst_traced: !client(dst.0),
        bytes: 180.0 + 640.0 * node,
        node: (parent.is_some() && !client(src.0)).then(|| delay(node * MS)),
        network: (!client(src.0) && !client(dst.0)).then(|| delay(network * MS)),
        untraced: None,
        connect: None,
    }
}

/// Completes a pattern: depths, and a duration of the longest chain.
fn pattern(id: i64, count: i64, probability: f64, mut hops: Vec<Hop>) -> PathPattern {
    for index in 0..hops.len() {
        hops[index].depth = hops[index].parent.map_or(0, |parent| hops[parent].depth + 1);
    }
    let expected = count as f64 * probability;
    let mut pattern = PathPattern {
        id,
        hops,
        count,
        expected,
        max_probability: (probability * 1.04).min(1.0),
        duration: Summary::default(),
        total_time: 0.0,
    };
    pattern.duration = delay(crate::timing::Timing::of(&pattern).end);
    pattern.total_time = pattern.duration.mean * expected;
    pattern
}

/// CLIENT -> nginx -> app.py -> redis and back: a chain.
pub(crate) fn cached() -> PathPattern {
    let (client, nginx, app, redis) = ("CLIENT", "nginx", "app.py", "redis-server");
    let hops = vec![
        hop(None, (client, "*"), (nginx, "8080"), 0.0, 0.0),
        hop(Some(0), (nginx, "*"), (app, "9000"), 0.112, 0.048),
        hop(Some(1), (app, "*"), (redis, "6379"), 0.871, 0.041),
        hop(Some(2), (redis, "6379"), (app, "*"), 0.062, 0.044),
        hop(Some(3), (app, "9000"), (nginx, "*"), 1.94, 0.051),
        hop(Some(4), (nginx, "8080"), (client, "*"), 0.083, 0.0),
    ];
    pattern(0, 212, 0.962, hops)
}

/// The same where the connection to redis takes 40 ms to be made, in every fourth instance.
pub(crate) fn connecting() -> PathPattern {
    let mut hops = cached().hops;
    let connects = Connects { count: 53, expected: 51.0, share: 0.25, delay: delay(40.0 * MS) };
    hops[2].connect = Some(connects);
    pattern(4, 212, 0.962, hops)
}

/// A request that asks two servers at once and waits for both: a fork.
pub(crate) fn forked() -> PathPattern {
    let hops = vec![
        hop(None, ("CLIENT", "*"), ("gateway", "8000"), 0.0, 0.0),
        hop(Some(0), ("gateway", "*"), ("prices", "7001"), 0.40, 0.25),
        hop(Some(1), ("prices", "7001"), ("gateway", "*"), 6.2, 0.22),
        hop(Some(0), ("gateway", "*"), ("stock", "7002"), 0.72, 0.31),
        hop(Some(3), ("stock", "7002"), ("gateway", "*"), 31.5, 0.28),
        hop(Some(4), ("gateway", "8000"), ("CLIENT", "*"), 2.4, 0.0),
        hop(Some(4), ("gateway", "*"), ("audit", "udp/514"), 2.9, 0.19),
    ];
    let mut pattern = pattern(1, 96, 0.871, hops);
    pattern.hops[6].protocol = Protocol::Udp;
    pattern.hops[6].dst_port = "514".to_owned();
    pattern
}

/// A lookup at a server that was not traced: a diamond.
pub(crate) fn lookup() -> PathPattern {
    let (client, app, dns) = ("CLIENT", "app.py", "10.0.0.2");
    let mut query = hop(Some(1), (app, "*"), (dns, "53"), 0.35, 0.0);
    (query.protocol, query.dst_traced, query.network) = (Protocol::Udp, false, None);
    let mut answer = hop(Some(2), (dns, "53"), (app, "*"), 0.0, 0.0);
    (answer.protocol, answer.src_traced) = (Protocol::Udp, false);
    (answer.node, answer.network, answer.untraced) = (None, None, Some(delay(2.2 * MS)));
    let hops = vec![
        hop(None, (client, "*"), ("nginx", "8080"), 0.0, 0.0),
        hop(Some(0), ("nginx", "*"), (app, "9000"), 0.098, 0.046),
        query,
        answer,
        hop(Some(3), (app, "9000"), ("nginx", "*"), 0.61, 0.052),
        hop(Some(4), ("nginx", "8080"), (client, "*"), 0.079, 0.0),
    ];
    pattern(2, 88, 0.934, hops)
}

/// Names that would be markup, long names and unix endpoints.
pub(crate) fn hostile() -> PathPattern {
    let evil = "<script>alert(1)</script>";
    let long = "a-service-with-a-very-long-name.production.cluster-17.example&co\"'";
    let hops = vec![
        hop(None, ("CLIENT", "*"), (evil, "80"), 0.0, 0.0),
        hop(Some(0), (evil, "*"), (long, "\u{1b}]0;\u{7}unix:/run/<b>x</b>.sock"), 0.2, 0.01),
        hop(Some(1), (long, "80"), (evil, "*"), 0.4, -0.02),
        hop(Some(2), (evil, "80"), ("CLIENT", "*"), 0.1, 0.0),
    ];
    let mut pattern = pattern(3, 1, 0.31, hops);
    pattern.hops[1].protocol = Protocol::UnixStream;
    pattern.hops[2].protocol = Protocol::UnixStream;
    pattern
}

/// A pipeline of `length` hops that never answer, forking at every tenth.
pub(crate) fn pipeline(id: i64, length: usize) -> PathPattern {
    let name = |stage: usize| format!("stage-{stage}");
    let hops = (0..length)
        .map(|index| {
            let parent = if index % 10 == 9 { index.checked_sub(2) } else { index.checked_sub(1) };
            let src = parent.map_or_else(|| "source".to_owned(), name);
            let delay = 0.02 + (index * 37 % 11) as f64 * 0.05;
            hop(parent, (&src, "*"), (&name(index), "9000"), delay, 0.03)
        })
        .collect();
    pattern(id, 12, 0.8, hops)
}

/// The patterns of a small system.
pub(crate) fn some() -> Vec<PathPattern> {
    vec![cached(), forked(), lookup(), hostile()]
}

/// `number` patterns, made of the others with other names and delays.
pub(crate) fn many(number: usize) -> Vec<PathPattern> {
    let kinds = [cached(), forked(), lookup()];
    (0..number)
        .map(|index| {
            let mut made = kinds[index % kinds.len()].clone();
            for hop in &mut made.hops {
                for name in
                    [&mut hop.src, &mut hop.dst].into_iter().filter(|name| *name != "CLIENT")
                {
                    *name = format!("{name}-{}", index / kinds.len() % 97);
                }
            }
            let factor = 1.0 + (index * 7919 % 1009) as f64 / 100.0;
            made.id = index as i64;
            made.count = 1 + (index * 31 % 500) as i64;
            made.expected = made.count as f64 * (0.3 + (index % 70) as f64 / 100.0);
            made.duration.mean *= factor;
            made.duration.p99 *= factor;
            made.total_time = made.expected * made.duration.mean;
            made
        })
        .collect()
}

/// A trace with holes.
pub(crate) fn meta() -> Meta {
    let note = |count, label: &str| Note { label: label.to_owned(), count };
    Meta {
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
        clocks: clocks(),
        rest: Rest::default(),
        filtered: None,
        next_steps: vec!["timelines: sockcap report --html FILE".to_owned()],
    }
}

/// A reference, a clock that is hours ahead, one that was set, one with messages in one direction
/// only, and one that nobody talked to.
pub(crate) fn clocks() -> Vec<Clock> {
    const BEGIN: i64 = 1_700_000_000_000_000_000;
    let host = |host: &str, against: &str, found: &str| Clock {
        host: host.to_owned(),
        against: against.to_owned(),
        found: found.to_owned(),
        at: BEGIN,
        ..Clock::default()
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
    let ahead = Clock {
        offset_ns: 3 * 3_600_000_000_000 + 123_456_789,
        skew_ppm: 150.042,
        uncertainty_ns: Some(46_200),
        skew_uncertainty_ppm: Some(1.44),
        fastest: [messages(31_000, 90), messages(28_000, 80)],
        ..host("db", "web", "messages: 2,410")
    };
    let stepped = Clock {
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
    let one_way = Clock {
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
pub(crate) fn delays() -> (DelaysBy, DelaysBy) {
    let of = |count: u64, mean: Option<f64>, bytes| Delays {
        count,
        expected: count as f64 * 0.75,
        delay: mean.map(|mean| delay(mean * MS)),
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
        protocol: Protocol::Tcp,
        src_traced: true,
        dst_traced: true,
        delays,
    };
    let mut asked = hop(("shop.py", "*"), ("10.0.0.2", "53"), of(120, None, 64.0));
    (asked.protocol, asked.dst_traced) = (Protocol::Udp, false);
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
