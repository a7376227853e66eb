//! Results in words: the line that a stage ends with.

use analyze::{Algorithm, AnalysisSummary};
use message_trace::DataDir;
use message_trace::units::to_printable;
use reconcile::{NameTranslation, Reconciliation, TranslatedEnd};
use report::DecidedCalls;
use socket_log::LogHeader;
use socket_log::layout::source;

use crate::output::{count_noun, format_bytes};
use crate::tuning::DEFAULT_DIRECTORY;

/// The result of reconcile, in a line.
pub(crate) fn reconciliation_line(found: &Reconciliation) -> String {
    // Without messages there is no share.
    let share = match found.total_messages() {
        0 => String::new(),
        all => {
            let share = 100.0 * found.both_ends as f64 / all as f64;
            format!("; {share:.1}% seen at both ends")
        }
    };
    let mut sources = Vec::new();
    if found.logs > 0 {
        sources.push(format!(
            "{} with {} in {}",
            count_noun(found.processes, "process", "processes"),
            count_noun(found.records, "record", "records"),
            format_bytes(found.log_bytes),
        ));
    }
    if !found.imported.is_empty() {
        sources.push(count_noun(found.imported.len() as u64, "import", "imports"));
    }
    let messages = count_noun(found.total_messages(), "message", "messages");
    format!("{messages} of {}{share}", sources.join(" and "))
}

/// The source of a log, if that is not the library.
pub(crate) fn source_words(header: &LogHeader) -> Option<String> {
    (header.source != source::LIBRARY).then(|| match source::NAMES.get(header.source as usize) {
        Some(name) => format!("from {name}"),
        None => format!("from source {}", header.source),
    })
}

/// A line about a translated name: the name that it leads to, or appears as.
pub(crate) fn translation_line(translation: &NameTranslation) -> String {
    let NameTranslation { end, from, to, flows, confidence } = translation;
    let how = match end {
        TranslatedEnd::Destination => "leads to",
        TranslatedEnd::Source => "is seen as",
    };
    let connections = count_noun(*flows, "connection", "connections");
    // A near certainty is not shown as certain.
    format!("{from} {how} {to}: {connections}, {:.1}% sure", (100.0 * confidence).min(99.9))
}

/// The result of analyze, in a line.
pub(crate) fn analysis_line(summary: &AnalysisSummary) -> String {
    let totals = &summary.totals;
    let mut line = format!(
        "{} in {} ({:.1} expected), by {} with {} as nodes",
        count_noun(totals.patterns, "path pattern", "path patterns"),
        count_noun(totals.instances, "instance", "instances"),
        totals.instances_expected,
        summary.options.algorithm,
        match summary.options.grain {
            message_trace::NodeGrain::Host => "hosts",
            message_trace::NodeGrain::Process => "processes",
            message_trace::NodeGrain::Command => match summary.options.algorithm {
                Algorithm::SPANS => "services",
                _ => "commands",
            },
            message_trace::NodeGrain::Thread => "threads",
        },
    );
    if summary.options.roles {
        line.push_str(", distinguished by roles");
    }
    for (count, one, many, rest) in [
        (totals.handed_on, "call", "calls", "known by hand-offs between threads"),
        (totals.by_words, "message", "messages", "linked by rare words that they share"),
        (
            totals.roots_bounded,
            "path",
            "paths",
            "with more uncertain links than were tried both ways (--try-both)",
        ),
        (totals.instances_cut, "instance", "instances", "cut off at the largest size"),
        (
            totals.circles,
            "circle",
            "circles",
            "of messages that seemed to cause each other, broken at the first",
        ),
    ] {
        if count > 0 {
            line.push_str(&format!("; {} {rest}", count_noun(count, one, many)));
        }
    }
    line
}

/// What decided for which requests calls were made, in lines.
pub(crate) fn evidence_lines(decided: &DecidedCalls) -> Vec<String> {
    let line = decided.share_text().map(|shares| format!("causes of calls by: {shares}"));
    line.into_iter().chain(decided.limit_texts()).map(|line| to_printable(&line)).collect()
}

/// The `-d` that a further command needs to find `data`.
pub(crate) fn same_directory(data: &DataDir) -> String {
    match data.path() == std::path::Path::new(DEFAULT_DIRECTORY) {
        true => String::new(),
        false => format!(" -d {}", data.path().display()),
    }
}
