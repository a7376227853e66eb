//! The arguments of the command.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use clap::builder::{PossibleValue, TypedValueParser};
use message_trace::table::export::TableFormat;
use registry::values;
use workload::Workload;
use workload::join::JoinOptions;

use crate::arguments::values::{one_of, parse_bytes, parse_duration};
use crate::arguments::{DataArguments, SourceChoice};
use crate::tuning::CLUSTERS_PRINTED;

const HELP: &str = "\
Requests are the ones of a recording, as in 'sockcap report', each with the
resources that its steps used and waited for ('sockcap record --resources').
With --schema, or if there are only imported events, events are joined into
requests: the schema defines which events belong together
(docs/event-schema.md). Included schemas: linux, sockcap, postgresql, nginx,
iis.

Requests with similar steps and demands are a cluster. Clusters and their sizes
are a model of the workload; docs/workload.md defines the figures.

Examples:
  sockcap record --resources -- ./server && sockcap requests
  sockcap requests --request 512                where did its time go?
  sockcap requests --json | jq '.unusual[].what'
  sockcap requests --format csv -o requests.csv
  perf script -F +pid | sockcap requests -      live, while perf records
  sockcap import perf perf.data && sockcap requests --schema my.schema";

/// Show what requests cost, which are alike, and which are unusual
#[derive(Debug, Parser)]
#[command(name = "requests", after_help = HELP)]
pub(in crate::commands) struct RequestsCommand {
    #[command(flatten)]
    pub(super) data: DataArguments,
    #[command(flatten)]
    pub(super) source: SourceChoice,
    /// The output of perf script, in a file; - for standard input
    #[arg(value_name = "EVENTS", conflicts_with_all = ["source", "request", "format"])]
    pub(super) events: Option<PathBuf>,
    /// Join events into requests by this schema: a file, or the name of an included one
    #[arg(long, value_name = "SCHEMA", conflicts_with = "source")]
    pub(super) schema: Option<String>,
    /// Show one request by its number: its threads over time, and what each did
    #[arg(long, value_name = "N")]
    pub(super) request: Option<u64>,
    /// Print JSON, with all figures
    #[arg(long, conflicts_with = "format")]
    pub(super) json: bool,
    /// Write a table with a row for each request
    #[arg(long, value_parser = format_parser(), conflicts_with = "request")]
    pub(super) format: Option<TableFormat>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Print at most N clusters and N unusual requests
    #[arg(long, value_name = "N", default_value_t = CLUSTERS_PRINTED)]
    pub(super) limit: usize,
    /// Continue as events arrive, and print the newest requests and the clusters every few seconds
    #[arg(long, conflicts_with_all = ["request", "format", "json", "output"])]
    pub(super) follow: bool,
    /// Let clusters grow with each request, as in the paper, instead of computing them from all
    /// requests
    #[arg(long)]
    pub(super) incremental: bool,
    /// End a request that has had no event for this long
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_duration,
        default_value = values::show_nanoseconds(JoinOptions::default().timeout_ns),
        help_heading = "Joining events"
    )]
    pub(super) timeout: Duration,
    /// Wait this long for late events
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_duration,
        default_value = values::show_nanoseconds(JoinOptions::default().reorder_ns),
        help_heading = "Joining events"
    )]
    pub(super) reorder: Duration,
    /// Hold this much of the events of open requests in memory
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_bytes,
        default_value = values::show_bytes(JoinOptions::default().memory_bytes as u64),
        help_heading = "Joining events"
    )]
    pub(super) memory: u64,
}

fn format_parser() -> impl TypedValueParser<Value = TableFormat> {
    one_of([
        PossibleValue::new("csv").help("A header and a line for each request"),
        PossibleValue::new("json").help("The same as JSON, one object per line"),
        PossibleValue::new("parquet").help("The same as Parquet"),
    ])
}

impl RequestsCommand {
    /// An empty workload of the requested kind.
    pub(super) fn empty_workload(&self) -> Workload {
        if self.incremental || self.follow { Workload::incremental() } else { Workload::default() }
    }

    /// Limits of the join.
    pub(super) fn join_options(&self) -> JoinOptions {
        let nanoseconds = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        JoinOptions {
            reorder_ns: nanoseconds(self.reorder),
            timeout_ns: nanoseconds(self.timeout),
            memory_bytes: self.memory as usize,
            ..JoinOptions::default()
        }
    }
}
