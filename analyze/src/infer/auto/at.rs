//! State of a request during the search: the calls assigned to it so far.

use super::shapes::ShapeId;

/// A request with the calls made for it so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestState<'made> {
    pub(super) request: u32,
    pub(super) made: &'made [u32],
    pub(super) shape: ShapeId,
}
