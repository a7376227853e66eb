//! `sockcap requests`: what requests cost, which of them are alike, and which are unusual.

mod follow;
mod given;
mod lanes;
mod one_request;
mod overview;
mod rows;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use clap::builder::{PossibleValue, TypedValueParser};
use message_trace::table::export::Format;
use out_of_core::Names;
use workload::Workload;
use workload::analysis::analyze;
use workload::join::JoinOptions;

use crate::arguments::values::{bytes, duration, one_of};
use crate::arguments::{Data, SourceChoice};
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::output::{Target, say};
use crate::progress::Terminal;
use given::Given;

const HELP: &str = "\
Requests are those of a recording, as 'sockcap report' has them, each with what
its steps used and waited for ('sockcap record --resources'). With --schema, and
where there are imported events only, events are joined into requests: the
schema says which of them belong together (docs/event-schema.md). Schemas that
ship: linux, sockcap, postgresql, nginx, iis.

Requests that do alike and demand alike are a cluster. Clusters and their sizes
are a model of the workload; docs/workload.md says what each figure is.

Examples:
  sockcap record --resources -- ./server && sockcap requests
  sockcap requests --request 512                where did its time go?
  sockcap requests --json | jq '.unusual[].what'
  sockcap requests --format csv -o requests.csv
  perf script | sockcap requests -              while it is recorded
  sockcap import perf perf.data && sockcap requests --schema my.schema";

/// Show what requests cost, which are alike, and which are unusual
#[derive(Debug, Parser)]
#[command(name = "requests", after_help = HELP)]
pub(crate) struct Requests {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    source: SourceChoice,
    /// What perf script prints, in a file; - for standard input
    #[arg(value_name = "EVENTS", conflicts_with_all = ["source", "request", "format"])]
    events: Option<PathBuf>,
    /// Join events into requests by this schema: a file, or the name of one that ships
    #[arg(long, value_name = "SCHEMA", conflicts_with = "source")]
    schema: Option<String>,
    /// Show one request by its number: its threads over time, and what each did
    #[arg(long, value_name = "N")]
    request: Option<u64>,
    /// Print JSON, with all figures
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write a table with a row for each request
    #[arg(long, value_parser = formats(), conflicts_with = "request")]
    format: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print at most N clusters and N unusual requests
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Go on as events come, and print the newest requests and the clusters every few seconds
    #[arg(long, conflicts_with_all = ["request", "format", "json", "output"])]
    follow: bool,
    /// Let clusters grow with each request, as in the paper, instead of finding them all at once
    #[arg(long)]
    incremental: bool,
    /// End a request of which nothing is heard for this long [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Joining events")]
    timeout: Option<Duration>,
    /// Wait this long for events that come late [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Joining events")]
    reorder: Option<Duration>,
    /// Hold this much of the events of open requests in memory [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Joining events")]
    memory: Option<u64>,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    one_of([
        PossibleValue::new("csv").help("A header and a line for each request"),
        PossibleValue::new("json").help("The same, an object a line"),
        PossibleValue::new("parquet").help("The same as Parquet"),
    ])
}

pub(super) const COMMAND: Subcommand = Subcommand::of::<Requests>();

impl Run for Requests {
    fn run(&self) -> Result<ExitCode, Error> {
        if self.follow || self.events.is_some() {
            follow::run(self)?;
            return Ok(ExitCode::SUCCESS);
        }
        let refused = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::file(&path, source)
        };
        let path = self.output.as_deref();
        let target = path.map(|path| Target::try_out(path).map_err(refused(path))).transpose()?;
        let given = Given::of(self)?;
        let mut names = Names::default();
        let written: Vec<u8> = match self.request {
            Some(number) => one_request::of(&given, number, self.json, &mut names)?,
            None => self.all(&given, &mut names, path)?,
        };
        let mut out: Box<dyn Write> = match (path, target) {
            (Some(path), Some(target)) => Box::new(target.create().map_err(refused(path))?),
            _ => Box::new(BufWriter::new(io::stdout())),
        };
        out.write_all(&written)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Requests {
    /// What is said of all requests.
    fn all(&self, given: &Given, names: &mut Names, path: Option<&Path>) -> Result<Vec<u8>, Error> {
        let progress = Terminal::new();
        let answer = analyze(given.source(), self.workload(), names, &|_| ())?;
        drop(progress);
        if answer.model.requests == 0 {
            say(&format!("no request was found: {}", given.none()));
        }
        let mut out = Vec::new();
        match self.format {
            Some(format) => rows::write(given, &answer, names, format, path, &mut out)?,
            None if self.json => {
                serde_json::to_writer(&mut out, &answer).map_err(io::Error::from)?;
                writeln!(out)?;
            }
            None => overview::write(&given.told(), &answer, self.limit, &mut out)?,
        }
        Ok(out)
    }

    /// An empty workload of the kind that was asked for.
    fn workload(&self) -> Workload {
        if self.incremental || self.follow { Workload::incremental() } else { Workload::default() }
    }

    /// Bounds of the join.
    fn join_options(&self) -> JoinOptions {
        let default = JoinOptions::default();
        let nanoseconds = |time: Option<Duration>, or: i64| {
            time.map_or(or, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
        };
        JoinOptions {
            reorder_ns: nanoseconds(self.reorder, default.reorder_ns),
            timeout_ns: nanoseconds(self.timeout, default.timeout_ns),
            memory_bytes: self.memory.map_or(default.memory_bytes, |bytes| bytes as usize),
            ..default
        }
    }
}
