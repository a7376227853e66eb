//! Chosen sockets, with calls that are read before connections are known: they have numbers, which
//! index the tables of facts about them.

use std::ops::Range;

use message_trace::PathError;
use out_of_core::SpillableVec;

use crate::indices::{OptionalIndex, SocketIndex};
use crate::logs::capture::{Capture, LogFile};
use crate::sockets::socket::{KernelSocket, KernelSockets};

/// Sockets with calls that are needed early, and their numbers.
pub(crate) struct ChosenSockets {
    /// The chosen sockets, by number.
    pub(crate) sockets: SpillableVec<SocketIndex>,
    /// Numbers by socket, of those that were chosen.
    numbers: SpillableVec<OptionalIndex<u32>>,
    /// By log, the numbers of the sockets with their first flow in the log: sockets, and so their
    /// numbers, are in the order of their first flows.
    own: Vec<Range<u32>>,
}

impl ChosenSockets {
    /// Chooses the sockets for which `is_wanted` returns true.
    pub(crate) fn choose_sockets(
        capture: &Capture,
        sockets: &KernelSockets,
        is_wanted: impl Fn(SocketIndex, &KernelSocket) -> bool,
    ) -> Result<ChosenSockets, PathError> {
        let (mut chosen, mut numbers) =
            (SpillableVec::new(&capture.pool), SpillableVec::new(&capture.pool));
        for (place, socket) in SocketIndex::indices().zip(sockets.all.iter()) {
            let wanted = is_wanted(place, socket);
            numbers.push(wanted.then_some(chosen.len() as u32).into())?;
            if wanted {
                chosen.push(place)?;
            }
        }
        let mut this = ChosenSockets { sockets: chosen, numbers, own: Vec::new() };
        let mut next = 0;
        for log in &capture.logs {
            let numbers = sockets
                .of_flow
                .range(log.flow_range())
                .filter_map(|(_, socket)| this.number_of_socket(socket.get()?));
            let end = numbers.max().map_or(next, |last| next.max(last + 1));
            this.own.push(next..end);
            next = end;
        }
        Ok(this)
    }

    /// The number of a socket, if it was chosen.
    #[inline]
    pub(crate) fn number_of_socket(&self, socket: SocketIndex) -> Option<u32> {
        self.numbers.get(socket.index())?.get()
    }

    /// The chosen sockets of log number `log`.
    pub(crate) fn members_of_log(
        &self,
        capture: &Capture,
        sockets: &KernelSockets,
        log: usize,
    ) -> Result<ChosenMembers<'_>, PathError> {
        let own = self.own.get(log).cloned().unwrap_or_default();
        let flows = capture.logs.get(log).map(LogFile::flow_range).unwrap_or_default();
        let numbers = sockets
            .of_flow
            .range(flows)
            .filter_map(|(_, socket)| self.number_of_socket(socket.get()?));
        let mut others =
            SpillableVec::collect(&capture.pool, numbers.filter(|number| !own.contains(number)))?;
        others.sort_by_key(|number| *number)?;
        others.dedup_by_key(|number| *number);
        Ok(ChosenMembers { chosen: self, own, others })
    }
}

/// Chosen sockets of one log.
pub(crate) struct ChosenMembers<'a> {
    chosen: &'a ChosenSockets,
    /// The numbers of the sockets with their first flow in this log.
    own: Range<u32>,
    /// The numbers of other sockets, which the process inherited or was given, in order.
    others: SpillableVec<u32>,
}

impl ChosenMembers<'_> {
    /// The index of a socket among the members, and its number; `None` if it was not chosen.
    #[inline]
    pub(crate) fn place_of_socket(&self, socket: SocketIndex) -> Option<(usize, u32)> {
        let number = self.chosen.number_of_socket(socket)?;
        if self.own.contains(&number) {
            return Some(((number - self.own.start) as usize, number));
        }
        let at = self.others.partition_point(0..self.others.len(), |other| *other < number);
        self.others.get(at).filter(|other| **other == number).map(|_| (self.own.len() + at, number))
    }

    /// The numbers of all members, in the order of their indices.
    pub(crate) fn iter_numbers(&self) -> impl Iterator<Item = u32> {
        self.own.clone().chain(self.others.iter().copied())
    }
}
