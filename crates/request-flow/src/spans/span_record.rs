//! Encoding of a span as bytes.

use serde::{Deserialize, Serialize};

use super::span::{ResourceId, SpanKind};
use out_of_core::NameId;

/// A span with numbers in place of names and ids; its fields are those of [`Span`](super::Span).
/// Texts are borrowed from the bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SpanRecord<'bytes> {
    pub(super) trace: u128,
    /// The id of the trace, if it is a text.
    pub(super) trace_text: Option<&'bytes str>,
    pub(super) id: u128,
    pub(super) parent: Option<u128>,
    pub(super) follows: bool,
    pub(super) depth: Option<u32>,
    pub(super) order: Option<i64>,
    pub(super) resource: ResourceId,
    pub(super) operation: NameId,
    pub(super) kind: SpanKind,
    pub(super) peer: NameId,
    pub(super) begin: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) duration: Option<i64>,
    pub(super) failed: bool,
    pub(super) probability: Option<f64>,
    pub(super) bytes_in: Option<i64>,
    pub(super) bytes_out: Option<i64>,
    pub(super) parameters: Vec<(NameId, &'bytes str)>,
}

impl<'bytes> SpanRecord<'bytes> {
    /// Appends the bytes of the record to `out`.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        // Writing to memory does not fail.
        if let Ok(bytes) = postcard::to_extend(self, std::mem::take(out)) {
            *out = bytes;
        }
    }

    /// Takes the next record from `bytes`; `None` at their end.
    pub(super) fn read_next(bytes: &mut &'bytes [u8]) -> Option<SpanRecord<'bytes>> {
        if bytes.is_empty() {
            return None;
        }
        let (record, rest) = postcard::take_from_bytes(bytes).ok()?;
        *bytes = rest;
        Some(record)
    }
}
