//! Streams of events and schemas, in text form.

use std::path::Path;

use events::{AttributeValue, Event, EventBatch};
use out_of_core::NameInterner;
use workload::join::{JoinCounts, JoinOptions, SeedCounts, TemporalJoin};
use workload::joined_request::JoinedRequest;
use workload::schema::EventSchema;

/// Result of a stream.
pub(crate) struct JoinOutcome {
    pub(crate) names: NameInterner,
    pub(crate) requests: Vec<JoinedRequest>,
    pub(crate) counts: JoinCounts,
    pub(crate) beginning: SeedCounts,
    pub(crate) charged: workload::accounting::ChargedShare,
}

impl JoinOutcome {
    /// The events of a request, as `time kind`.
    pub(crate) fn events(&self, request: usize) -> Vec<String> {
        let Some(request) = self.requests.get(request) else { return Vec::new() };
        let shown = |event: &workload::joined_request::JoinedEvent| {
            format!("{} {}", event.time, self.names.name_of(event.kind))
        };
        request.events.iter().map(shown).collect()
    }

    /// Times of the events of a request.
    pub(crate) fn times(&self, request: usize) -> Vec<i64> {
        let Some(request) = self.requests.get(request) else { return Vec::new() };
        request.events.iter().map(|event| event.time).collect()
    }
}

/// The schema in this text.
pub(crate) fn schema(text: &str) -> EventSchema {
    match EventSchema::parse(text, Path::new("test.schema")) {
        Ok(schema) => schema,
        Err(error) => unreachable!("{error}"),
    }
}

/// The events in `text`: one per line, as `time thread processor kind attribute=value ...`; a
/// thread can be `process:thread`.
pub(crate) fn parse_batch(text: &str, names: &mut NameInterner) -> EventBatch {
    let mut piece = EventBatch::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_default();
        let (time, thread, processor, kind) = (word(), word(), word(), word());
        let (process, thread) = thread.split_once(':').unwrap_or(("1", thread));
        let number = |text: &str| text.parse().unwrap_or(0);
        let event = Event {
            time: time.parse().unwrap_or(0),
            kind: names.intern(kind),
            host: names.intern("h"),
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
                let value = number.map_or(AttributeValue::Text(value), AttributeValue::Int);
                (names.intern(name), value)
            })
            .collect();
        piece.push_event(event, attributes);
    }
    piece
}

/// Joins the events in `text`, without a delay.
pub(crate) fn join_text(schema: &EventSchema, text: &str) -> JoinOutcome {
    let options = JoinOptions { reorder_ns: 0, ..JoinOptions::default() };
    joined_with(schema, text, options)
}

/// Joins the events in `text`.
pub(crate) fn joined_with(schema: &EventSchema, text: &str, options: JoinOptions) -> JoinOutcome {
    let mut names = NameInterner::default();
    let mut join = match TemporalJoin::new(schema, options, &mut names) {
        Ok(join) => join,
        Err(error) => unreachable!("{error}"),
    };
    let piece = parse_batch(text, &mut names);
    let mut requests = Vec::new();
    join.push_batch(&piece, &mut names, &mut |request| requests.push(request));
    join.finish(&mut |request| requests.push(request));
    let (counts, beginning) = (join.join_counts(), join.seed_counts());
    JoinOutcome { names, requests, counts, beginning, charged: join.charged_share() }
}

/// The shipped schema of that name.
pub(crate) fn shipped_schema(name: &str) -> EventSchema {
    let found = workload::schema::shipped_schemas().iter().find(|shipped| shipped.name == name);
    match found.map(|shipped| shipped.parse_schema()) {
        Some(Ok(schema)) => schema,
        Some(Err(error)) => unreachable!("{error}"),
        None => unreachable!("no schema {name}"),
    }
}
