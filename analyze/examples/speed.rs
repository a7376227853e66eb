//! Measures the speed of an analysis on a synthetic trace of requests through three tiers: client
//! -> web -> app -> db, twice, and back, eight messages per request, with exponential delays.
//!
//! `cargo run --release -p analyze --example speed -- [MESSAGES] [PARALLELISM] [TRY-BOTH-LIMIT]
//! [ALGORITHM]`

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::time::Instant;

use analyze::{Options, analyze};
use message_trace::{
    DataDir, EndPair, Endpoint, FROM_ACCEPTING, FROM_CONNECTING, FlowId, Message, MessageTrace,
    Node, NodeEnd, NodeId, Progress, TransportProtocol,
};

/// Mean processing delay at a node and mean network latency, in nanoseconds.
const NODE: f64 = 1_000_000.0;
const NETWORK: f64 = 100_000.0;

fn main() -> Result<(), message_trace::PathError> {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        |default: f64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (messages, parallelism) = (number(1e6) as usize, number(2.0));
    let defaults = Options::default();
    let try_both_limit = number(defaults.try_both_limit as f64) as usize;
    let algorithm =
        arguments.next().and_then(|name| name.parse().ok()).unwrap_or(defaults.algorithm);
    let options = Options { try_both_limit, algorithm, ..defaults };
    let trace = synthetic(messages, parallelism);
    let steps = Steps(Mutex::new((Instant::now(), String::from("start"))));
    let directory = std::env::temp_dir().join(format!("analyze-speed-{}", std::process::id()));
    std::fs::create_dir_all(&directory)
        .map_err(|error| message_trace::PathError::io(&directory, error))?;
    let dir = DataDir::new(&directory);
    let start = Instant::now();
    let written = trace.write(dir.messages_path(), dir.nodes_path()).and_then(|()| {
        drop(trace);
        let summary = analyze(&dir, &options, &steps)?;
        steps.begin_step("", 0);
        println!("all           {:>8.3} s", start.elapsed().as_secs_f64());
        println!("{:#?}", summary.totals);
        Ok(())
    });
    std::fs::remove_dir_all(&directory)
        .map_err(|error| message_trace::PathError::io(&directory, error))?;
    written?;
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// Prints how long each step took.
struct Steps(Mutex<(Instant, String)>);

impl Progress for Steps {
    fn begin_step(&self, what: &str, _: u64) {
        if let Ok(mut last) = self.0.lock() {
            println!("{:<22} {:>8.3} s", last.1, last.0.elapsed().as_secs_f64());
            *last = (Instant::now(), what.to_owned());
        }
    }
    fn advance_step(&self, _: u64) {}
}

/// Builds a trace whose requests begin so often that `parallelism` of them are open at a time.
fn synthetic(messages: usize, parallelism: f64) -> MessageTrace {
    let mut trace = MessageTrace::default();
    let names = ["load", "web", "app", "app", "app", "app", "db"];
    let nodes: Vec<NodeId> = names
        .iter()
        .enumerate()
        .map(|(pid, name)| {
            let (host, command) = ("h".to_owned(), (*name).to_owned());
            trace.add_node(Node {
                host,
                command,
                pid: Some(pid as i32),
                traced: true,
                ..Node::default()
            })
        })
        .collect();
    let mut random = Random(1);
    let mut begin = 0.0;
    let requests = messages / 8;
    for request in 0..requests {
        begin += random.exponential(7.0 * (NODE + NETWORK) / parallelism);
        let app = nodes[2 + random.below(4)];
        let mut time = begin;
        let hops = [(nodes[0], nodes[1]), (nodes[1], app), (app, nodes[6]), (app, nodes[6])];
        for (depth, answer) in [
            (0, false),
            (1, false),
            (2, false),
            (2, true),
            (3, false),
            (3, true),
            (1, true),
            (0, true),
        ] {
            let (asks, answers) = hops[depth];
            let sent = time as i64;
            let received = (time + random.exponential(NETWORK)) as i64;
            time = received as f64 + random.exponential(NODE);
            let mut endpoint = |node: NodeId, port| {
                let address = IpAddr::V4(Ipv4Addr::new(10, 0, 0, node.index() as u8));
                trace.intern(&Endpoint::Inet(SocketAddr::new(address, port)))
            };
            let ends = (endpoint(asks, 32_768 + (request % 10_000) as u16), endpoint(answers, 80));
            let (src, dst) = if answer { (answers, asks) } else { (asks, answers) };
            let (src_endpoint, dst_endpoint) = if answer { (ends.1, ends.0) } else { ends };
            let ends = EndPair {
                src: NodeEnd::new(src, src_endpoint),
                dst: NodeEnd::new(dst, dst_endpoint),
                protocol: TransportProtocol::Tcp,
            };
            let flow = FlowId::from_number((request * 8 + depth) as i64);
            let direction = if answer { FROM_ACCEPTING } else { FROM_CONNECTING };
            let message =
                Message::between_ends(ends, flow, direction).with_times(Some(sent), Some(received));
            let message = Message { bytes: 100, ..message };
            trace.push(&message, None);
        }
    }
    trace.sort_messages();
    trace
}

/// A linear congruential generator, which gives the same trace every time.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -self.uniform().ln() * mean
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.uniform() * bound as f64) as usize
    }
}
