//! The overview, which the page shows before a pattern is selected: the trace in a few numbers, the
//! patterns as columns, the map and the series.

use analyze::paths::{Hop, PathPattern};
use message_trace::units::to_printable;
use serde::Serialize;

use super::map::PageMap;
use super::names::PageNames;
use super::number::ShortNumber;
use super::one_sided::OneSidedMessages;
use super::operations::OperationColumns;
use super::series::SeriesColumns;
use crate::applied_filter::AppliedFilter;
use crate::call_evidence::DecidedCalls;
use crate::label;
use crate::label::HopLabel;
use crate::options::Options;
use crate::summary::{Report, TraceMeta};
use crate::tuning::{MAX_HOPS, MAX_NODES, PATTERNS_PER_BATCH};

/// The overview in its JSON form. Times are in nanoseconds.
#[derive(Debug, Serialize)]
pub(super) struct PageOverview<'a> {
    source: String,
    /// The time at which the trace begins, in milliseconds since the Unix epoch; null if it is
    /// unknown.
    begin: Option<ShortNumber>,
    span: i64,
    /// The length of the part of the trace in which paths of the page may begin: the whole span, or
    /// the part selected by the filter.
    window: i64,
    messages: u64,
    processes: u64,
    /// The number of requests, and of their steps, if the paths are from spans.
    requests: Option<u64>,
    steps: Option<u64>,
    /// Other contents of the source, and how to see them.
    other: Option<String>,
    hosts: u64,
    pattern_count: u64,
    instances: u64,
    expected_paths: ShortNumber,
    total_time: ShortNumber,
    sort: &'static str,
    notes: Vec<PageNote>,
    /// What decided the causes of calls; left out if no service makes calls for requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<PageEvidence>,
    pub(super) one_sided: OneSidedMessages,
    /// The conditions of the filter in words; empty if the page is about all paths.
    filtered: Vec<String>,
    /// Whether the page has the contexts of operations.
    pub(super) contexts: bool,
    /// Whether the page has the costs of requests.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) workload: bool,
    /// The number of patterns in a batch of details.
    group: usize,
    patterns: PatternColumns,
    pub(super) map: &'a PageMap,
    pub(super) series: SeriesColumns,
    /// The operations of the patterns; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<OperationColumns>,
    /// The names of nodes, ports and protocols, in the order of their numbers.
    pub(super) names: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PageNote {
    label: String,
    count: u64,
}

/// What decided for which requests services made their calls.
#[derive(Debug, Serialize)]
struct PageEvidence {
    /// The kinds of evidence with their numbers of calls, the surest first.
    decided: Vec<(&'static str, u64)>,
    /// Reasons why calls are inferred.
    limits: Vec<String>,
}

impl PageEvidence {
    fn from_decided(decided: &DecidedCalls) -> Option<PageEvidence> {
        let calls = decided.all_calls();
        let counts = calls.shares().into_iter();
        let limits = decided.limit_texts().into_iter().map(|limit| to_printable(&limit));
        let evidence = PageEvidence {
            decided: counts.map(|(kind, _)| (kind.label(), calls.count(kind))).collect(),
            limits: limits.collect(),
        };
        Some(evidence).filter(|of| !of.decided.is_empty() || !of.limits.is_empty())
    }
}

/// The patterns by rank, one list for each column.
#[derive(Debug, Default, Serialize)]
struct PatternColumns {
    id: Vec<i64>,
    count: Vec<i64>,
    expected: Vec<ShortNumber>,
    max_probability: Vec<ShortNumber>,
    mean: Vec<ShortNumber>,
    p50: Vec<ShortNumber>,
    p99: Vec<ShortNumber>,
    total: Vec<ShortNumber>,
    hops: Vec<usize>,
    /// The number of the lead of the pattern's family.
    family: Vec<i64>,
    /// The nodes in the order in which the path first reaches them: twice the number of the name,
    /// plus one if the path continues from the preceding node.
    nodes: Vec<Vec<u32>>,
    /// The ports, protocols and operations of the pattern.
    ports: Vec<Vec<u32>>,
    /// The operation of the root, as the number of a name; left out if no pattern has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asked: Vec<Option<u32>>,
    /// Share of the instances with a failed root; left out if no pattern has a known outcome.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Option<ShortNumber>>,
}

impl<'a> PageOverview<'a> {
    /// The overview without contexts, workload, and messages that were seen at one end only.
    pub(super) fn from_report(
        report: &Report<'_>,
        ranked: &[&PathPattern],
        options: &Options,
        map: &'a PageMap,
        (series, operations): (SeriesColumns, Option<OperationColumns>),
        names: &mut PageNames,
    ) -> PageOverview<'a> {
        let meta = &report.meta;
        let note = |note: &crate::summary::UnseenNote| PageNote {
            label: note.label.clone(),
            count: note.count,
        };
        let patterns = PatternColumns::from_patterns(ranked, report, names);
        PageOverview {
            source: to_printable(&meta.source),
            begin: meta.begin.map(|begin| ShortNumber::from_whole(begin as f64 / 1e6)),
            span: meta.span,
            window: trace_window(meta),
            messages: meta.messages,
            processes: meta.processes,
            requests: meta.requests.map(|counts| counts.requests),
            steps: meta.requests.map(|counts| counts.steps),
            other: meta.other.clone(),
            hosts: meta.hosts,
            pattern_count: report.pattern_count(),
            instances: report.instance_count(),
            expected_paths: ShortNumber::from_value(meta.expected_paths),
            total_time: ShortNumber::from_whole(report.total_time()),
            sort: options.sort.name(),
            filtered: meta
                .filtered
                .as_ref()
                .map(AppliedFilter::condition_words)
                .unwrap_or_default(),
            notes: report.counted_notes().map(note).collect(),
            evidence: PageEvidence::from_decided(&meta.decided),
            one_sided: OneSidedMessages::default(),
            contexts: false,
            workload: false,
            group: PATTERNS_PER_BATCH,
            patterns,
            map,
            series,
            operations,
            names: names.shown_names(),
        }
    }
}

/// The length of the part of the trace in which paths may begin, in nanoseconds.
fn trace_window(meta: &TraceMeta) -> i64 {
    let Some(AppliedFilter { filter, begin, .. }) = &meta.filtered else { return meta.span };
    let end = begin.saturating_add(meta.span);
    let from = filter.from.map_or(*begin, |from| from.max(*begin));
    let to = filter.to.map_or(end, |to| to.min(end));
    to.saturating_sub(from).max(1)
}

impl PatternColumns {
    fn from_patterns(
        ranked: &[&PathPattern],
        report: &Report<'_>,
        names: &mut PageNames,
    ) -> PatternColumns {
        let mut columns = PatternColumns::default();
        for pattern in ranked {
            columns.id.push(pattern.id);
            columns.count.push(pattern.count);
            columns.expected.push(ShortNumber::from_value(pattern.expected));
            columns.max_probability.push(ShortNumber::from_value(pattern.max_probability));
            columns.mean.push(ShortNumber::from_whole(pattern.duration.mean));
            columns.p50.push(ShortNumber::from_whole(pattern.duration.p50));
            columns.p99.push(ShortNumber::from_whole(pattern.duration.p99));
            columns.total.push(ShortNumber::from_whole(pattern.total_time));
            columns.hops.push(pattern.hops.len());
            columns.family.push(report.families.lead_of_pattern(pattern));
            columns.nodes.push(node_numbers(pattern, names));
            columns.ports.push(port_numbers(pattern, names));
            let root = pattern.hops.first();
            let asked = root.and_then(|root| root.operation.as_deref());
            columns.asked.push(asked.map(|name| names.intern(name)));
            columns.errors.push(error_share(pattern));
        }
        if columns.asked.iter().all(Option::is_none) {
            columns.asked.clear();
        }
        if columns.errors.iter().all(Option::is_none) {
            columns.errors.clear();
        }
        columns
    }
}

/// Share of the instances with a failed root, if its response has an outcome.
fn error_share(pattern: &PathPattern) -> Option<ShortNumber> {
    let root = pattern.hops.first()?;
    let is_answer = |hop: &&Hop| hop.src == root.dst && hop.dst == root.src;
    let outcomes = pattern.hops.iter().rev().filter(is_answer).find_map(|hop| hop.outcomes)?;
    Some(ShortNumber::from_value(outcomes.error_share))
}

fn node_numbers(pattern: &PathPattern, names: &mut PageNames) -> Vec<u32> {
    let met = label::visited_nodes(&pattern.hops, MAX_NODES);
    met.into_iter().map(|(name, goes_on)| names.intern(name) * 2 + u32::from(goes_on)).collect()
}

fn port_numbers(pattern: &PathPattern, names: &mut PageNames) -> Vec<u32> {
    let mut ports: Vec<u32> = pattern
        .hops
        .iter()
        .take(MAX_HOPS)
        .map(|hop| HopLabel::from_ends(hop, label::UNICODE))
        .map(|label| names.intern(&label.receiver_suffix()))
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}
