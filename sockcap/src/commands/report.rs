//! `sockcap report`: the patterns on the terminal or as JSON, and the HTML page; or the delays by
//! node or by hop.

mod filter;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use ::clocks::Clocks;
use analyze::paths::{ChosenPatterns, DelayTable, PathFilter, PathPattern};
use analyze::{AnalysisSummary, Resources};
use message_trace::{DataDir, Nodes};
use reconcile::Reconciliation;
use report::page::Page;
use report::{
    DelayReport, DelaysBy, Filtered, Html, Json, Meta, Note, Options, Output, Rest, Terminal,
};

use crate::cli::Report;
use crate::error::Error;
use crate::output::Target;
use crate::{clocks, notes, output, page, progress, stages, words};

/// Patterns that are read for people: more than anybody looks at, and as many as a page can have.
pub(super) const MOST: usize = 10_000;

pub(crate) fn run(arguments: &Report) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    let page = arguments.html.clone().unwrap_or_else(|| data.html());
    let refused = |source| Error::File { path: page.clone(), source };
    let target = arguments.html.as_deref().map(Target::try_out).transpose().map_err(refused)?;
    let summary = stages::analysis(&data, &arguments.inference)?;
    let filtered = filter::of(&arguments.filter, &data, &summary)?;
    let filter = filtered.as_ref().map(|filtered| filtered.filter.clone());
    let options = Options {
        sort: arguments.sort,
        limit: Some(arguments.limit),
        // Patterns that are asked for by their numbers are all shown.
        fold: filter.as_ref().is_none_or(|filter| filter.patterns.is_empty()),
        width: output::width(),
        color: output::color(arguments.color),
        unicode: output::unicode(),
    };
    if arguments.hosts || arguments.hops {
        return delays(arguments, &summary, filtered, &options);
    }
    // JSON is for programs and has all patterns.
    let most = if arguments.json { usize::MAX } else { arguments.limit.max(MOST) };
    let order = |one: &PathPattern, other: &PathPattern| arguments.sort.compare(one, other);
    let chosen = match &filtered {
        None => ChosenPatterns::read(&data.patterns(), most, order)?,
        Some(Filtered { filter, .. }) => ChosenPatterns::filtered(
            &data,
            filter,
            most,
            order,
            &Resources::default(),
            &progress::Terminal::new(),
        )?,
    };
    let mut meta = meta(&data, &summary)?;
    meta.rest = rest(&chosen);
    match filtered {
        Some(filtered) => {
            meta.expected_paths = chosen.expected;
            meta.filtered = Some(filtered);
            let shown = arguments
                .html
                .iter()
                .map(|page| format!("timelines and patterns of this part: {}", page.display()));
            meta.next_steps = shown.chain([unfiltered(&data)]).collect();
        }
        None => {
            let which = if meta.rest.patterns == 0 { "all" } else { "more" };
            meta.next_steps = vec![format!("timelines and {which} patterns: {}", page.display())];
        }
    }
    let is_part = meta.filtered.is_some();
    let mut report = report::Report { patterns: &chosen.patterns, meta };

    let shown = match is_part && target.is_none() {
        true => Page::default(),
        false => page::read(&data, &report, &options, &filter.unwrap_or_default(), None)?,
    };
    let written = match target {
        Some(target) => {
            target.create().and_then(|file| write_page(file, &report, &shown)).map_err(refused)
        }
        // Where nobody asks for it, the page is of all.
        None if is_part => Ok(()),
        None => {
            File::create(&page).and_then(|file| write_page(file, &report, &shown)).map_err(refused)
        }
    };
    match written {
        Err(error) if arguments.html.is_some() => return Err(error),
        // Nobody asked for the page: the patterns are shown without it.
        Err(error) => {
            anstream::eprintln!(
                "sockcap: {error}; name another place for the page with --html FILE"
            );
            report.meta.next_steps.clear();
        }
        Ok(()) => {}
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments.json {
        true => Json.write(&report, &Options { limit: None, ..options }, &mut out)?,
        false => Terminal.write(&report, &options, &mut out)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the delays by node or by hop.
fn delays(
    arguments: &Report,
    summary: &AnalysisSummary,
    filtered: Option<Filtered>,
    options: &Options,
) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    let all = PathFilter::default();
    let filter = filtered.as_ref().map_or(&all, |filtered| &filtered.filter);
    let (resources, progress) = (Resources::default(), progress::Terminal::new());
    let table = match arguments.hosts {
        true => DelaysBy::Node(DelayTable::of_nodes(&data, filter, &resources, &progress)?),
        false => DelaysBy::Hop(DelayTable::of_hops(&data, filter, &resources, &progress)?),
    };
    drop(progress);
    let mut meta = meta(&data, summary)?;
    meta.next_steps = filtered.iter().map(|_| unfiltered(&data)).collect();
    meta.filtered = filtered;
    let report = DelayReport { table: &table, meta };
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments.json {
        true => Json.write_delays(&report, &Options { limit: None, ..*options }, &mut out)?,
        false => Terminal.write_delays(&report, options, &mut out)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// How to see everything again.
fn unfiltered(data: &DataDir) -> String {
    format!("all paths: sockcap report{}", words::same_directory(data))
}

/// What was not chosen.
pub(super) fn rest(chosen: &ChosenPatterns) -> Rest {
    let instances: i64 = chosen.patterns.iter().map(|pattern| pattern.count).sum();
    let total_time: f64 = chosen.patterns.iter().map(|pattern| pattern.total_time).sum();
    let patterns = chosen.all.saturating_sub(chosen.patterns.len() as u64);
    match patterns {
        0 => Rest::default(),
        _ => Rest {
            patterns,
            instances: u64::try_from(chosen.instances.saturating_sub(instances))
                .unwrap_or_default(),
            total_time: (chosen.total_time - total_time).max(0.0),
        },
    }
}

/// Writes the page, which has all patterns that were chosen.
fn write_page(file: File, report: &report::Report, page: &Page) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    Html.write(report, page, &mut file)?;
    file.flush()
}

/// What a reader must know of the trace.
pub(super) fn meta(data: &DataDir, summary: &AnalysisSummary) -> Result<Meta, Error> {
    let nodes = Nodes::read(&data.nodes())?;
    let mut hosts: Vec<&str> =
        nodes.0.iter().filter(|node| node.traced).map(|node| node.host.as_str()).collect();
    let traced = hosts.len() as u64;
    hosts.sort_unstable();
    hosts.dedup();
    let totals = &summary.totals;
    // Where something was imported, the nodes are what there is to count.
    let found = Reconciliation::read(data).ok();
    let recorded =
        found.as_ref().filter(|found| found.imported.is_empty()).map(|found| found.processes);
    let notes = found.as_ref().map(notes::warnings).unwrap_or_default();
    let doubts =
        summary.doubts.iter().map(|doubt| Note { label: doubt.words(), count: doubt.calls });
    Ok(Meta {
        source: data.path().display().to_string(),
        messages: totals.messages,
        processes: recorded.unwrap_or(traced),
        hosts: hosts.len() as u64,
        begin: page::begin(data)?,
        span: totals.span,
        expected_paths: totals.instances_expected,
        notes: doubts.chain(notes).collect(),
        clocks: Clocks::read(&data.clocks())
            .map(|found| clocks::of_report(&found))
            .unwrap_or_default(),
        ..Meta::default()
    })
}
