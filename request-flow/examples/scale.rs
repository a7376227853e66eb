//! How long it takes to make paths of requests, stage by stage, and the memory of it all:
//!
//! ```sh
//! cargo run --release -p request-flow --example scale -- [STEPS] [DIRECTORY]
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use analyze::Options;
use message_trace::DataDir;
use request_flow::tables::RequestWriter;
use request_flow::{Names, Request, Step, from_paths, messages_of_requests, paths_of_messages};

/// Services, each with the ones that it calls, one after the other.
const CALLS: [(&str, &[usize]); 8] = [
    ("frontend", &[1, 2, 3, 3, 4, 5]),
    ("cart", &[6]),
    ("catalog", &[7, 7]),
    ("currency", &[]),
    ("ads", &[7]),
    ("checkout", &[1, 2, 3]),
    ("redis", &[]),
    ("sql", &[]),
];

/// Nanoseconds from one request to the next, and those that a hop takes.
const APART: i64 = 2_000_000;
const HOP: i64 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let steps = arguments.next().map_or(Ok(1_000_000), |steps| steps.parse::<u64>())?;
    let directory = arguments.next().map_or_else(
        || std::env::temp_dir().join(format!("scale-{}", std::process::id())),
        PathBuf::from,
    );
    std::fs::create_dir_all(&directory)?;
    let data = DataDir::new(&directory);
    timed("made", || make(&data, steps))?;
    timed("messages", || messages_of_requests(&data, 256 << 20, &()))?;
    let summary = timed("paths", || paths_of_messages(&data, &Options::default(), &()))?;
    let totals = summary.totals;
    println!("{} messages, {} patterns", totals.messages, totals.patterns);
    let there = DataDir::new(directory.join("there"));
    std::fs::create_dir_all(there.path())?;
    for (from, to) in [
        (data.messages(), there.messages()),
        (data.nodes(), there.nodes()),
        (data.paths(), there.paths()),
        (data.patterns(), there.patterns()),
        (data.analysis(), there.analysis()),
    ] {
        std::fs::copy(from, to)?;
    }
    timed("requests", || from_paths(&there, 256 << 20, &()))?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

/// Prints how long `work` takes, and the processor time of all threads.
fn timed<T, E>(what: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let (begin, before) = (Instant::now(), processor_seconds());
    let result = work();
    let (took, busy) = (begin.elapsed().as_secs_f64(), processor_seconds() - before);
    println!("{what}: {took:.2} s, {busy:.2} s of processors");
    result
}

/// Processor time of this process so far, by its clock ticks of a hundredth of a second.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = |field: usize| fields.get(field).and_then(|ticks| ticks.parse::<f64>().ok());
    (ticks(12).unwrap_or(0.0) + ticks(13).unwrap_or(0.0)) / 100.0
}

/// Writes the tables of at least that many steps.
fn make(data: &DataDir, steps: u64) -> Result<(), Box<dyn Error>> {
    let mut made = Made::default();
    let mut writer = RequestWriter::create(&data.requests(), &data.steps())?;
    let mut at = 1_700_000_000_000_000_000;
    while writer.written().1 < steps {
        made.steps.clear();
        made.call(None, 0, at);
        let mut request = Request { probability: 1.0, ..Request::default() };
        request.trace = format!("{:032x}", made.number);
        for step in &made.steps {
            let values = [
                ("rpc.system", "grpc".to_owned()),
                ("rpc.method", "Get".to_owned()),
                ("net.peer.ip", format!("10.0.0.{}", made.number % 250)),
                ("thread.id", (made.number % 16).to_string()),
                ("process.pid", "1".to_owned()),
            ];
            let values = values.each_ref().map(|(name, value)| (made.names.number(name), &**value));
            request.push(*step, values);
        }
        writer.push(request, &made.names)?;
        at += APART;
        made.number += 1;
    }
    Ok(writer.finish(&made.names)?)
}

/// Steps in the making.
#[derive(Default)]
struct Made {
    names: Names,
    /// Number of the request.
    number: u64,
    steps: Vec<Step>,
}

impl Made {
    /// Adds a step and those that it calls; returns when its answer is received.
    fn call(&mut self, parent: Option<u32>, service: usize, sent: i64) -> i64 {
        let (name, calls) = CALLS[service];
        let place = self.steps.len();
        self.steps.push(Step::default());
        let mut now = sent + 2 * HOP;
        for (number, called) in calls.iter().enumerate() {
            // What requests do varies.
            if (self.number / 7) >> (number + service) & 1 == 0 {
                now = self.call(Some(place as u32), *called, now + HOP);
            }
        }
        let end = now + HOP + (self.number as i64 % 97) * 1_000;
        let [node, host, operation] =
            [name.to_owned(), format!("{name}-pod"), format!("shop.{name}/Get")]
                .map(|text| self.names.number(&text));
        self.steps[place] = Step {
            parent,
            host,
            caller_begin: parent.map(|_| sent),
            begin: Some(sent + HOP),
            end: Some(end),
            caller_end: parent.map(|_| end + HOP),
            ..Step::of(node, operation)
        };
        end + HOP
    }
}
