//! Resources, clocks and names to which spans refer by numbers, and orders of spans that depend on
//! their contents only: neither on the order of the files, nor on these numbers.

use std::cmp::{Ordering, Reverse};

use super::draft::ClockNumber;
use super::sink::ResourceRecord;
use super::span::SpanKind;
use super::span_record::SpanRecord;
use out_of_core::NameInterner;

/// What spans refer to by numbers.
pub(super) struct SpanSources<'a> {
    pub(super) resources: &'a [ResourceRecord],
    /// The clock that each resource reads.
    pub(super) clocks: &'a [ClockNumber],
    pub(super) names: &'a NameInterner,
}

impl<'a> SpanSources<'a> {
    pub(super) fn resource_of_span(&self, span: &SpanRecord<'_>) -> Option<&'a ResourceRecord> {
        self.resources.get(span.resource.index())
    }

    pub(super) fn clock_of_span(&self, span: &SpanRecord<'_>) -> ClockNumber {
        self.clocks.get(span.resource.index()).copied().unwrap_or_default()
    }
}

impl SpanSources<'_> {
    /// Compares the spans of a trace: by time and, if times are equal, by everything else. Only
    /// spans with equal contents are equal.
    pub(super) fn compare_spans(&self, one: &SpanRecord<'_>, other: &SpanRecord<'_>) -> Ordering {
        let times = |span: &SpanRecord<'_>| (span.begin, span.end, span.order, span.depth);
        (times(one).cmp(&times(other)))
            .then_with(|| self.compare_names(one, other))
            .then_with(|| one.id.cmp(&other.id))
            .then_with(|| self.compare_rest(one, other))
    }

    /// Compares two reports of one span: records of it that its tracer sent separately (see
    /// [`super::merge_reports`]). The one with the most facts is the first.
    pub(super) fn compare_reports(&self, one: &SpanRecord<'_>, other: &SpanRecord<'_>) -> Ordering {
        self.unknown_names(one)
            .cmp(&self.unknown_names(other))
            .then_with(|| report_content(other).cmp(&report_content(one)))
            .then_with(|| self.compare_spans(one, other))
    }

    /// Returns how many of the two names, node and host, are unknown for a span: 0 to 2.
    fn unknown_names(&self, span: &SpanRecord<'_>) -> usize {
        self.node_and_host(span).iter().filter(|name| name.is_empty()).count()
    }

    /// Returns the names of the node and the host of a span; empty if unknown.
    pub(super) fn node_and_host(&self, span: &SpanRecord<'_>) -> [&str; 2] {
        let resource = self.resource_of_span(span);
        resource.map_or([""; 2], |it| [it.node, it.host].map(|name| self.names.name_of(name)))
    }

    fn compare_names(&self, one: &SpanRecord<'_>, other: &SpanRecord<'_>) -> Ordering {
        let names = |span: &SpanRecord<'_>| {
            let [node, host] = self.node_and_host(span);
            [node, host, self.names.name_of(span.operation), self.names.name_of(span.peer)]
        };
        names(one).cmp(&names(other))
    }

    fn compare_rest(&self, one: &SpanRecord<'_>, other: &SpanRecord<'_>) -> Ordering {
        let numbers = |span: &SpanRecord<'_>| {
            let probability = span.probability.map(f64::to_bits);
            let sizes = (span.bytes_in, span.bytes_out, span.duration);
            (span.kind as u8, span.parent, span.follows, span.failed, probability, sizes)
        };
        let own = |span: &SpanRecord<'_>| -> Vec<(String, String)> {
            let text = |name| self.names.name_of(name).to_owned();
            let own = span.parameters.iter().map(|(name, value)| (text(*name), (*value).into()));
            let shared = self.resource_of_span(span).into_iter().flat_map(|it| &it.parameters);
            own.chain(shared.map(|(name, value)| (text(*name), value.clone()))).collect()
        };
        numbers(one).cmp(&numbers(other)).then_with(|| own(one).cmp(&own(other)))
    }
}

/// Returns a sort key of a report of a span: the more it states, the greater the key.
fn report_content(span: &SpanRecord<'_>) -> impl Ord {
    let lasts = span.begin.zip(span.end).map(|(begin, end)| end.saturating_sub(begin));
    let certainty = match span.kind {
        SpanKind::Unknown => 0,
        SpanKind::Internal => 1,
        _ => 2,
    };
    let failed = (span.failed, certainty, span.parent.is_some(), span.parameters.len());
    (lasts, span.end, Reverse(span.begin), failed)
}
