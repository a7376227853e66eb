//! `sockcap contexts`: how much of each operation's response time depends on its calling context.

mod explained;
mod overview;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use clap::builder::{PossibleValue, TypedValueParser};
use contexts::identity::OperationIdentity;
use contexts::tree::ModelOptions;
use contexts::{ContextAnalysis, Options, output};
use message_trace::table::export::{TableFormat, export_batches};
use registry::values;
use request_flow::StepResource;
use request_flow::tables::{ColumnSelection, RequestTables};

use crate::arguments::values::{one_of, parse_bytes};
use crate::arguments::{DataArguments, InferenceArguments, SourceChoice};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::lock;
use crate::output::{EscapingWriter, print_message};
use crate::progress::TerminalProgress;
use crate::stages;
use crate::target::ResultTarget;
use crate::tuning::OPERATIONS_PRINTED;

const HELP: &str = "\
A context is the situation in which an operation was called: its caller, the
path to the root of its trace (stack), or the whole trace and its place in it.
CALLER, STACK and TRACE show how much of the standard deviation contexts of
each kind explain. docs/contexts.md defines the figures.

Requests are imported spans, or paths inferred by sockcap, each weighted by its
probability.

Examples:
  sockcap contexts
  sockcap contexts --explain GET                which context makes it slow?
  sockcap contexts --by host                    an operation for each host
  sockcap contexts --spent lock                 what makes it wait for locks?
  sockcap contexts --json | jq '.operations[0].reason.sentence'
  sockcap contexts --format parquet -o contexts.parquet
  sockcap contexts --format dot | dot -Tsvg > tree.svg
  sockcap contexts --instrumentations 1000 --format csv -o figures8to10.csv";

/// The seed of the random choice unless the user sets another.
const SEED: u64 = 1;

/// Show how much of response times the calling context decides
#[derive(Debug, Parser)]
#[command(name = "contexts", after_help = HELP)]
pub(crate) struct ContextsCommand {
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    source: SourceChoice,
    /// What identifies an operation: its node and name, or also its host
    #[arg(long, value_name = "WHAT", default_value_t, value_parser = identity_parser())]
    by: OperationIdentity,
    /// Analyze the time that executions spent in one way, instead of response times (recorded with
    /// --resources)
    #[arg(long, value_name = "WHAT", value_parser = resource_parser())]
    spent: Option<StepResource>,
    /// Show which context makes this operation slow, and all its contexts
    #[arg(long, value_name = "OPERATION", conflicts_with_all = ["json", "format", "instrumentations"])]
    explain: Option<String>,
    /// Print JSON, with all contexts and all figures
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write a table of all contexts, or the calling-context tree as a graph
    #[arg(long, value_parser = format_parser())]
    format: Option<ContextsFormat>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print or draw at most N operations, or at most N contexts of one with --explain
    #[arg(long, value_name = "N", default_value_t = OPERATIONS_PRINTED)]
    limit: usize,
    /// Evaluate N random partial instrumentations: what would be seen if only some operations were
    /// monitored
    #[arg(long, value_name = "N")]
    instrumentations: Option<u64>,
    /// The seed of the random choice
    #[arg(long, value_name = "N", default_value_t = SEED, requires = "instrumentations")]
    seed: u64,
    /// Contexts with fewer response times are not leaves of the timing model
    #[arg(
        long,
        value_name = "N",
        default_value_t = ModelOptions::default().min_calls as u32,
        help_heading = "Timing model"
    )]
    min_calls: u32,
    /// Contexts with medians and interquartile ranges that differ by at most this, in interquartile
    /// ranges, are one leaf of the timing model
    #[arg(
        long,
        value_name = "DISTANCE",
        value_parser = parse_distance,
        default_value_t = ModelOptions::default().similar,
        help_heading = "Timing model"
    )]
    similar: f64,
    /// Merge more contexts, until the timing model has at most N leaves
    #[arg(long, value_name = "N", help_heading = "Timing model")]
    max_leaves: Option<usize>,
    /// Hold this much of the response times in memory, and the rest in a temporary file
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_bytes,
        default_value = values::show_bytes(Options::default().memory)
    )]
    memory: u64,
}

/// An output format for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContextsFormat {
    Table(TableFormat),
    Dot,
}

impl std::str::FromStr for ContextsFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<ContextsFormat, String> {
        if text == "dot" {
            Ok(ContextsFormat::Dot)
        } else {
            text.parse().map(ContextsFormat::Table)
        }
    }
}

fn format_values() -> [PossibleValue; 4] {
    [
        PossibleValue::new("csv").help("A row for each context"),
        PossibleValue::new("json").help("The same as JSON, one object per line"),
        PossibleValue::new("parquet").help("The same as Parquet"),
        PossibleValue::new("dot").help("The calling-context tree, for Graphviz"),
    ]
}

/// The identity of operations, by its name.
fn identity_parser() -> impl TypedValueParser<Value = OperationIdentity> {
    one_of(OperationIdentity::ALL.map(|by| by.to_string()))
}

/// A way in which time is spent, by its name.
fn resource_parser() -> impl TypedValueParser<Value = StepResource> {
    one_of(StepResource::ALL.map(|way| way.to_string()))
}

/// The output format, by its name.
fn format_parser() -> impl TypedValueParser<Value = ContextsFormat> {
    one_of(format_values())
}

/// A distance: 0 or more.
fn parse_distance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| {
        format!(
            "'{text}' is not a distance; write a number of 0 or more, like \
                                  0.25"
        )
    })
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<ContextsCommand>();

impl RunnableCommand for ContextsCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        if self.format == Some(ContextsFormat::Dot) && self.instrumentations.is_some() {
            let why = "--instrumentations prints a table; use --format csv, json or parquet";
            return Err(CommandError::Usage(why.to_owned()));
        }
        let path = self.output.as_deref();
        let mut target = ResultTarget::try_out(path)?;
        let locks = lock::lock_directories(&[&self.data.data_dir()])?;
        let shown = self.source.choose_source(&self.data)?;
        stages::ensure_requests(&shown, &InferenceArguments::default())?;
        let data = &shown.data;
        let requests = RequestTables::open(
            data.requests_path(),
            data.steps_path(),
            ColumnSelection {
                hosts: true,
                sizes: self.spent.is_some() || data.own_events_path().is_file(),
                ..ColumnSelection::default()
            },
        )?;
        let progress = TerminalProgress::new();
        let analysis =
            contexts::analyze_contexts(&requests, &self.profile_options(), data.path(), &progress)?;
        drop(progress);
        if let Some(spent) = self.spent {
            let totals = &analysis.profile.totals;
            if totals.timed == 0 {
                let why = format!(
                    "no execution has a recorded {}; record with 'sockcap record --resources'",
                    spent.sentence_words()
                );
                return Err(CommandError::Usage(why));
            }
            print_message(&format!(
                "all times are {} of executions, not response times",
                spent.sentence_words()
            ));
        }
        if analysis.profile.totals.spilled > 0 {
            let size = crate::output::format_bytes(analysis.profile.totals.spilled);
            print_message(&format!(
                "{size} of response times were in a temporary file; use --memory to hold more in \
                 memory"
            ));
        }
        // A reader of the output may wait for the lock.
        drop(locks);
        let name = target.name().to_owned();
        let is_for_programs = self.json || self.format.is_some();
        let mut out =
            EscapingWriter::unless_for_programs(is_for_programs, BufWriter::new(&mut target));
        self.write_analysis(&analysis, &name, &mut out)?;
        let flushed = out.flush();
        drop(out);
        flushed.map_err(|source| target.write_error(source))?;
        target.finish_target()?;
        Ok(ExitCode::SUCCESS)
    }
}

impl ContextsCommand {
    fn profile_options(&self) -> Options {
        Options {
            by: self.by,
            spent: self.spent,
            memory: self.memory,
            model: ModelOptions {
                min_calls: f64::from(self.min_calls),
                similar: self.similar,
                max_leaves: self.max_leaves,
            },
            instrumentations: self.instrumentations.map(|count| (count, self.seed)),
        }
    }

    fn write_analysis(
        &self,
        analysis: &ContextAnalysis,
        name: &Path,
        out: &mut (impl Write + Send),
    ) -> Result<(), CommandError> {
        if self.json {
            serde_json::to_writer(&mut *out, analysis).map_err(io::Error::from)?;
            return Ok(writeln!(out)?);
        }
        match (self.format, &self.explain, &analysis.instrumentations) {
            (Some(ContextsFormat::Dot), ..) => Ok(output::write_dot(analysis, self.limit, out)?),
            (Some(ContextsFormat::Table(format)), _, instrumented) => {
                let batch = match instrumented {
                    Some(instrumented) => output::instrumentations(instrumented, name)?,
                    None => output::contexts(analysis, name)?,
                };
                Ok(export_batches(batch.schema(), [Ok(batch)], format, out, name)?)
            }
            (None, Some(operation), _) => {
                explained::write_explanation(analysis, operation, self.limit, out)
            }
            (None, None, Some(instrumented)) => {
                Ok(overview::write_instrumentations(instrumented, out)?)
            }
            (None, None, None) => Ok(overview::write_overview(analysis, self.limit, out)?),
        }
    }
}
