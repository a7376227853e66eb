//! The first fields of every document: the trace in a few numbers, and its unseen parts.

use analyze::paths::PathFilter;
use serde::Serialize;

use crate::applied_filter::AppliedFilter;
use crate::summary::{RequestCounts, TraceMeta};

/// The first fields of every document.
#[derive(Serialize)]
pub(super) struct JsonTrace<'a> {
    source: &'a str,
    messages: u64,
    processes: u64,
    /// Only for paths from spans.
    #[serde(flatten)]
    requests: Option<RequestCounts>,
    /// Other contents of the source; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<&'a str>,
    hosts: u64,
    span: i64,
    not_seen: Vec<JsonUnseen<'a>>,
    /// The filter of the document; null if it covers all paths.
    filter: Option<JsonFilter<'a>>,
}

#[derive(Serialize)]
struct JsonFilter<'a> {
    through: &'a [String],
    operations: &'a [String],
    patterns: &'a [i64],
    from: Option<i64>,
    to: Option<i64>,
    min_confidence: Option<f64>,
    errors: bool,
    of_patterns: u64,
    of_instances: u64,
}

#[derive(Serialize)]
struct JsonUnseen<'a> {
    label: &'a str,
    count: u64,
}

impl<'a> JsonTrace<'a> {
    pub(super) fn from_meta(meta: &'a TraceMeta) -> JsonTrace<'a> {
        let notes = meta.notes.iter().filter(|note| note.count > 0);
        JsonTrace {
            source: &meta.source,
            messages: meta.messages,
            processes: meta.processes,
            requests: meta.requests,
            other: meta.other.as_deref(),
            hosts: meta.hosts,
            span: meta.span,
            not_seen: notes
                .map(|note| JsonUnseen { label: &note.label, count: note.count })
                .collect(),
            filter: meta.filtered.as_ref().map(JsonFilter::from_filter),
        }
    }
}

impl<'a> JsonFilter<'a> {
    fn from_filter(filtered: &'a AppliedFilter) -> JsonFilter<'a> {
        let PathFilter { through, operations, patterns, from, to, min_confidence, errors } =
            &filtered.filter;
        JsonFilter {
            through,
            operations,
            patterns,
            from: *from,
            to: *to,
            min_confidence: *min_confidence,
            errors: *errors,
            of_patterns: filtered.of_patterns,
            of_instances: filtered.of_instances,
        }
    }
}
