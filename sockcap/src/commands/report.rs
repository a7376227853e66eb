//! `sockcap report`: the patterns on the terminal or as JSON, and the HTML page; or the delays by
//! node or by hop.

mod filter;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analyze::paths::{ChosenPatterns, DelayTable, PathFilter, PathPattern};
use analyze::{AnalysisSummary, Resources};
use clap::Parser;
use message_trace::{DataDir, DataPath};
use report::SortKey;
use report::page::Page;
use report::{DelayReport, DelaysBy, Filtered, Html, Json, Options, Output, Rest, Terminal};

use crate::arguments::values::sort_key;
use crate::arguments::{Data, Filter, Inference, SourceChoice};
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::lock::{self, Locks};
use crate::output::tell;
use crate::report_meta::{meta, rest};
use crate::shown::Shown;
use crate::snippets_left;
use crate::target::Target;
use crate::tuning::MAX_PATTERNS_SHOWN;
use crate::{output, page, progress, stages};

const HELP: &str = "\
Sort keys:
  total       expected count times duration     count  instances built
  expected    sum of their probabilities        mean   mean duration
  confidence  expected / count                  p99    99th percentile of it
  evidence    expected / sqrt(count)

Nodes and hops (--hosts, --hops) are ranked likewise, as if each message were a
path that takes as long as it is delayed; their share is of the time of all
paths, where branches that go on at once each count.

A filter by time, confidence or errors chooses path instances, and all figures are made
again from those that are left; the report says on top what it is about. No
page is written then.

In a pager: sockcap report --color always | less -R

What is not said of the analysis is as in the last one of the directory;
'sockcap analyze' without options goes back to the defaults.

Examples:
  sockcap report
  sockcap report --sort p99 --limit 5
  sockcap report --node host                       hosts as nodes
  sockcap report --through AP1 --through DB2       paths that pass both
  sockcap report --operation 'GET /cart/{}'        paths that ask for that
  sockcap report --errors                          paths with an error
  sockcap report --pattern 3                       only #3 of the list
  sockcap report --from 10 --to 12.5               paths begun in these seconds
  sockcap report --from 2026-11-22T15:04:05Z --min-confidence 0.5
  sockcap report --hosts --sort p99                which node is slow at times?
  sockcap report --hops --pattern 3 --limit 50     the network's part in #3
  sockcap report --json | jq '.patterns[0]'";

/// Show the causal paths and where their time goes
#[derive(Debug, Parser)]
#[command(name = "report", after_help = HELP)]
pub(crate) struct Report {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    source: SourceChoice,
    /// Show the latency of each node instead, whatever the path (hosts with --node host)
    #[arg(long, conflicts_with = "hops")]
    hosts: bool,
    /// Show the latency of the network between each two nodes instead, whatever the path
    #[arg(long)]
    hops: bool,
    /// Write the HTML page to this file, also where it is of some paths only [default:
    /// DIR/report.html]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["hosts", "hops"])]
    html: Option<PathBuf>,
    /// Print JSON instead, with all patterns and all figures
    #[arg(long)]
    pub(crate) json: bool,
    /// What to rank the patterns by
    #[arg(long, value_name = "KEY", default_value_t = SortKey::default(), value_parser = sort_key(), hide_possible_values = true)]
    pub(crate) sort: SortKey,
    /// Print at most N patterns, nodes or hops (the HTML page has up to 10000)
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: clap::ColorChoice,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    inference: Inference,
}

pub(super) const COMMAND: Subcommand = Subcommand::of::<Report>();

impl Run for Report {
    fn run(&self) -> Result<ExitCode, Error> {
        let locks = lock::work_on(&[&self.data.dir()])?;
        let shown = self.source.of(&self.data)?;
        let data = &shown.data;
        snippets_left::warn(&shown.whole)?;
        let page = PageFile::try_out(self.html.as_deref(), &shown.whole)?;
        let summary = stages::analysis(&shown, &self.inference)?;
        let filtered = filter::of(&self.filter, data, &summary)?;
        let filter = filtered.as_ref().map(|filtered| filtered.filter.clone());
        let options = self.options(filter.as_ref());
        if self.hosts || self.hops {
            return delays(self, &shown, &summary, filtered, &options, locks);
        }
        let chosen = self.chosen(data, filter.as_ref())?;
        let mut meta = meta(&shown, &summary)?;
        meta.rest = rest(&chosen);
        meta.next_steps = self.next_steps(&shown, &page, filtered.is_some(), &meta.rest);
        if let Some(filtered) = filtered {
            meta.expected_paths = chosen.expected;
            meta.filtered = Some(filtered);
        }
        let mut report = report::Report::new(&chosen.patterns, meta);
        // Without a name that the user gave, the page is of all paths.
        let written = match filter.is_some() && self.html.is_none() {
            true => Ok(()),
            false => {
                let shown = page::read(
                    &shown,
                    &self.inference,
                    &report,
                    &options,
                    &filter.unwrap_or_default(),
                    None,
                )?;
                page.write(&report, &shown)
            }
        };
        let mut status = ExitCode::SUCCESS;
        match written {
            Err(error) if self.html.is_some() => return Err(error),
            // Nobody asked for the page: the patterns are shown without it. That a directory is not
            // to be written to is no failure; that a page was begun and could not be written is.
            Err(error) => {
                tell!("sockcap: {error}; name another place for the page with --html FILE");
                report.meta.next_steps.clear();
                status = if error.is_about_rights() { status } else { ExitCode::FAILURE };
            }
            Ok(()) => {}
        }
        // The rest is in memory, and whoever reads it may take long or wait for the lock.
        drop(locks);
        if self.json {
            let mut out = output::machine();
            Json.write(&report, &Options { limit: None, ..options }, &mut out)?;
            out.flush()?;
        } else {
            let mut out = output::styled(options.color);
            Terminal.write(&report, &options, &mut out)?;
            out.flush()?;
        }
        Ok(status)
    }
}

impl Report {
    /// The layout of the report.
    fn options(&self, filter: Option<&PathFilter>) -> Options {
        Options {
            sort: self.sort,
            limit: Some(self.limit),
            // Patterns that are asked for by their numbers are all shown.
            fold: filter.is_none_or(|filter| filter.patterns.is_empty()),
            width: output::width(),
            color: output::color(self.color),
            unicode: output::unicode(),
        }
    }

    /// The first patterns in the order of the report.
    fn chosen(&self, data: &DataDir, filter: Option<&PathFilter>) -> Result<ChosenPatterns, Error> {
        // JSON is for programs and has all patterns.
        let limit = if self.json { usize::MAX } else { self.limit.max(MAX_PATTERNS_SHOWN) };
        let order = |one: &PathPattern, other: &PathPattern| self.sort.compare(one, other);
        let Some(filter) = filter else {
            return Ok(ChosenPatterns::read(data.patterns(), limit, order)?);
        };
        let (resources, progress) = (Resources::default(), progress::Terminal::new());
        Ok(ChosenPatterns::filtered(data, filter, limit, order, &resources, &progress)?)
    }

    /// What the reader can look at next.
    fn next_steps(
        &self,
        shown: &Shown,
        page: &PageFile,
        is_part: bool,
        rest: &Rest,
    ) -> Vec<String> {
        let page = page.name().display();
        if is_part {
            let named = self.html.iter();
            let named = named.map(|_| format!("timelines and patterns of this part: {page}"));
            return named.chain([unfiltered(shown)]).collect();
        }
        let which = if rest.patterns == 0 { "all" } else { "more" };
        vec![format!("timelines and {which} patterns: {page}")]
    }
}

/// The file of the HTML page: one that the user named, or that of the data directory.
enum PageFile {
    Named(Target),
    Own(DataPath),
}

impl PageFile {
    /// The file that the user named, which is tried out, or that of the data directory.
    fn try_out(named: Option<&Path>, data: &DataDir) -> Result<PageFile, Error> {
        match named {
            Some(named) => Ok(PageFile::Named(Target::try_out(Some(named))?)),
            None => Ok(PageFile::Own(data.html())),
        }
    }

    fn name(&self) -> &Path {
        match self {
            PageFile::Named(target) => target.name(),
            PageFile::Own(path) => path.as_path(),
        }
    }

    /// Writes the page, which has all patterns that were chosen.
    fn write(self, report: &report::Report, page: &Page) -> Result<(), Error> {
        let mut target = match self {
            PageFile::Named(target) => target,
            PageFile::Own(path) => Target::below(&path)?,
        };
        let mut write = || {
            let mut file = BufWriter::new(&mut target);
            Html.write(report, page, &mut file)?;
            file.flush()
        };
        let written = write();
        written.map_err(|source| target.refused(source))?;
        target.finish()
    }
}

/// Shows the delays by node or by hop.
fn delays(
    arguments: &Report,
    shown: &Shown,
    summary: &AnalysisSummary,
    filtered: Option<Filtered>,
    options: &Options,
    locks: Locks,
) -> Result<ExitCode, Error> {
    let data = &shown.data;
    let all = PathFilter::default();
    let filter = filtered.as_ref().map_or(&all, |filtered| &filtered.filter);
    let (resources, progress) = (Resources::default(), progress::Terminal::new());
    let table = match arguments.hosts {
        true => DelaysBy::Node(DelayTable::of_nodes(data, filter, &resources, &progress)?),
        false => DelaysBy::Hop(DelayTable::of_hops(data, filter, &resources, &progress)?),
    };
    drop(progress);
    let mut meta = meta(shown, summary)?;
    meta.next_steps = filtered.iter().map(|_| unfiltered(shown)).collect();
    meta.filtered = filtered;
    let report = DelayReport { table: &table, meta };
    drop(locks);
    if arguments.json {
        let mut out = output::machine();
        Json.write_delays(&report, &Options { limit: None, ..*options }, &mut out)?;
        out.flush()?;
    } else {
        let mut out = output::styled(options.color);
        Terminal.write_delays(&report, options, &mut out)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How to see everything again.
fn unfiltered(shown: &Shown) -> String {
    format!("all paths: sockcap report{}", shown.again())
}
