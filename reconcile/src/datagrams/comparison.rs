//! Comparison of a send and a receive: whether names, machines and clocks allow them to belong
//! together.

use std::ops::Range;

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};

use crate::calls::DatagramCall;
use crate::datagrams::pass::MatchingPass;
use crate::datagrams::sides::{DatagramSide, DatagramSides};
use crate::datagrams::translations::DatagramTranslations;
use crate::sockets::routing::DatagramRouting;

/// The datagrams of a partition, with the routing between them.
pub(super) struct DatagramComparison<'a> {
    pub(super) routing: DatagramRouting<'a>,
    pub(super) pool: &'a MemoryPool,
    /// Translations of the names, in passes that match datagrams with different names at their two
    /// ends.
    pub(super) translations: Option<&'a DatagramTranslations>,
    pub(super) datagrams: &'a SpillableVec<DatagramCall>,
}

impl DatagramComparison<'_> {
    fn datagram_at(&self, at: u32) -> &DatagramCall {
        &self.datagrams[at as usize]
    }

    /// Collects the sides of the datagrams of `places` that take part in the pass, sorted.
    pub(super) fn collect_sides(
        &self,
        pass: MatchingPass,
        places: &SpillableVec<u32>,
    ) -> Result<SpillableVec<DatagramSide>, PathError> {
        let side = |at: &u32| {
            let datagram = self.datagram_at(*at);
            if !pass.includes_datagram(datagram) {
                return None;
            }
            let place = match pass {
                // The two sides have different names for the destination.
                _ if pass.is_translated() => 0,
                _ => self.routing.routing_place(datagram, pass.knows_source())?,
            };
            let content = pass.content_key(datagram);
            Some(DatagramSide {
                key: (place, content.0, content.1),
                time: datagram.time,
                class: (datagram.socket, datagram.peer, datagram.bytes),
                at: *at,
                done: false,
            })
        };
        let mut sides = SpillableVec::collect(self.pool, places.iter().filter_map(side))?;
        sides.sort_by_key(|side| (side.key, side.class, side.time, side.at))?;
        Ok(sides)
    }

    /// Whether the send and the receive are on different machines.
    pub(super) fn crosses_machines(&self, send: &DatagramSide, receive: &DatagramSide) -> bool {
        !self.routing.same_machine(send.class.0, receive.class.0)
    }

    /// Maximum difference of the clocks of a class of sends and one of receives, in nanoseconds;
    /// see [`DatagramRouting`].
    pub(super) fn clocks_apart(
        &self,
        sides: &DatagramSides,
        [sends, receives]: [&Range<usize>; 2],
    ) -> Option<i64> {
        self.routing.clock_apart(sides[0][sends.start].class.0, sides[1][receives.start].class.0)
    }

    /// Whether the receive may be of the send, by names and sizes.
    pub(super) fn can_reach(
        &self,
        pass: MatchingPass,
        send: &DatagramSide,
        receive: &DatagramSide,
    ) -> bool {
        if let Some(translations) = self.translations {
            let both = pass == MatchingPass::TranslatedBothWays;
            return translations.allows_pair(
                self.routing,
                self.datagram_at(send.at),
                self.datagram_at(receive.at),
                both,
            );
        }
        (pass != MatchingPass::Truncated || send.class.2 >= receive.class.2)
            && self.routing.can_reach(self.datagram_at(send.at), self.datagram_at(receive.at))
    }
}
