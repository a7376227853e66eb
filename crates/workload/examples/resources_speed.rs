//! Speed and memory of filling in the resources of steps: synthetic requests of a server with
//! readers that hand each request to workers, which call three other servers.
//!
//! `cargo run --release -p workload --example resources_speed -- [STEPS]`, by default a million.

use std::error::Error;
use std::fs::read_to_string;
use std::path::Path;

use events::{AttributeValue, Event, EventWriter};
use out_of_core::{NameId, NameInterner};
use request_flow::tables::RequestWriter;
use request_flow::{Request, Step, StepThreads};
use workload::resources::{RequestTablePaths, fill_resources};

/// Sequential calls of each request.
const CALLS: i64 = 3;
/// Time between the begins of two requests, in nanoseconds.
const PERIOD: i64 = 400_000;
/// Threads of each process.
const THREADS: i64 = 16;
/// Maximum number of bytes of timelines in memory.
const MEMORY: u64 = 256 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let steps = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse::<i64>())?;
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name);
    let (requests, of_steps, events) =
        (path("requests.parquet"), path("steps.parquet"), path("events.parquet"));
    let from = RequestTablePaths { requests: &(&requests).into(), steps: &(&of_steps).into() };
    let made = make(steps / (1 + CALLS), from, &events)?;
    let (filled, filled_steps) = (path("filled.parquet"), path("filled_steps.parquet"));
    let before = ticks()?;
    let begin = std::time::Instant::now();
    let charged = fill_resources(
        from,
        RequestTablePaths { requests: &(&filled).into(), steps: &(&filled_steps).into() },
        MEMORY,
        &events,
    )?;
    let (took, used) = (begin.elapsed().as_secs_f64(), (ticks()? - before) as f64 / 100.0);
    let status = read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("{steps} steps, {made} events: {took:.2} s, {used:.2} s of processor time, {peak}");
    println!("charged: {:?}", charged.charged_share());
    Ok(())
}

/// Processor time of this process so far, in hundredths of a second.
fn ticks() -> Result<u64, Box<dyn Error>> {
    let text = read_to_string("/proc/self/stat")?;
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let mut fields = after_name.split_whitespace().skip(11);
    let mut next = || fields.next().unwrap_or("0").parse::<u64>();
    Ok(next()? + next()?)
}

/// Writes `requests` requests and the events of their threads. Returns the number of events.
fn make(
    requests: i64,
    tables: RequestTablePaths<'_>,
    path: &Path,
) -> Result<usize, Box<dyn Error>> {
    let mut names = NameInterner::default();
    let mut maker = RecordingGenerator::new(&mut names);
    let mut writer = RequestWriter::create(tables.requests, tables.steps)?;
    for number in 0..requests {
        writer.push_request(maker.request(number), &names)?;
    }
    writer.finish(&names)?;
    maker.events.sort_by_key(|(event, _)| event.time);
    let mut writer = EventWriter::create(path)?;
    let [by, duration, signalled] = ["by", "duration", "signalled"].map(|name| names.intern(name));
    for (event, woken_by) in &maker.events {
        let wake = [(by, *woken_by), (duration, 9_000), (signalled, event.time - 2_000)];
        let of = wake.iter().filter(|_| *woken_by > 0);
        writer.push_event(
            *event,
            of.map(|(name, of)| (*name, AttributeValue::Int(*of))),
            &names,
        )?;
    }
    writer.finish(&names)?;
    Ok(maker.events.len())
}

/// Generates requests and the events of their threads.
struct RecordingGenerator {
    host: NameId,
    operations: [NameId; 2],
    switched_in: NameId,
    switched_out: NameId,
    wake: NameId,
    /// Each event with the id of the thread that woke the thread of the event, or 0.
    events: Vec<(Event, i64)>,
}

impl RecordingGenerator {
    fn new(names: &mut NameInterner) -> RecordingGenerator {
        let mut number = |name: &str| names.intern(name);
        RecordingGenerator {
            host: number("host"),
            operations: [number("web:80"), number("store:90")],
            switched_in: number("sched/In"),
            switched_out: number("sched/Out"),
            wake: number("sockcap/Wake"),
            events: Vec::new(),
        }
    }

    fn event(&mut self, time: i64, process: i32, thread: i32, kind: NameId, by: i32) {
        let host = self.host;
        let event = Event { time, kind, host, processor: thread % 2, process, thread };
        self.events.push((event, by.into()));
    }

    /// A reader receives the request, a worker processes it and responds; it waits for each of its
    /// calls.
    fn request(&mut self, number: i64) -> Request {
        let begin = 1_700_000_000_000_000_000 + number * PERIOD;
        let (reader, worker) = ((number % THREADS) as i32 + 1, (number % THREADS) as i32 + 101);
        let (switched_in, switched_out, wake) = (self.switched_in, self.switched_out, self.wake);
        let [web, store] = self.operations;
        self.event(begin - 1_000, 1, reader, switched_in, 0);
        self.event(begin + 10_000, 1, worker, wake, reader);
        self.event(begin + 11_000, 1, reader, switched_out, 0);
        self.event(begin + 9_000, 1, worker, switched_in, 0);
        let mut calls = Vec::new();
        let mut at = begin + 20_000;
        for call in 0..CALLS {
            let thread = (number % THREADS) as i32 + 201 + 100 * call as i32;
            self.event(at + 1_000, 1, worker, switched_out, 0);
            self.event(at + 10_000, 2, thread, switched_in, 0);
            self.event(at + 51_000, 2, thread, switched_out, 0);
            self.event(at + 60_000, 1, worker, switched_in, 0);
            calls.push(Step {
                parent: Some(0),
                host: self.host,
                caller_begin: Some(at),
                begin: Some(at + 11_000),
                end: Some(at + 50_000),
                caller_end: Some(at + 61_000),
                threads: StepThreads {
                    process: Some(2),
                    begin: Some(thread),
                    end: Some(thread),
                    caller_process: Some(1),
                    caller_begin: Some(worker),
                    caller_end: Some(worker),
                },
                ..Step::new(store, store)
            });
            at += 70_000;
        }
        self.event(at + 1_000, 1, worker, switched_out, 0);
        let threads = StepThreads {
            process: Some(1),
            begin: Some(reader),
            end: Some(worker),
            ..StepThreads::default()
        };
        let (begin, end) = (Some(begin), Some(at));
        let mut request = Request { probability: 1.0, ..Request::default() };
        request.push_step(Step { begin, end, threads, host: self.host, ..Step::new(web, web) }, []);
        calls.into_iter().for_each(|call| request.push_step(call, []));
        request
    }
}
