//! Requests while events come: from standard input, from a file that grows, or from a recording.
//!
//! Memory does not grow with time: clusters grow with each request and are bounded in number, and
//! of requests the newest few are kept.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

use events::Piece;
use importers::{PerfText, Taken};
use message_trace::units::{duration, printable};
use out_of_core::{Names, PathError};
use workload::Workload;
use workload::analysis::{Answer, Found, JoinStream};
use workload::join::Beginning;

use super::asked::Requests;
use super::given::{DEFAULT_SCHEMA, Given, schema};
use super::{nothing, overview};
use crate::error::Error;
use crate::lock;
use crate::output::{self, say};
use crate::tuning::follow::{INTERVAL, MAX_LINE_BYTES, NEWEST, PAUSE, PIECE_EVENTS, REST};

/// Reads what `asked` names, and prints what there is: at the end, and with `--follow` every few
/// seconds.
pub(super) fn run(asked: &Requests) -> Result<(), Error> {
    match asked.events.as_deref() {
        Some(path) if path == Path::new("-") => text(asked, path, io::stdin().lock()),
        Some(path) => {
            let file = File::open(path).map_err(|source| Error::file(path, source))?;
            text(asked, path, BufReader::new(file))
        }
        None => recording(asked),
    }
}

/// Joins the events of a text of `perf script`.
fn text(asked: &Requests, path: &Path, mut from: impl BufRead) -> Result<(), Error> {
    let mut names = Names::default();
    let name = asked.schema.as_deref().unwrap_or(DEFAULT_SCHEMA);
    let (schema, _) = schema(name)?;
    let stream = JoinStream::new(&schema, asked.join_options(), &mut names)
        .map_err(|error| Error::Usage(error.to_string()))?;
    let mut live = Live { stream, workload: asked.workload(), newest: VecDeque::new() };
    let mut parser = PerfText::new(Names::UNKNOWN, None);
    let (mut line, mut piece) = (Vec::new(), Piece::default());
    let mut printed = Instant::now();
    let (mut lines, mut unread) = (0_u64, 0_u64);
    loop {
        // A line that is not whole yet stays, and the rest of it comes behind.
        let read = (&mut from).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        let read = read.map_err(|source| Error::file(path, source))?;
        let is_whole = line.last() == Some(&b'\n') || line.len() as u64 >= MAX_LINE_BYTES;
        let is_over = read == 0 && !(asked.follow && path != Path::new("-"));
        if is_whole || (is_over && !line.is_empty()) {
            lines += 1;
            let taken = parser.line(line.trim_ascii_end(), &mut names, &mut piece);
            unread += u64::from(taken == Taken::Unknown);
            line.clear();
        }
        if piece.len() >= PIECE_EVENTS || (read == 0 && !piece.is_empty()) {
            live.push(&piece, &mut names)?;
            piece.clear();
        }
        if asked.follow && printed.elapsed() >= INTERVAL {
            live.print(asked, &names)?;
            printed = Instant::now();
        }
        match (read, is_over) {
            (_, true) => break,
            (0, false) => sleep(PAUSE),
            _ => {}
        }
    }
    live.finish(&names)?;
    if lines > 0 && lines == unread {
        say(&format!("{}: no line is an event as perf script prints it", path.display()));
    } else if let Some(beginning) = live.nothing() {
        say(&format!("no request was found: {}", nothing::why(Some(&beginning))));
    }
    live.print(asked, &names)
}

/// A join at work, and what is kept of its requests.
struct Live {
    stream: JoinStream,
    workload: Workload,
    newest: VecDeque<String>,
}

impl Live {
    fn push(&mut self, piece: &Piece, names: &mut Names) -> Result<(), PathError> {
        let Live { stream, workload, newest } = self;
        stream.push(piece, names, &mut |found, names| taken(found, names, workload, newest))?;
        Ok(())
    }

    fn finish(&mut self, names: &Names) -> Result<(), PathError> {
        let Live { stream, workload, newest } = self;
        stream.finish(names, &mut |found, names| taken(found, names, workload, newest))?;
        Ok(())
    }

    /// What came of the events that could begin a request, where there is none.
    fn nothing(&self) -> Option<Beginning> {
        let outcome = self.stream.outcome();
        let requests = outcome.join.map_or(0, |join| join.requests);
        outcome.beginning.filter(|_| requests == 0)
    }

    fn print(&self, asked: &Requests, names: &Names) -> Result<(), Error> {
        let outcome = self.stream.outcome();
        let answer = Answer::of(outcome, self.workload.model(names));
        if asked.json {
            let mut out = output::machine();
            serde_json::to_writer(&mut out, &answer).map_err(io::Error::from)?;
            writeln!(out)?;
            return Ok(out.flush()?);
        }
        let mut out = output::text();
        if asked.follow {
            for line in &self.newest {
                writeln!(out, "{line}")?;
            }
        }
        overview::write(&overview::Told::stream(), &answer, asked.limit, &mut out)?;
        if asked.follow {
            writeln!(out)?;
        }
        Ok(out.flush()?)
    }
}

/// Takes a request into the model and among the newest.
fn taken(
    found: &Found<'_>,
    names: &Names,
    workload: &mut Workload,
    newest: &mut VecDeque<String>,
) -> Result<bool, PathError> {
    workload.push(&found.canonical, &found.facts);
    if newest.len() == NEWEST {
        newest.pop_front();
    }
    newest.push_back(line(found, names));
    Ok(true)
}

/// A request in a line.
fn line(found: &Found<'_>, names: &Names) -> String {
    let facts = &found.facts;
    format!(
        "request {}  {}  {} processor  {}",
        facts.number,
        duration((facts.end - facts.begin) as f64),
        duration(facts.demands.processor_ns as f64),
        printable(names.text(facts.name)),
    )
}

/// Looks at a recording that grows, again and again: what is new is reconciled and analyzed with
/// all of it. The longer that takes, the less often it is done.
fn recording(asked: &Requests) -> Result<(), Error> {
    let mut before = None;
    loop {
        let data = asked.data.dir();
        let locks = lock::work_on(&[&data])?;
        let logs = data.logs()?;
        let size: u64 =
            logs.iter().filter_map(|log| log.metadata().ok()).map(|log| log.len()).sum();
        if before == Some(size) {
            drop(locks);
            sleep(PAUSE);
            continue;
        }
        before = Some(size);
        let began = Instant::now();
        let mut names = Names::default();
        let given = Given::of(asked)?;
        let mut newest = VecDeque::new();
        let mut workload = asked.workload();
        let outcome = given.source().for_each(&mut names, &mut |found, names| {
            taken(found, names, &mut workload, &mut newest)
        })?;
        let answer = Answer::of(outcome, workload.finish(&names));
        drop(locks);
        let mut out = output::text();
        for line in &newest {
            writeln!(out, "{line}")?;
        }
        overview::write(&given.told(), &answer, asked.limit, &mut out)?;
        writeln!(out)?;
        out.flush()?;
        sleep(INTERVAL.max(REST * began.elapsed()));
    }
}
