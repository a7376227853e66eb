//! The first fields of every document: the trace in a few numbers, and its unseen parts.

use analyze::paths::PathFilter;
use analyze::{EvidenceCounts, ServiceEvidence};
use serde::Serialize;

use crate::applied_filter::AppliedFilter;
use crate::call_evidence::{DecidedCalls, InferenceLimit};
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
    /// What decided the causes of calls; left out if no service makes calls for requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<JsonEvidence<'a>>,
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

/// What decided for which requests services made their calls.
#[derive(Serialize)]
struct JsonEvidence<'a> {
    calls: EvidenceCounts,
    services: &'a [ServiceEvidence],
    limits: Vec<JsonLimit<'a>>,
}

#[derive(Serialize)]
struct JsonLimit<'a> {
    /// The service; null for the whole recording.
    service: Option<&'a str>,
    reason: &'a str,
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
            evidence: JsonEvidence::from_decided(&meta.decided),
            filter: meta.filtered.as_ref().map(JsonFilter::from_filter),
        }
    }
}

impl<'a> JsonEvidence<'a> {
    fn from_decided(decided: &'a DecidedCalls) -> Option<JsonEvidence<'a>> {
        let DecidedCalls { services, limits } = decided;
        let limits = limits.iter().map(|InferenceLimit { service, reason }| JsonLimit {
            service: service.as_deref(),
            reason,
        });
        let limits: Vec<JsonLimit<'_>> = limits.collect();
        let is_any = !services.is_empty() || !limits.is_empty();
        is_any.then(|| JsonEvidence { calls: decided.all_calls(), services, limits })
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
