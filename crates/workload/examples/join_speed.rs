//! Speed and memory of the join: synthetic events of a server with thread switches.
//!
//! `cargo run --release -p workload --example join_speed -- [EVENTS]`, by default 1.2 million, as
//! in the Magpie paper (section 3.4.1: 5.6 s, 10 MB).

use events::{AttributeValue, Event, EventBatch};
use out_of_core::{NameId, NameInterner};
use workload::join::{JoinOptions, TemporalJoin};
use workload::schema::shipped_schemas;

/// Events of a request, the average in the paper.
const EVENTS_OF_REQUEST: u64 = 36;
/// Serving threads.
const THREADS: u64 = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let events = std::env::args().nth(1).map_or(Ok(1_200_000), |text| text.parse::<u64>())?;
    let mut names = NameInterner::default();
    let linux =
        shipped_schemas().iter().find(|shipped| shipped.name == "linux").ok_or("no schema")?;
    let schema = linux.parse_schema()?;
    let mut join = TemporalJoin::new(&schema, JoinOptions::default(), &mut names)?;
    let mut maker = EventGenerator::new(&mut names);
    let (mut batch, mut requests, mut joined) = (EventBatch::default(), 0u64, 0u64);
    let (mut made, mut generation_ns) = (0, 0);
    let begin = processor_ns()?;
    maker.accept(&mut batch);
    join.push_batch(&batch, &mut names, &mut |_| {});
    while made < events {
        let before = processor_ns()?;
        batch.clear();
        while batch.len() < 4096 {
            maker.push(made, &mut batch);
            made += 1;
        }
        generation_ns += processor_ns()? - before;
        join.push_batch(&batch, &mut names, &mut |request| {
            (requests, joined) = (requests + 1, joined + request.events.len() as u64);
        });
    }
    join.finish(&mut |request| {
        (requests, joined) = (requests + 1, joined + request.events.len() as u64);
    });
    let taken = (processor_ns()? - begin - generation_ns) as f64 / 1e9;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("{made} events, {requests} requests of {joined} events: {taken:.2} s, {peak}");
    println!("{:?} {:?}", join.join_counts(), join.charged_share().charged_share());
    Ok(())
}

/// Processor time of this thread so far, in nanoseconds, which other programs do not affect.
fn processor_ns() -> Result<i64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("no time")?.parse()?)
}

/// Generates events: each thread reads a request, is switched out and in, and responds.
struct EventGenerator {
    kinds: [NameId; 5],
    accept: NameId,
    attributes: [NameId; 4],
    host: NameId,
}

impl EventGenerator {
    fn new(names: &mut NameInterner) -> EventGenerator {
        let kinds = [
            "syscalls/sys_enter_read",
            "syscalls/sys_exit_read",
            "syscalls/sys_enter_write",
            "syscalls/sys_exit_write",
            "sched/sched_switch",
        ];
        EventGenerator {
            kinds: kinds.map(|kind| names.intern(kind)),
            accept: names.intern("syscalls/sys_exit_accept4"),
            attributes: ["fd", "ret", "prev_state", "next_pid"].map(|name| names.intern(name)),
            host: names.intern("web"),
        }
    }

    /// Adds an event that accepts a connection for each thread.
    fn accept(&self, batch: &mut EventBatch) {
        for lane in 0..THREADS {
            let event = Event {
                time: 1_600_000_000_000_000_000,
                kind: self.accept,
                host: self.host,
                processor: 0,
                process: 1000,
                thread: 999,
            };
            batch.push_event(event, [(self.attributes[1], AttributeValue::Int(10 + lane as i64))]);
        }
    }

    /// Generates the event with the number `number`. A thread makes a step every [`THREADS`]
    /// events.
    fn push(&mut self, number: u64, batch: &mut EventBatch) {
        let (lane, step) = (number % THREADS, number / THREADS);
        let [fd, ret, state, next] = self.attributes;
        let [enter_read, exit_read, enter_write, exit_write, switch] = self.kinds;
        let thread = 1000 + lane as i32;
        let event = |kind| Event {
            time: 1_700_000_000_000_000_000 + number as i64 * 1000,
            kind,
            host: self.host,
            processor: lane as i32,
            process: 1000,
            thread,
        };
        let descriptor = (fd, AttributeValue::Int(10 + lane as i64));
        match step % EVENTS_OF_REQUEST {
            0 => batch.push_event(event(enter_read), [descriptor]),
            1 => batch.push_event(event(exit_read), [(ret, AttributeValue::Int(100))]),
            34 => batch.push_event(event(enter_write), [descriptor]),
            35 => batch.push_event(event(exit_write), [(ret, AttributeValue::Int(12_000))]),
            step if step % 2 == 0 => {
                let attributes =
                    [(state, AttributeValue::Text("S")), (next, AttributeValue::Int(0))];
                batch.push_event(event(switch), attributes);
            }
            _ => {
                let attributes = [
                    (state, AttributeValue::Text("R")),
                    (next, AttributeValue::Int(i64::from(thread))),
                ];
                batch.push_event(Event { thread: 0, ..event(switch) }, attributes);
            }
        }
    }
}
