//! State of a request during the search: the calls assigned to it so far.

use super::service::{MadeCallId, RequestId};
use super::shapes::ShapeId;

/// A request with the calls made for it so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestState<'made> {
    pub(super) request: RequestId,
    pub(super) made: &'made [MadeCallId],
    pub(super) shape: ShapeId,
}
