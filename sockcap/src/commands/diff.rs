//! `sockcap diff`: the changes between two periods, their locations, and their contributions.

mod categories;
mod html;
mod listing;
mod overview;
mod periods;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use clap::Parser;
use clap::builder::{PossibleValue, TypedValueParser};
use compare::category::ZoomLevel;
use compare::conditions::FailCondition;
use compare::explanation::explain_mutations;
use compare::output::{ComparisonReport, write_dot, write_trace_events};
use compare::{Ablation, Options, compare_periods};
use registry::values;

use crate::arguments::values::{one_of, parse_bytes, parse_duration, parse_share};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::{EscapingWriter, print_message};
use crate::progress::TerminalProgress;
use crate::target::ResultTarget;
use crate::tuning::MUTATIONS_PRINTED;
use html::ComparisonPageFile;
use periods::{PeriodArguments, PeriodPair};

const HELP: &str = "\
Requests with the same structure are a category. A category with a different
time in the second period, or a different share of its kind of requests, is a
mutation. Suspects are the nodes that the change over all categories comes
from. Changes that chance explains are not reported: of all reported changes,
at most one in twenty is expected to be false (--false-discoveries).
docs/diff.md explains how.

Exit status: 0 done, whatever changed; 3 a condition of --fail-if holds.

Requests are imported spans, or paths inferred by sockcap, each weighted by its
probability.

Examples:
  sockcap diff last-week.data today.data
  sockcap diff --at 10:05                       one recording, before and after
  sockcap diff --before 10:00..10:05 --after 10:05..10:10
  sockcap diff old.data new.data --loops        repeated calls count once
  sockcap diff old.data new.data --format dot | dot -Tsvg > diff.svg
  sockcap diff old.data new.data --fail-if 'p95 > +10%' --fail-if new-paths
  sockcap diff old.data new.data --json | jq '.suspects[0]'";

/// Show what changed between two periods, where, and by how much
#[derive(Debug, Parser)]
#[command(name = "diff", after_help = HELP)]
pub(crate) struct DiffCommand {
    #[command(flatten)]
    periods: PeriodArguments,
    /// Distinguish calls between nodes, not calls within a node
    #[arg(long, help_heading = "Categories")]
    components: bool,
    /// Show the calls within this node nevertheless; may be given several times
    #[arg(long, value_name = "NODE", requires = "components", help_heading = "Categories")]
    open: Vec<String>,
    /// List all categories instead of mutations, with the variance of their response times
    #[arg(long, conflicts_with_all = ["json", "format"], help_heading = "Categories")]
    categories: bool,
    /// Treat repeated calls as one call, however many there are
    #[arg(long, help_heading = "Categories")]
    loops: bool,
    /// The share of the reported changes that may be due to chance
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = parse_share,
        default_value_t = Options::default().false_discoveries,
        help_heading = "What counts as a change"
    )]
    false_discoveries: f64,
    /// Smallest change of a time that matters, as a share of it
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = parse_share,
        default_value_t = Options::default().least_relative,
        help_heading = "What counts as a change"
    )]
    min_change: f64,
    /// Smallest change of a time that matters
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_duration,
        default_value = values::show_nanoseconds(Options::default().least_ns as i64),
        help_heading = "What counts as a change"
    )]
    min_time: Duration,
    /// Also consider originators that lost fewer requests than their mutation gained
    #[arg(long, help_heading = "What counts as a change")]
    any_originator: bool,
    /// Use the rules of the paper: times rounded to a millisecond, a fixed level, and a threshold
    /// of requests
    #[arg(long, help_heading = "What counts as a change")]
    paper: bool,
    /// Ignore this parameter when explaining a mutation; may be given several times
    #[arg(long, value_name = "PARAMETER")]
    without: Vec<String>,
    /// Leave a step out, to measure what it is worth
    #[arg(long, value_name = "STEP", value_parser = ["control", "critical-path", "concurrency", "blame"], hide = true)]
    ablate: Vec<String>,
    /// Exit with status 3 if this holds and chance does not explain it; may be given several times.
    /// One of 'p95 > +10%', 'mean > +2ms', and so on, or 'new-paths'
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<FailCondition>,
    /// Print JSON, with the complete result
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the first mutations in a format for another program
    #[arg(long, value_parser = format_parser())]
    format: Option<DiffFormat>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write a page with the complete result to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print at most N mutations, or categories
    #[arg(long, value_name = "N", default_value_t = MUTATIONS_PRINTED)]
    limit: usize,
    /// Hold this much of the requests in memory, and the rest in a temporary file
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_bytes,
        default_value = values::show_bytes(MEMORY_BYTES)
    )]
    memory: u64,
}

/// An output format for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiffFormat {
    Dot,
    TraceEvents,
}

impl FromStr for DiffFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<DiffFormat, String> {
        if text == "dot" { Ok(DiffFormat::Dot) } else { Ok(DiffFormat::TraceEvents) }
    }
}

fn format_parser() -> impl TypedValueParser<Value = DiffFormat> {
    one_of([
        PossibleValue::new("dot").help("Each next to its originator, for Graphviz"),
        PossibleValue::new("chrome").help("A typical request of each side, for Perfetto"),
    ])
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<DiffCommand>();

/// Exit status if a condition of `--fail-if` holds.
const CONDITION_HOLDS: u8 = 3;

/// Memory for the data of each request, in bytes, unless the user sets another limit.
const MEMORY_BYTES: u64 = 256 << 20;

impl RunnableCommand for DiffCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let page = self.html.as_deref().map(ComparisonPageFile::try_out).transpose()?;
        let path = self.output.as_deref();
        let mut target = ResultTarget::try_out(path)?;
        let mut periods = PeriodPair::open_periods(&self.periods)?;
        let progress = TerminalProgress::new();
        let both = periods.both_periods();
        let found = compare_periods(
            both.each_ref(),
            &self.compare_options(),
            self.memory,
            periods.temporary_directory(),
            &progress,
        )?;
        if let Some(node) = self.open.iter().find(|node| found.names.find_id(node).is_none()) {
            let why = format!("--open {node}: neither period has a node of that name");
            return Err(CommandError::Usage(why));
        }
        let whole = periods.whole_tables()?;
        let asked = (self.limit, self.without.as_slice());
        let explained = explain_mutations(
            periods.periods_of_tables(&whole).each_ref(),
            &found,
            &self.compare_options(),
            asked,
            &progress,
        )?;
        drop(progress);
        let answer = ComparisonReport::from_comparison(&found, periods.period_names(), explained);
        // A reader of the result may wait for the locks.
        periods.unlock_directories();
        if let Some(page) = page {
            page.write_page(&answer)?;
        }
        let is_for_programs = self.json || self.format.is_some();
        let mut out =
            EscapingWriter::unless_for_programs(is_for_programs, BufWriter::new(&mut target));
        self.write_comparison(&answer, &mut out)?;
        let flushed = out.flush();
        drop(out);
        flushed.map_err(|source| target.write_error(source))?;
        target.finish_target()?;
        let level = self.false_discoveries;
        let failed_conditions: Vec<String> = self
            .fail_if
            .iter()
            .filter_map(|condition| condition.find_violation(&found, level))
            .collect();
        failed_conditions.iter().for_each(|why| print_message(&format!("failed: {why}")));
        Ok(if failed_conditions.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(CONDITION_HOLDS)
        })
    }
}

impl DiffCommand {
    fn write_comparison(
        &self,
        answer: &ComparisonReport,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        match self.format {
            Some(DiffFormat::Dot) => write_dot(answer, self.limit, out)?,
            Some(DiffFormat::TraceEvents) => write_trace_events(answer, self.limit, out)?,
            None if self.json => {
                serde_json::to_writer(&mut *out, answer).map_err(io::Error::from)?;
                writeln!(out)?;
            }
            None if self.categories => categories::write_categories(answer, self.limit, out)?,
            None => {
                overview::write_overview(answer, out)?;
                listing::write_mutations(answer, self.limit, out)?;
            }
        }
        Ok(())
    }

    fn compare_options(&self) -> Options {
        let ablated = |step: &str| self.ablate.iter().any(|ablated| ablated == step);
        Options {
            zoom: ZoomLevel {
                components: self.components,
                opened: self.open.clone(),
                loops: self.loops,
                races: ablated("concurrency"),
            },
            false_discoveries: self.false_discoveries,
            least_relative: self.min_change,
            least_ns: self.min_time.as_nanos() as f64,
            one_to_many: !self.any_originator,
            paper: self.paper,
            without: Ablation {
                control: ablated("control"),
                critical_path: ablated("critical-path"),
                blame: ablated("blame"),
            },
            ..Options::default()
        }
    }
}
