//! Requests while events arrive: from standard input, from a file that grows, or from a recording.
//!
//! Memory does not grow with time: clusters grow with each request and are limited in number, and
//! only the newest few requests are kept.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

use events::EventBatch;
use importers::{PerfLineOutcome, PerfText};
use message_trace::units::{format_duration, to_printable};
use out_of_core::{NameInterner, PathError};
use workload::Workload;
use workload::analysis::{JoinStream, SourceRequest, WorkloadReport};
use workload::join::SeedCounts;

use super::request_arguments::RequestsCommand;
use super::request_input::{DEFAULT_SCHEMA, RequestInput, find_schema};
use super::{no_requests, overview};
use crate::error::CommandError;
use crate::lock;
use crate::output::{self, print_message};
use crate::tuning::follow::{
    BATCH_EVENTS, MAX_LINE_BYTES, MAX_NEWEST, PASS_PAUSE_FACTOR, POLL_PAUSE, PRINT_INTERVAL,
};

/// Reads the input that `asked` names, and prints the results: at the end, and with `--follow`
/// every few seconds.
pub(super) fn follow_requests(asked: &RequestsCommand) -> Result<(), CommandError> {
    match asked.events.as_deref() {
        Some(path) if path == Path::new("-") => follow_text(asked, path, io::stdin().lock()),
        Some(path) => {
            let file = File::open(path).map_err(|source| CommandError::file_error(path, source))?;
            follow_text(asked, path, BufReader::new(file))
        }
        None => follow_recording(asked),
    }
}

/// Joins the events of a text of `perf script`.
fn follow_text(
    asked: &RequestsCommand,
    path: &Path,
    mut from: impl BufRead,
) -> Result<(), CommandError> {
    let mut names = NameInterner::default();
    let name = asked.schema.as_deref().unwrap_or(DEFAULT_SCHEMA);
    let (schema, _) = find_schema(name)?;
    let stream = JoinStream::new(&schema, asked.join_options(), &mut names)
        .map_err(|error| CommandError::Usage(error.to_string()))?;
    let mut live = LiveJoin { stream, workload: asked.empty_workload(), newest: VecDeque::new() };
    let mut parser = PerfText::new(NameInterner::UNKNOWN, None);
    let (mut line, mut batch) = (Vec::new(), EventBatch::default());
    let mut printed = Instant::now();
    let (mut lines, mut unread) = (0_u64, 0_u64);
    loop {
        // An incomplete line stays in the buffer, and the rest of it is appended.
        let read = (&mut from).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        let read = read.map_err(|source| CommandError::file_error(path, source))?;
        let is_whole = line.last() == Some(&b'\n') || line.len() as u64 >= MAX_LINE_BYTES;
        let is_over = read == 0 && !(asked.follow && path != Path::new("-"));
        if is_whole || (is_over && !line.is_empty()) {
            lines += 1;
            let taken = parser.parse_line(line.trim_ascii_end(), &mut names, &mut batch);
            unread += u64::from(taken == PerfLineOutcome::Unknown);
            line.clear();
        }
        if batch.len() >= BATCH_EVENTS || (read == 0 && !batch.is_empty()) {
            live.push_batch(&batch, &mut names)?;
            batch.clear();
        }
        if asked.follow && printed.elapsed() >= PRINT_INTERVAL {
            live.print_requests(asked, &names)?;
            printed = Instant::now();
        }
        match (read, is_over) {
            (_, true) => break,
            (0, false) => sleep(POLL_PAUSE),
            _ => {}
        }
    }
    live.finish_join(&names)?;
    if lines > 0 && lines == unread {
        print_message(&format!(
            "{}: no line is an event in the format of perf \
                                script",
            path.display()
        ));
    } else if let Some(beginning) = live.unmatched_beginning() {
        print_message(&format!(
            "no request was found: {}",
            no_requests::no_request_reason(Some(&beginning))
        ));
    }
    live.print_requests(asked, &names)
}

/// A running join, and the requests that are kept.
struct LiveJoin {
    stream: JoinStream,
    workload: Workload,
    /// A line for each of the newest requests.
    newest: VecDeque<String>,
}

impl LiveJoin {
    fn push_batch(
        &mut self,
        batch: &EventBatch,
        names: &mut NameInterner,
    ) -> Result<(), PathError> {
        let LiveJoin { stream, workload, newest } = self;
        stream.push_batch(batch, names, &mut |found, names| {
            add_request(found, names, workload, newest)
        })?;
        Ok(())
    }

    fn finish_join(&mut self, names: &NameInterner) -> Result<(), PathError> {
        let LiveJoin { stream, workload, newest } = self;
        stream.finish(names, &mut |found, names| add_request(found, names, workload, newest))?;
        Ok(())
    }

    /// The counts of events that could begin a request, if there is no request.
    fn unmatched_beginning(&self) -> Option<SeedCounts> {
        let outcome = self.stream.outcome();
        let requests = outcome.join.map_or(0, |join| join.requests);
        outcome.beginning.filter(|_| requests == 0)
    }

    fn print_requests(
        &self,
        asked: &RequestsCommand,
        names: &NameInterner,
    ) -> Result<(), CommandError> {
        let outcome = self.stream.outcome();
        let answer = WorkloadReport::from_outcome(outcome, self.workload.current_model(names));
        if asked.json {
            let mut out = output::machine_output();
            serde_json::to_writer(&mut out, &answer).map_err(io::Error::from)?;
            writeln!(out)?;
            return Ok(out.flush()?);
        }
        let mut out = output::text_output();
        if asked.follow {
            for line in &self.newest {
                writeln!(out, "{line}")?;
            }
        }
        overview::write_overview(
            &overview::InputWords::of_stream(),
            &answer,
            asked.limit,
            &mut out,
        )?;
        if asked.follow {
            writeln!(out)?;
        }
        Ok(out.flush()?)
    }
}

/// Adds a request to the model and to the newest ones.
fn add_request(
    found: &SourceRequest<'_>,
    names: &NameInterner,
    workload: &mut Workload,
    newest: &mut VecDeque<String>,
) -> Result<bool, PathError> {
    workload.push(&found.canonical, &found.facts);
    if newest.len() == MAX_NEWEST {
        newest.pop_front();
    }
    newest.push_back(request_line(found, names));
    Ok(true)
}

/// A request as one line.
fn request_line(found: &SourceRequest<'_>, names: &NameInterner) -> String {
    let facts = &found.facts;
    format!(
        "request {}  {}  {} processor  {}",
        facts.number,
        format_duration((facts.end - facts.begin) as f64),
        format_duration(facts.demands.processor_ns as f64),
        to_printable(names.name_of(facts.name)),
    )
}

/// Polls a recording that grows: new logs are reconciled and analyzed together with all others. The
/// longer that takes, the less often it is done.
fn follow_recording(asked: &RequestsCommand) -> Result<(), CommandError> {
    let mut before = None;
    loop {
        let data = asked.data.data_dir();
        let locks = lock::lock_directories(&[&data])?;
        let logs = data.log_paths()?;
        let size: u64 =
            logs.iter().filter_map(|log| log.metadata().ok()).map(|log| log.len()).sum();
        if before == Some(size) {
            drop(locks);
            sleep(POLL_PAUSE);
            continue;
        }
        before = Some(size);
        let began = Instant::now();
        let mut names = NameInterner::default();
        let given = RequestInput::open_input(asked)?;
        let mut newest = VecDeque::new();
        let mut workload = asked.empty_workload();
        let outcome = given.request_source().for_each(&mut names, &mut |found, names| {
            add_request(found, names, &mut workload, &mut newest)
        })?;
        let answer = WorkloadReport::from_outcome(outcome, workload.finish(&names));
        drop(locks);
        let mut out = output::text_output();
        for line in &newest {
            writeln!(out, "{line}")?;
        }
        overview::write_overview(&given.input_words(), &answer, asked.limit, &mut out)?;
        writeln!(out)?;
        out.flush()?;
        sleep(PRINT_INTERVAL.max(PASS_PAUSE_FACTOR * began.elapsed()));
    }
}
