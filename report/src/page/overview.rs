//! The overview, which the page shows before a pattern is chosen: the trace in a few numbers, the
//! patterns as columns, the map and the series.

use analyze::paths::{Hop, PathPattern};
use serde::Serialize;

use super::map::PageMap;
use super::names::Names;
use super::number::Number;
use super::one_sided::OneSidedMessages;
use super::operations::OperationColumns;
use super::series::SeriesColumns;
use crate::filtered::Filtered;
use crate::label;
use crate::label::Label;
use crate::options::Options;
use crate::summary::{Meta, Report};
use crate::tuning::{MAX_HOPS, MAX_NODES, PATTERNS_PER_PIECE};

/// The overview as JSON has it. Times are in nanoseconds.
#[derive(Debug, Serialize)]
pub(super) struct Overview<'a> {
    source: String,
    /// The time at which the trace begins, in milliseconds since the Unix epoch; null if it is
    /// unknown.
    begin: Option<Number>,
    span: i64,
    /// The length of the part of the trace in which paths of the page may begin: the span, or the
    /// part that was asked for.
    window: i64,
    messages: u64,
    processes: u64,
    /// The number of requests, and of steps of all of them, where the paths are those of spans.
    requests: Option<u64>,
    steps: Option<u64>,
    /// What else the source has, and how to see it.
    other: Option<String>,
    hosts: u64,
    pattern_count: u64,
    instances: u64,
    expected_paths: Number,
    total_time: Number,
    sort: &'static str,
    notes: Vec<Note>,
    pub(super) one_sided: OneSidedMessages,
    /// The conditions of the filter in words; empty if the page is about all paths.
    filtered: Vec<String>,
    /// Whether the page has the contexts of operations.
    pub(super) contexts: bool,
    /// Whether the page has what requests cost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) workload: bool,
    /// The number of patterns in a piece of details.
    group: usize,
    patterns: PatternColumns,
    pub(super) map: &'a PageMap,
    pub(super) series: SeriesColumns,
    /// What the patterns ask for; left out where none says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<OperationColumns>,
    /// The names of nodes, ports and protocols, in the order of their numbers.
    pub(super) names: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Note {
    label: String,
    count: u64,
}

/// The patterns by rank, a list for each column.
#[derive(Debug, Default, Serialize)]
struct PatternColumns {
    id: Vec<i64>,
    count: Vec<i64>,
    expected: Vec<Number>,
    max_probability: Vec<Number>,
    mean: Vec<Number>,
    p50: Vec<Number>,
    p99: Vec<Number>,
    total: Vec<Number>,
    hops: Vec<usize>,
    /// The number of the lead of its family.
    family: Vec<i64>,
    /// The nodes in the order in which the path first comes to them: twice the number of the name,
    /// plus one if the path goes on from the node before.
    nodes: Vec<Vec<u32>>,
    /// The ports and protocols of the pattern, and what is asked for.
    ports: Vec<Vec<u32>>,
    /// What the root asks for, as the number of a name; left out where no pattern says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asked: Vec<Option<u32>>,
    /// Share of the instances whose root failed; left out where no pattern says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Option<Number>>,
}

impl<'a> Overview<'a> {
    /// The overview without contexts and workload, and without the messages that were seen at one
    /// end only.
    pub(super) fn of(
        report: &Report<'_>,
        ranked: &[&PathPattern],
        options: &Options,
        map: &'a PageMap,
        (series, operations): (SeriesColumns, Option<OperationColumns>),
        names: &mut Names,
    ) -> Overview<'a> {
        let meta = &report.meta;
        let note =
            |note: &crate::summary::Note| Note { label: note.label.clone(), count: note.count };
        let patterns = PatternColumns::of(ranked, report, names);
        Overview {
            source: message_trace::units::printable(&meta.source),
            begin: meta.begin.map(|begin| Number::whole(begin as f64 / 1e6)),
            span: meta.span,
            window: window(meta),
            messages: meta.messages,
            processes: meta.processes,
            requests: meta.requests.map(|counts| counts.requests),
            steps: meta.requests.map(|counts| counts.steps),
            other: meta.other.clone(),
            hosts: meta.hosts,
            pattern_count: report.pattern_count(),
            instances: report.instances(),
            expected_paths: Number::of(meta.expected_paths),
            total_time: Number::whole(report.total_time()),
            sort: options.sort.name(),
            filtered: meta.filtered.as_ref().map(Filtered::words).unwrap_or_default(),
            notes: report.notes().map(note).collect(),
            one_sided: OneSidedMessages::default(),
            contexts: false,
            workload: false,
            group: PATTERNS_PER_PIECE,
            patterns,
            map,
            series,
            operations,
            names: names.shown(),
        }
    }
}

/// The length of the part of the trace in which paths may begin, in nanoseconds.
fn window(meta: &Meta) -> i64 {
    let Some(Filtered { filter, begin, .. }) = &meta.filtered else { return meta.span };
    let end = begin.saturating_add(meta.span);
    let from = filter.from.map_or(*begin, |from| from.max(*begin));
    let to = filter.to.map_or(end, |to| to.min(end));
    to.saturating_sub(from).max(1)
}

impl PatternColumns {
    fn of(ranked: &[&PathPattern], report: &Report<'_>, names: &mut Names) -> PatternColumns {
        let mut columns = PatternColumns::default();
        for pattern in ranked {
            columns.id.push(pattern.id);
            columns.count.push(pattern.count);
            columns.expected.push(Number::of(pattern.expected));
            columns.max_probability.push(Number::of(pattern.max_probability));
            columns.mean.push(Number::whole(pattern.duration.mean));
            columns.p50.push(Number::whole(pattern.duration.p50));
            columns.p99.push(Number::whole(pattern.duration.p99));
            columns.total.push(Number::whole(pattern.total_time));
            columns.hops.push(pattern.hops.len());
            columns.family.push(report.families.lead(pattern));
            columns.nodes.push(nodes(pattern, names));
            columns.ports.push(ports(pattern, names));
            let root = pattern.hops.first();
            let asked = root.and_then(|root| root.operation.as_deref());
            columns.asked.push(asked.map(|name| names.number(name)));
            columns.errors.push(errors(pattern));
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

/// Share of the instances whose root failed, where its answer says so.
fn errors(pattern: &PathPattern) -> Option<Number> {
    let root = pattern.hops.first()?;
    let is_answer = |hop: &&Hop| hop.src == root.dst && hop.dst == root.src;
    let outcomes = pattern.hops.iter().rev().filter(is_answer).find_map(|hop| hop.outcomes)?;
    Some(Number::of(outcomes.error_share))
}

fn nodes(pattern: &PathPattern, names: &mut Names) -> Vec<u32> {
    let met = label::nodes(&pattern.hops, MAX_NODES);
    met.into_iter().map(|(name, goes_on)| names.number(name) * 2 + u32::from(goes_on)).collect()
}

fn ports(pattern: &PathPattern, names: &mut Names) -> Vec<u32> {
    let mut ports: Vec<u32> = pattern
        .hops
        .iter()
        .take(MAX_HOPS)
        .map(|hop| Label::of(hop, label::UNICODE))
        .map(|label| names.number(&label.behind()))
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}
