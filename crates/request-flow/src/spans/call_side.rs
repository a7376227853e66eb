//! Side: which end of a call a span is.

use super::span::SpanKind;
use super::span_record::SpanRecord;

/// The side of a call that a span is, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallSide {
    Caller,
    Callee,
    Unknown,
}

impl CallSide {
    /// The side that the kind of a span tells.
    pub(super) fn from_span(span: &SpanRecord<'_>) -> CallSide {
        match span.kind {
            SpanKind::Client | SpanKind::Producer => CallSide::Caller,
            SpanKind::Server | SpanKind::Consumer => CallSide::Callee,
            SpanKind::Unknown | SpanKind::Internal => CallSide::Unknown,
        }
    }
}
