//! The rule for nil timestamps (WAP5 section 5.1, step 2). A node that was not traced has no times
//! of its own, so its peer's times replace them: A's sending for the arrival at B, A's receipt for
//! the departure from B. Since they show nothing of B's work for others, only A -> B -> A is
//! allowed: each peer of B has a separate place.
//!
//! A message arrives with its first byte: its receiver may act on that, and read the last one much
//! later.

use message_trace::{MessageId, MessageTrace};
use rustc_hash::FxHashMap;

use crate::naming::Naming;

/// A place and the time of a message at it.
type PlaceAndTime = (u32, i64);

/// Finds the place of each message. Places are numbered: first the nodes, then the round trips from
/// a traced node to an untraced one and back, in the order of their first messages.
pub(in crate::infer) struct RoundTrips<'naming> {
    naming: &'naming Naming,
    round_trips: FxHashMap<(u32, u32), u32>,
}

impl<'naming> RoundTrips<'naming> {
    pub(in crate::infer) fn new(naming: &'naming Naming) -> RoundTrips<'naming> {
        RoundTrips { naming, round_trips: FxHashMap::default() }
    }

    /// Number of places.
    pub(super) fn place_count(&self) -> usize {
        self.naming.nodes().len() + self.round_trips.len()
    }

    /// Place and time of the message's arrival. A message that a traced node never received was
    /// lost, and arrived nowhere.
    pub(in crate::infer) fn arrival(
        &mut self,
        trace: &MessageTrace,
        message: MessageId,
    ) -> Option<PlaceAndTime> {
        let (src, dst) = (self.naming.src(message), self.naming.dst(message));
        if let Some(arrived) = trace.arrival_time(message) {
            return Some((dst, arrived));
        }
        let sent = trace.send_ts(message)?;
        self.is_untraced(dst).then(|| (self.round_trip_place(src, dst), sent))
    }

    /// Place and time of the message's departure.
    pub(in crate::infer) fn departure(
        &mut self,
        trace: &MessageTrace,
        message: MessageId,
    ) -> Option<PlaceAndTime> {
        let (src, dst) = (self.naming.src(message), self.naming.dst(message));
        if let Some(sent) = trace.send_ts(message) {
            return Some((src, sent));
        }
        let arrived = trace.arrival_time(message)?;
        self.is_untraced(src).then(|| (self.round_trip_place(dst, src), arrived))
    }

    fn is_untraced(&self, node: u32) -> bool {
        !self.naming.nodes()[node as usize].traced
    }

    fn round_trip_place(&mut self, traced: u32, untraced: u32) -> u32 {
        let next = self.place_count() as u32;
        *self.round_trips.entry((traced, untraced)).or_insert(next)
    }
}
