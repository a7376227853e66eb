//! `sockcap report`: the patterns on the terminal or as JSON, and the HTML page; or the delays by
//! node or by hop.

mod filter;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analyze::paths::{ChosenPatterns, DelayTable, PathFilter, PathPattern};
use analyze::{AnalysisResources, AnalysisSummary};
use clap::Parser;
use message_trace::{DataDir, DataPath};
use report::SortKey;
use report::page::PageData;
use report::{
    AppliedFilter, DelayReport, DelaysBy, HtmlWriter, JsonWriter, Options, ReportWriter, RestSums,
    TerminalWriter,
};

use crate::arguments::values::sort_key_parser;
use crate::arguments::{DataArguments, FilterArguments, InferenceArguments, SourceChoice};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::leftover_snippets;
use crate::lock::{self, DirectoryLocks};
use crate::output::tell;
use crate::report_meta::{build_meta, rest_of_patterns};
use crate::shown::ShownData;
use crate::target::ResultTarget;
use crate::tuning::{MAX_PATTERNS_SHOWN, PATTERNS_PRINTED};
use crate::{output, page, progress, stages};

const HELP: &str = "\
Sort keys:
  total       expected count times duration     count  instances built
  expected    sum of their probabilities        mean   mean duration
  confidence  expected / count                  p99    99th percentile of it
  evidence    expected / sqrt(count)

Nodes and hops (--hosts, --hops) are ranked in the same way, as if each message
were a path with the duration of its delay; their share is relative to the time
of all paths, with concurrent branches counted separately.

A filter by time, confidence or errors selects path instances, and all figures
are computed from these; the report shows the filter at the top. No page is
written then.

In a pager: sockcap report --color always | less -R

Options of the analysis that are not given are as in the last one of the
directory; 'sockcap analyze' without options restores the defaults.

Examples:
  sockcap report
  sockcap report --sort p99 --limit 5
  sockcap report --node host                       hosts as nodes
  sockcap report --through AP1 --through DB2       paths that pass both
  sockcap report --operation 'GET /cart/{}'        paths with that operation
  sockcap report --errors                          paths with an error
  sockcap report --pattern 3                       only #3 of the list
  sockcap report --from 10 --to 12.5               paths from these seconds
  sockcap report --from 2026-11-22T15:04:05Z --min-confidence 0.5
  sockcap report --hosts --sort p99                which node is slow at times?
  sockcap report --hops --pattern 3 --limit 50     the network's part in #3
  sockcap report --json | jq '.patterns[0]'";

/// Show the causal paths and where their time goes
#[derive(Debug, Parser)]
#[command(name = "report", after_help = HELP)]
pub(crate) struct ReportCommand {
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    source: SourceChoice,
    /// Show the latency of each node instead, over all paths (hosts with --node host)
    #[arg(long, conflicts_with = "hops")]
    hosts: bool,
    /// Show the latency of the network between each two nodes instead, over all paths
    #[arg(long)]
    hops: bool,
    /// Write the HTML page to this file, even if it covers only some paths [default:
    /// DIR/report.html]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["hosts", "hops"])]
    html: Option<PathBuf>,
    /// Print JSON instead, with all patterns and all figures
    #[arg(long)]
    pub(crate) json: bool,
    /// The key to rank the patterns by
    #[arg(
        long,
        value_name = "KEY",
        default_value_t,
        value_parser = sort_key_parser(),
        hide_possible_values = true
    )]
    pub(crate) sort: SortKey,
    /// Print at most N patterns, nodes or hops (the HTML page has up to 10000)
    #[arg(long, value_name = "N", default_value_t = PATTERNS_PRINTED)]
    pub(crate) limit: usize,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value_t)]
    color: clap::ColorChoice,
    #[command(flatten)]
    filter: FilterArguments,
    #[command(flatten)]
    inference: InferenceArguments,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<ReportCommand>();

impl RunnableCommand for ReportCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let locks = lock::lock_directories(&[&self.data.data_dir()])?;
        let shown = self.source.choose_source(&self.data)?;
        let data = &shown.data;
        leftover_snippets::warn_of_snippets(&shown.whole)?;
        let page = ReportPageFile::try_out(self.html.as_deref(), &shown.whole)?;
        let summary = stages::ensure_analysis(&shown, &self.inference)?;
        let filtered = filter::build_filter(&self.filter, data, &summary)?;
        let filter = filtered.as_ref().map(|filtered| filtered.filter.clone());
        let options = self.layout_options(filter.as_ref());
        if self.hosts || self.hops {
            return show_delays(self, &shown, &summary, filtered, &options, locks);
        }
        let chosen = self.choose_patterns(data, filter.as_ref())?;
        let mut meta = build_meta(&shown, &summary)?;
        meta.rest = rest_of_patterns(&chosen);
        meta.next_steps = self.next_steps(&shown, &page, filtered.is_some(), &meta.rest);
        if let Some(filtered) = filtered {
            meta.expected_paths = chosen.expected;
            meta.filtered = Some(filtered);
        }
        let mut report = report::Report::new(&chosen.patterns, meta);
        // Unless the user named a file, the page is of all paths.
        let written = match filter.is_some() && self.html.is_none() {
            true => Ok(()),
            false => {
                let shown = page::read_page(
                    &shown,
                    &self.inference,
                    &report,
                    &options,
                    &filter.unwrap_or_default(),
                    None,
                )?;
                page.write_page(&report, &shown)
            }
        };
        let mut status = ExitCode::SUCCESS;
        match written {
            Err(error) if self.html.is_some() => return Err(error),
            // The page was not asked for: the patterns are shown without it. A directory that is
            // not writable is no failure; a page that was begun and could not be completed is.
            Err(error) => {
                tell!("sockcap: {error}; choose another file for the page with --html FILE");
                report.meta.next_steps.clear();
                status = if error.is_about_rights() { status } else { ExitCode::FAILURE };
            }
            Ok(()) => {}
        }
        // The rest is in memory, and a reader of the output may take long or wait for the lock.
        drop(locks);
        if self.json {
            let mut out = output::machine_output();
            JsonWriter.write_report(&report, &Options { limit: None, ..options }, &mut out)?;
            out.flush()?;
        } else {
            let mut out = output::styled_output(options.color);
            TerminalWriter.write_report(&report, &options, &mut out)?;
            out.flush()?;
        }
        Ok(status)
    }
}

impl ReportCommand {
    /// The layout of the report.
    fn layout_options(&self, filter: Option<&PathFilter>) -> Options {
        Options {
            sort: self.sort,
            limit: Some(self.limit),
            // Patterns that are selected by number are all shown.
            fold: filter.is_none_or(|filter| filter.patterns.is_empty()),
            width: output::line_width(),
            color: output::use_color(self.color),
            unicode: output::use_unicode(),
        }
    }

    /// The first patterns in the order of the report.
    fn choose_patterns(
        &self,
        data: &DataDir,
        filter: Option<&PathFilter>,
    ) -> Result<ChosenPatterns, CommandError> {
        // JSON is for programs and has all patterns.
        let limit = if self.json { usize::MAX } else { self.limit.max(MAX_PATTERNS_SHOWN) };
        let order = |one: &PathPattern, other: &PathPattern| self.sort.compare_patterns(one, other);
        let Some(filter) = filter else {
            return Ok(ChosenPatterns::read(data.patterns_path(), limit, order)?);
        };
        let (resources, progress) =
            (AnalysisResources::default(), progress::TerminalProgress::new());
        Ok(ChosenPatterns::read_filtered(data, filter, limit, order, &resources, &progress)?)
    }

    /// The next steps suggested to the reader.
    fn next_steps(
        &self,
        shown: &ShownData,
        page: &ReportPageFile,
        is_part: bool,
        rest: &RestSums,
    ) -> Vec<String> {
        let page = page.name().display();
        if is_part {
            let named = self.html.iter();
            let named = named.map(|_| format!("timelines and patterns of this part: {page}"));
            return named.chain([unfiltered_hint(shown)]).collect();
        }
        let which = if rest.patterns == 0 { "all" } else { "more" };
        vec![format!("timelines and {which} patterns: {page}")]
    }
}

/// The file of the HTML page: a file that the user named, or the one in the data directory.
enum ReportPageFile {
    Named(ResultTarget),
    Own(DataPath),
}

impl ReportPageFile {
    /// The file that the user named, which is tried out, or the one in the data directory.
    fn try_out(named: Option<&Path>, data: &DataDir) -> Result<ReportPageFile, CommandError> {
        match named {
            Some(named) => Ok(ReportPageFile::Named(ResultTarget::try_out(Some(named))?)),
            None => Ok(ReportPageFile::Own(data.html_path())),
        }
    }

    fn name(&self) -> &Path {
        match self {
            ReportPageFile::Named(target) => target.name(),
            ReportPageFile::Own(path) => path.as_path(),
        }
    }

    /// Writes the page, with all patterns that were chosen.
    fn write_page(self, report: &report::Report, page: &PageData) -> Result<(), CommandError> {
        let mut target = match self {
            ReportPageFile::Named(target) => target,
            ReportPageFile::Own(path) => ResultTarget::below_path(&path)?,
        };
        let mut write = || {
            let mut file = BufWriter::new(&mut target);
            HtmlWriter.write_page(report, page, &mut file)?;
            file.flush()
        };
        let written = write();
        written.map_err(|source| target.write_error(source))?;
        target.finish_target()
    }
}

/// Shows the delays by node or by hop.
fn show_delays(
    arguments: &ReportCommand,
    shown: &ShownData,
    summary: &AnalysisSummary,
    filtered: Option<AppliedFilter>,
    options: &Options,
    locks: DirectoryLocks,
) -> Result<ExitCode, CommandError> {
    let data = &shown.data;
    let all = PathFilter::default();
    let filter = filtered.as_ref().map_or(&all, |filtered| &filtered.filter);
    let (resources, progress) = (AnalysisResources::default(), progress::TerminalProgress::new());
    let table = match arguments.hosts {
        true => DelaysBy::Node(DelayTable::for_nodes(data, filter, &resources, &progress)?),
        false => DelaysBy::Hop(DelayTable::for_hops(data, filter, &resources, &progress)?),
    };
    drop(progress);
    let mut meta = build_meta(shown, summary)?;
    meta.next_steps = filtered.iter().map(|_| unfiltered_hint(shown)).collect();
    meta.filtered = filtered;
    let report = DelayReport { table: &table, meta };
    drop(locks);
    if arguments.json {
        let mut out = output::machine_output();
        JsonWriter.write_delays(&report, &Options { limit: None, ..*options }, &mut out)?;
        out.flush()?;
    } else {
        let mut out = output::styled_output(options.color);
        TerminalWriter.write_delays(&report, options, &mut out)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The command that shows all paths again.
fn unfiltered_hint(shown: &ShownData) -> String {
    format!("all paths: sockcap report{}", shown.repeat_arguments())
}
