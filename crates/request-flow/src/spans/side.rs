//! Side: which end of a call a span is.

use super::record::SpanRecord;
use super::span::SpanKind;

/// The side of a call that a span is, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Caller,
    Callee,
    Unknown,
}

impl Side {
    /// The side that the kind of a span tells.
    pub(super) fn of(span: &SpanRecord<'_>) -> Side {
        match span.kind {
            SpanKind::Client | SpanKind::Producer => Side::Caller,
            SpanKind::Server | SpanKind::Consumer => Side::Callee,
            SpanKind::Unknown | SpanKind::Internal => Side::Unknown,
        }
    }
}
