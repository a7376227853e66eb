//! Flows: connections, and pairs of datagram endpoints.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Number of a flow: the same for both directions of one connection. Tables store it. Unlike an
/// index, it may be negative or sparse: the numbers of imported messages are those of their source.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    FromBytes,
    IntoBytes,
    Immutable,
)]
#[repr(transparent)]
pub struct FlowId(i64);

impl FlowId {
    /// Creates the id of the flow with this number.
    #[inline]
    pub const fn from_number(number: i64) -> FlowId {
        FlowId(number)
    }

    /// Returns the number of the flow.
    #[inline]
    pub const fn number(self) -> i64 {
        self.0
    }

    /// Returns the id that is this many numbers further, if the flows of several sources are
    /// numbered consecutively. The last number is not exceeded.
    #[inline]
    #[must_use]
    pub const fn advanced_by(self, count: i64) -> FlowId {
        FlowId(self.0.saturating_add(count))
    }
}
