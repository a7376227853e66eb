//! Receiver of a format's spans and of its skip counts: a batch of the sink, or a list in tests.

use request_flow::spans::{ResourceId, Span, SpanResource};

use super::span_import::SpanBatch;
use crate::error::Error;
use crate::summary::SkippedItem;

/// Receiver of spans and of skip counts.
pub(super) trait SpanReceiver {
    /// Returns the number of a resource.
    fn resource_id(&mut self, resource: &SpanResource<'_>) -> ResourceId;

    /// Adds a span to the batch.
    ///
    /// # Errors
    /// When the span cannot be written.
    fn add_span(&mut self, span: &Span<'_>) -> Result<(), Error>;

    /// Counts a skipped span.
    fn count_skip(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem);

    /// Counts a skipped part with any number of spans.
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
