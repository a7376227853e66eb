//! Side: which end of a call a span is.

use super::span::SpanKind;
use super::span_record::SpanRecord;

/// The side of a call that a span is on, if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallSide {
    Caller,
    Callee,
    Unknown,
}

impl CallSide {
    /// Returns the side according to the kind of a span.
    pub(super) fn from_span(span: &SpanRecord<'_>) -> CallSide {
        match span.kind {
            SpanKind::Client | SpanKind::Producer => CallSide::Caller,
            SpanKind::Server | SpanKind::Consumer => CallSide::Callee,
            SpanKind::Unknown | SpanKind::Internal => CallSide::Unknown,
        }
    }
}
