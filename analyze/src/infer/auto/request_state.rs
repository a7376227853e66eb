//! State of a request during the search or learning: the calls assigned to it so far.

use super::service::{MadeCallId, RequestId};
use super::shapes::ShapeId;

/// A request with the calls made for it so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestState<'made> {
    pub(super) request: RequestId,
    /// The last of these calls, in the order of time.
    pub(super) made: &'made [MadeCallId],
    /// How many calls of each kind the request has so far.
    pub(super) shape: ShapeId,
}
