//! Receiver: what a format gives its spans to, with what it passes over. It is a piece of the sink,
//! and in tests a list.

use request_flow::spans::{ResourceId, Span, SpanResource};

use super::span_import::SpanBatch;
use crate::error::Error;
use crate::summary::SkippedItem;

/// Takes spans.
pub(super) trait SpanReceiver {
    /// The number of a resource.
    fn resource_id(&mut self, resource: &SpanResource<'_>) -> ResourceId;

    /// Takes a span.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn add_span(&mut self, span: &Span<'_>) -> Result<(), Error>;

    /// Counts a span that is passed over.
    fn count_skip(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem);

    /// Counts something that is passed over, with any number of spans in it.
    fn count_damage(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem);
}

impl SpanReceiver for SpanBatch<'_, '_> {
    fn resource_id(&mut self, resource: &SpanResource<'_>) -> ResourceId {
        SpanBatch::resource_id(self, resource)
    }

    fn add_span(&mut self, span: &Span<'_>) -> Result<(), Error> {
        SpanBatch::add_span(self, span)
    }

    fn count_skip(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem) {
        self.tally().count_skip(cause, skip);
    }

    fn count_damage(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem) {
        self.tally().count_damage(cause, skip);
    }
}
