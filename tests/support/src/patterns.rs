//! Patterns built by hand, with which outputs are tested and viewed.

use analyze::paths::timing::PatternTiming;
use analyze::paths::{ConnectTimes, Hop, PathPattern};
use message_trace::TransportProtocol;
use message_trace::stats::DelaySummary;

/// A millisecond in nanoseconds.
pub const MS: f64 = 1e6;

/// A delay around `mean`, with a tail.
pub fn delay_around(mean: f64) -> DelaySummary {
    DelaySummary { mean, p50: mean * 0.92, p99: mean * 2.7 }
}

/// A hop over TCP between traced nodes, with its delays in milliseconds.
fn tcp_hop(
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
        protocol: TransportProtocol::Tcp,
        src_traced: !client(src.0),
        dst_traced: !client(dst.0),
        bytes: 180.0 + 640.0 * node,
        node: (parent.is_some() && !client(src.0)).then(|| delay_around(node * MS)),
        network: (!client(src.0) && !client(dst.0)).then(|| delay_around(network * MS)),
        untraced: None,
        connect: None,
        operation: None,
        outcomes: None,
    }
}

/// Completes a pattern: depths, and a duration of the longest chain.
fn complete_pattern(id: i64, count: i64, probability: f64, mut hops: Vec<Hop>) -> PathPattern {
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
        duration: DelaySummary::default(),
        total_time: 0.0,
    };
    pattern.duration = delay_around(PatternTiming::from_pattern(&pattern).end);
    pattern.total_time = pattern.duration.mean * expected;
    pattern
}

/// CLIENT -> nginx -> app.py -> redis and back: a chain.
pub fn cached_pattern() -> PathPattern {
    let (client, nginx, app, redis) = ("CLIENT", "nginx", "app.py", "redis-server");
    let hops = vec![
        tcp_hop(None, (client, "*"), (nginx, "8080"), 0.0, 0.0),
        tcp_hop(Some(0), (nginx, "*"), (app, "9000"), 0.112, 0.048),
        tcp_hop(Some(1), (app, "*"), (redis, "6379"), 0.871, 0.041),
        tcp_hop(Some(2), (redis, "6379"), (app, "*"), 0.062, 0.044),
        tcp_hop(Some(3), (app, "9000"), (nginx, "*"), 1.94, 0.051),
        tcp_hop(Some(4), (nginx, "8080"), (client, "*"), 0.083, 0.0),
    ];
    complete_pattern(0, 212, 0.962, hops)
}

/// The same pattern with a connection to redis that takes 40 ms in every fourth instance.
pub fn connecting_pattern() -> PathPattern {
    let mut hops = cached_pattern().hops;
    let connects =
        ConnectTimes { count: 53, expected: 51.0, share: 0.25, delay: delay_around(40.0 * MS) };
    hops[2].connect = Some(connects);
    complete_pattern(4, 212, 0.962, hops)
}

/// A request that calls two servers concurrently and waits for both: a fork.
pub fn forked_pattern() -> PathPattern {
    let hops = vec![
        tcp_hop(None, ("CLIENT", "*"), ("gateway", "8000"), 0.0, 0.0),
        tcp_hop(Some(0), ("gateway", "*"), ("prices", "7001"), 0.40, 0.25),
        tcp_hop(Some(1), ("prices", "7001"), ("gateway", "*"), 6.2, 0.22),
        tcp_hop(Some(0), ("gateway", "*"), ("stock", "7002"), 0.72, 0.31),
        tcp_hop(Some(3), ("stock", "7002"), ("gateway", "*"), 31.5, 0.28),
        tcp_hop(Some(4), ("gateway", "8000"), ("CLIENT", "*"), 2.4, 0.0),
        tcp_hop(Some(4), ("gateway", "*"), ("audit", "udp/514"), 2.9, 0.19),
    ];
    let mut pattern = complete_pattern(1, 96, 0.871, hops);
    pattern.hops[6].protocol = TransportProtocol::Udp;
    pattern.hops[6].dst_port = "514".to_owned();
    pattern
}

/// A lookup at a server that was not traced: a diamond.
pub fn lookup_pattern() -> PathPattern {
    let (client, app, dns) = ("CLIENT", "app.py", "10.0.0.2");
    let mut query = tcp_hop(Some(1), (app, "*"), (dns, "53"), 0.35, 0.0);
    (query.protocol, query.dst_traced, query.network) = (TransportProtocol::Udp, false, None);
    let mut answer = tcp_hop(Some(2), (dns, "53"), (app, "*"), 0.0, 0.0);
    (answer.protocol, answer.src_traced) = (TransportProtocol::Udp, false);
    (answer.node, answer.network, answer.untraced) = (None, None, Some(delay_around(2.2 * MS)));
    let hops = vec![
        tcp_hop(None, (client, "*"), ("nginx", "8080"), 0.0, 0.0),
        tcp_hop(Some(0), ("nginx", "*"), (app, "9000"), 0.098, 0.046),
        query,
        answer,
        tcp_hop(Some(3), (app, "9000"), ("nginx", "*"), 0.61, 0.052),
        tcp_hop(Some(4), ("nginx", "8080"), (client, "*"), 0.079, 0.0),
    ];
    complete_pattern(2, 88, 0.934, hops)
}

/// Names that would be markup, long names and unix endpoints.
pub fn hostile_pattern() -> PathPattern {
    let evil = "<script>alert(1)</script>";
    let long = "a-service-with-a-very-long-name.production.cluster-17.example&co\"'";
    let hops = vec![
        tcp_hop(None, ("CLIENT", "*"), (evil, "80"), 0.0, 0.0),
        tcp_hop(Some(0), (evil, "*"), (long, "\u{1b}]0;\u{7}unix:/run/<b>x</b>.sock"), 0.2, 0.01),
        tcp_hop(Some(1), (long, "80"), (evil, "*"), 0.4, -0.02),
        tcp_hop(Some(2), (evil, "80"), ("CLIENT", "*"), 0.1, 0.0),
    ];
    let mut pattern = complete_pattern(3, 1, 0.31, hops);
    pattern.hops[1].protocol = TransportProtocol::UnixStream;
    pattern.hops[2].protocol = TransportProtocol::UnixStream;
    pattern
}

/// A pipeline of `length` hops without responses, which forks at every tenth.
pub fn pipeline_pattern(id: i64, length: usize) -> PathPattern {
    let name = |stage: usize| format!("stage-{stage}");
    let hops = (0..length)
        .map(|index| {
            let parent = if index % 10 == 9 { index.checked_sub(2) } else { index.checked_sub(1) };
            let src = parent.map_or_else(|| "source".to_owned(), name);
            let delay = 0.02 + (index * 37 % 11) as f64 * 0.05;
            tcp_hop(parent, (&src, "*"), (&name(index), "9000"), delay, 0.03)
        })
        .collect();
    complete_pattern(id, 12, 0.8, hops)
}

/// The patterns of a small system.
pub fn small_system() -> Vec<PathPattern> {
    vec![cached_pattern(), forked_pattern(), lookup_pattern(), hostile_pattern()]
}

/// `number` patterns, made of the others with other names and delays.
pub fn many_patterns(number: usize) -> Vec<PathPattern> {
    let kinds = [cached_pattern(), forked_pattern(), lookup_pattern()];
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
