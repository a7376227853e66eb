//! What the page shows before anybody chooses a pattern: the trace in a few numbers, the patterns
//! as columns, the map and the series.

use analyze::paths::PathPattern;
use serde::Serialize;

use super::map::SystemMap;
use super::names::Names;
use super::number::Number;
use super::one_sided::OneSidedMessages;
use super::series::SeriesColumns;
use crate::label::Label;
use crate::{Filtered, Meta, Options, Report, families, label};

/// Nodes of a pattern that can be searched for; of longer paths those that come first.
const MOST_NODES: usize = 64;

/// All of it, as JSON has it. Times are in nanoseconds.
#[derive(Debug, Serialize)]
pub(super) struct Overview<'a> {
    source: String,
    /// When the trace begins, in milliseconds since the Unix epoch; null where it has no such time.
    begin: Option<Number>,
    span: i64,
    /// How long it is in which paths of the page may begin: the span, or the part of it that was
    /// asked for.
    window: i64,
    messages: u64,
    processes: u64,
    hosts: u64,
    pattern_count: u64,
    instances: u64,
    expected_paths: Number,
    total_time: Number,
    sort: &'static str,
    notes: Vec<Note>,
    pub(super) one_sided: OneSidedMessages,
    /// Which part of the trace this is, in words; none where it is all of it.
    filtered: Vec<String>,
    /// How many patterns a piece of details has.
    group: usize,
    patterns: PatternColumns,
    pub(super) map: &'a SystemMap,
    pub(super) series: SeriesColumns,
    /// Names of nodes, ports and protocols by the numbers that stand for them.
    pub(super) names: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Note {
    label: String,
    count: u64,
}

/// A column each, by rank.
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
    /// The number of the pattern that stands for all of the same hops.
    family: Vec<i64>,
    /// The nodes in the order in which the path first comes to them: twice the number of the name,
    /// plus one where it goes on from the one before.
    nodes: Vec<Vec<u32>>,
    /// What it goes over: ports and protocols.
    ports: Vec<Vec<u32>>,
}

impl<'a> Overview<'a> {
    /// Everything but what comes from the instances.
    pub(super) fn of(
        report: &Report<'_>,
        ranked: &[&PathPattern],
        options: &Options,
        map: &'a SystemMap,
        series: SeriesColumns,
        names: &mut Names,
    ) -> Overview<'a> {
        let meta = &report.meta;
        let note = |note: &crate::Note| Note { label: note.label.clone(), count: note.count };
        let patterns = PatternColumns::of(ranked, names);
        Overview {
            source: message_trace::units::printable(&meta.source),
            begin: meta.begin.map(|begin| Number::whole(begin as f64 / 1e6)),
            span: meta.span,
            window: window(meta),
            messages: meta.messages,
            processes: meta.processes,
            hosts: meta.hosts,
            pattern_count: report.pattern_count(),
            instances: report.instances(),
            expected_paths: Number::of(meta.expected_paths),
            total_time: Number::whole(report.total_time()),
            sort: options.sort.name(),
            filtered: meta.filtered.as_ref().map(crate::Filtered::words).unwrap_or_default(),
            notes: report.notes().map(note).collect(),
            one_sided: OneSidedMessages::default(),
            group: super::GROUP,
            patterns,
            map,
            series,
            names: names.shown(),
        }
    }
}

/// The part of the trace in which paths may begin, in nanoseconds.
fn window(meta: &Meta) -> i64 {
    let Some(Filtered { filter, begin, .. }) = &meta.filtered else { return meta.span };
    let end = begin.saturating_add(meta.span);
    let from = filter.from.map_or(*begin, |from| from.max(*begin));
    let to = filter.to.map_or(end, |to| to.min(end));
    to.saturating_sub(from).max(1)
}

impl PatternColumns {
    fn of(ranked: &[&PathPattern], names: &mut Names) -> PatternColumns {
        let mut columns = PatternColumns::default();
        let families = families::leads(ranked);
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
            columns.family.push(families.get(&pattern.id).copied().unwrap_or(pattern.id));
            columns.nodes.push(nodes(pattern, names));
            columns.ports.push(ports(pattern, names));
        }
        columns
    }
}

fn nodes(pattern: &PathPattern, names: &mut Names) -> Vec<u32> {
    let met = label::nodes(&pattern.hops, MOST_NODES);
    met.into_iter().map(|(name, goes_on)| names.number(name) * 2 + u32::from(goes_on)).collect()
}

fn ports(pattern: &PathPattern, names: &mut Names) -> Vec<u32> {
    let mut ports: Vec<u32> = pattern
        .hops
        .iter()
        .take(1_000)
        .map(|hop| Label::of(hop, label::UNICODE))
        .map(|label| names.number(&format!("{}{}", label.port, label.protocol)))
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}
