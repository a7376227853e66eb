//! What decides whether a send and a receive can belong together: names, machines and clocks.

use std::ops::Range;

use message_trace::PathError;
use out_of_core::{MemoryPool, SpillableVec};

use crate::calls::Datagram;
use crate::datagrams::pass::Pass;
use crate::datagrams::sides::{Side, Sides};
use crate::datagrams::translations::DatagramTranslations;
use crate::sockets::reach::Reach;

/// The datagrams of a partition, with what is known of who reaches whom.
pub(super) struct Comparison<'a> {
    pub(super) reach: Reach<'a>,
    pub(super) pool: &'a MemoryPool,
    /// Names that lead to each other, where the two sides have other ones.
    pub(super) translations: Option<&'a DatagramTranslations>,
    pub(super) datagrams: &'a SpillableVec<Datagram>,
}

impl Comparison<'_> {
    fn datagram(&self, at: u32) -> &Datagram {
        &self.datagrams[at as usize]
    }

    /// The sides of the datagrams of `places` that take part in the pass, sorted.
    pub(super) fn sides(
        &self,
        pass: Pass,
        places: &SpillableVec<u32>,
    ) -> Result<SpillableVec<Side>, PathError> {
        let side = |at: &u32| {
            let datagram = self.datagram(*at);
            if !pass.takes(datagram) {
                return None;
            }
            let place = match pass {
                // Both sides have other names for it.
                _ if pass.is_translated() => 0,
                _ => self.reach.place(datagram, pass.knows_source())?,
            };
            let content = pass.content(datagram);
            Some(Side {
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

    /// Whether the two are of different machines.
    pub(super) fn is_elsewhere(&self, send: &Side, receive: &Side) -> bool {
        !self.reach.same_machine(send.class.0, receive.class.0)
    }

    /// How far apart the clocks of two classes are, as [`Reach::clock_apart`] says.
    pub(super) fn apart(
        &self,
        sides: &Sides,
        [sends, receives]: [&Range<usize>; 2],
    ) -> Option<i64> {
        self.reach.clock_apart(sides[0][sends.start].class.0, sides[1][receives.start].class.0)
    }

    /// Whether the receive may be of the send, as far as names and sizes go.
    pub(super) fn reaches(&self, pass: Pass, send: &Side, receive: &Side) -> bool {
        if let Some(translations) = self.translations {
            let both = pass == Pass::TranslatedBothWays;
            return translations.allow(
                self.reach,
                self.datagram(send.at),
                self.datagram(receive.at),
                both,
            );
        }
        (pass != Pass::Truncated || send.class.2 >= receive.class.2)
            && self.reach.reaches(self.datagram(send.at), self.datagram(receive.at))
    }
}
