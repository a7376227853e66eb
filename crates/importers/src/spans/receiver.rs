//! Receiver: what a format gives its spans to, with what it passes over. It is a piece of the sink,
//! and in tests a list.

use request_flow::spans::{Resource, ResourceId, Span};

use super::reading::Piece;
use crate::error::Error;
use crate::summary::Skip;

/// Takes spans.
pub(super) trait Receiver {
    /// The number of a resource.
    fn resource(&mut self, resource: &Resource<'_>) -> ResourceId;

    /// Takes a span.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn span(&mut self, span: &Span<'_>) -> Result<(), Error>;

    /// Counts a span that is passed over.
    fn skip(&mut self, cause: &'static str, skip: impl FnOnce() -> Skip);

    /// Counts something that is passed over, with any number of spans in it.
    fn damage(&mut self, cause: &'static str, skip: impl FnOnce() -> Skip);
}

impl Receiver for Piece<'_, '_> {
    fn resource(&mut self, resource: &Resource<'_>) -> ResourceId {
        Piece::resource(self, resource)
    }

    fn span(&mut self, span: &Span<'_>) -> Result<(), Error> {
        Piece::span(self, span)
    }

    fn skip(&mut self, cause: &'static str, skip: impl FnOnce() -> Skip) {
        self.tally().skip(cause, skip);
    }

    fn damage(&mut self, cause: &'static str, skip: impl FnOnce() -> Skip) {
        self.tally().damage(cause, skip);
    }
}
