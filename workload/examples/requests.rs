//! Joins tables of events into requests by a schema, and prints them with their clusters as JSON:
//! for `scripts/bench workload`, and to try a schema.
//!
//! usage: requests [--events] [--process ID] SCHEMA TABLE...
//!
//! SCHEMA is a file, or the name of a schema that ships. --events shows the events of each request;
//! --process leaves out requests that another process began to serve.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use events::{EventReader, Piece};
use out_of_core::Names;
use serde_json::json;
use workload::Workload;
use workload::canonical::{by_kind, of_joined};
use workload::clusters::RequestFacts;
use workload::demands::Waits;
use workload::join::{Join, JoinOptions};
use workload::joined::{JoinedEvent, JoinedRequest};
use workload::schema::{Schema, shipped};

/// The schema of that name, or in that file.
fn schema(name: &str) -> Result<Schema, Box<dyn Error>> {
    match shipped().iter().find(|schema| schema.name == name) {
        Some(schema) => Ok(schema.schema()?),
        None => Ok(Schema::parse(&std::fs::read_to_string(name)?, Path::new(name))?),
    }
}

/// Times in which the threads of a request could not go on.
fn waits(request: &JoinedRequest) -> Waits {
    let mut waits = Waits::default();
    request.events.iter().for_each(|event| waits += event.waits);
    waits
}

/// A request as JSON.
fn shown(request: &JoinedRequest, names: &Names, all: bool) -> serde_json::Value {
    let name = |id| names.text(id);
    let seeds = request.events.iter().filter(|event| event.kind == request.seed);
    let seeds: Vec<_> = seeds.map(|of| json!({"time": of.time, "thread": of.thread})).collect();
    let begin = request.events.iter().map(|event| event.time).min();
    let end = request.events.iter().map(|event| event.time).max();
    let demands = request.demands;
    let mut value = json!({
        "number": request.number, "name": name(request.name), "whole": request.whole,
        "seeds": seeds, "seed_count": request.seeds, "begin": begin, "end": end,
        "processor_ns": demands.processor_ns, "sent_bytes": demands.sent_bytes,
        "received_bytes": demands.received_bytes,
        "disk_bytes": demands.disk_read_bytes + demands.disk_written_bytes,
        "waits": waits(request),
    });
    if all {
        let events = request.events.iter().enumerate().map(|(place, of)| {
            let syncs = request.syncs.iter().filter(|sync| sync.destination as usize == place);
            json!({"time": of.time, "kind": name(of.kind), "thread": of.thread,
                "processor_ns": of.demands.processor_ns,
                "from": syncs.map(|sync| sync.source).collect::<Vec<_>>()})
        });
        value["events"] = events.collect();
    }
    value
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let all = arguments.next_if(|argument| argument == "--events").is_some();
    let process: Option<i32> = match arguments.next_if(|argument| argument == "--process") {
        Some(_) => Some(arguments.next().ok_or("--process takes an id")?.parse()?),
        None => None,
    };
    let schema = schema(&arguments.next().ok_or("usage: requests SCHEMA TABLE...")?)?;
    let tables: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let (mut names, mut piece) = (Names::default(), Piece::default());
    let mut join = Join::new(&schema, JoinOptions::default(), &mut names)?;
    let mut reader = EventReader::open(&tables)?;
    let mut joined: Vec<JoinedRequest> = Vec::new();
    while reader.next(&mut names, &mut piece)? {
        join.push(&piece, &mut names, &mut |request| joined.push(request));
    }
    join.finish(&mut |request| joined.push(request));
    if let Some(process) = process {
        joined.retain(|request| {
            let of_process = |event: &JoinedEvent| event.process == process;
            request.events.iter().any(|event| event.kind == request.seed && of_process(event))
        });
    }

    let mut workload = Workload::default();
    for request in &joined {
        let times = request.events.iter().map(|event| event.time);
        let (begin, end) = (times.clone().min(), times.max());
        workload.push(
            &of_joined(request, by_kind),
            &RequestFacts {
                number: request.number,
                name: request.name,
                begin: begin.unwrap_or_default(),
                end: end.unwrap_or_default(),
                demands: request.demands,
                waits: waits(request),
            },
        );
    }
    let model = workload.finish(&names);
    let requests: Vec<_> = joined.iter().map(|request| shown(request, &names, all)).collect();
    let charged = join.charged();
    let answer = json!({
        "requests": requests, "model": model, "members": model.members,
        "charged": {"requests_ns": charged.requests_ns, "relevant_ns": charged.relevant_ns},
        "counts": format!("{:?}", join.counts()),
    });
    serde_json::to_writer(std::io::stdout().lock(), &answer)?;
    Ok(std::io::stdout().lock().write_all(b"\n")?)
}
