//! Streams of events and schemas, written as text.

use std::path::Path;

use events::{Event, Piece, Value};
use out_of_core::Names;
use workload::join::{Beginning, Join, JoinCounts, JoinOptions};
use workload::joined::JoinedRequest;
use workload::schema::Schema;

/// What came of a stream.
pub(crate) struct Outcome {
    pub(crate) names: Names,
    pub(crate) requests: Vec<JoinedRequest>,
    pub(crate) counts: JoinCounts,
    pub(crate) beginning: Beginning,
    pub(crate) charged: workload::accounting::Charged,
}

impl Outcome {
    /// The events of a request, as `time kind`.
    pub(crate) fn events(&self, request: usize) -> Vec<String> {
        let Some(request) = self.requests.get(request) else { return Vec::new() };
        let shown = |event: &workload::joined::JoinedEvent| {
            format!("{} {}", event.time, self.names.text(event.kind))
        };
        request.events.iter().map(shown).collect()
    }

    /// Times of the events of a request.
    pub(crate) fn times(&self, request: usize) -> Vec<i64> {
        let Some(request) = self.requests.get(request) else { return Vec::new() };
        request.events.iter().map(|event| event.time).collect()
    }
}

/// The schema of that text.
pub(crate) fn schema(text: &str) -> Schema {
    match Schema::parse(text, Path::new("test.schema")) {
        Ok(schema) => schema,
        Err(error) => unreachable!("{error}"),
    }
}

/// The events of `text`: a line each, as `time thread processor kind attribute=value ...`; a thread
/// can be `process:thread`.
pub(crate) fn piece(text: &str, names: &mut Names) -> Piece {
    let mut piece = Piece::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_default();
        let (time, thread, processor, kind) = (word(), word(), word(), word());
        let (process, thread) = thread.split_once(':').unwrap_or(("1", thread));
        let number = |text: &str| text.parse().unwrap_or(0);
        let event = Event {
            time: time.parse().unwrap_or(0),
            kind: names.number(kind),
            host: names.number("h"),
            processor: number(processor),
            process: number(process),
            thread: number(thread),
        };
        let attributes: Vec<_> = words
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| {
                let hex = value.strip_prefix("0x");
                let number = match hex {
                    Some(digits) => i64::from_str_radix(digits, 16).ok(),
                    None => value.parse().ok(),
                };
                let value = number.map_or(Value::Text(value), Value::Int);
                (names.number(name), value)
            })
            .collect();
        piece.push(event, attributes);
    }
    piece
}

/// Joins the events of `text`, without a delay.
pub(crate) fn joined(schema: &Schema, text: &str) -> Outcome {
    let options = JoinOptions { reorder_ns: 0, ..JoinOptions::default() };
    joined_with(schema, text, options)
}

/// Joins the events of `text`.
pub(crate) fn joined_with(schema: &Schema, text: &str, options: JoinOptions) -> Outcome {
    let mut names = Names::default();
    let mut join = match Join::new(schema, options, &mut names) {
        Ok(join) => join,
        Err(error) => unreachable!("{error}"),
    };
    let piece = piece(text, &mut names);
    let mut requests = Vec::new();
    join.push(&piece, &mut names, &mut |request| requests.push(request));
    join.finish(&mut |request| requests.push(request));
    let (counts, beginning) = (join.counts(), join.beginning());
    Outcome { names, requests, counts, beginning, charged: join.charged() }
}

/// The schema that ships under that name.
pub(crate) fn shipped(name: &str) -> Schema {
    let found = workload::schema::shipped().iter().find(|shipped| shipped.name == name);
    match found.map(|shipped| shipped.schema()) {
        Some(Ok(schema)) => schema,
        Some(Err(error)) => unreachable!("{error}"),
        None => unreachable!("no schema {name}"),
    }
}
