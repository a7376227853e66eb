//! The clock of the events of each node: its own, or its peers' clocks if it has no times.

use message_trace::{FROM_ACCEPTING, MessageId, MessageTrace};

use crate::calls::Calls;
use crate::naming::Naming;

/// The clock of each node's events.
pub(super) struct NodeClocks<'a> {
    naming: &'a Naming,
    /// Whether any message of a kind has a time, by hop, side of the flow, and end.
    known: Vec<[[bool; 2]; 2]>,
    /// The nodes that lack the times of a kind of message, so that their peers' times replace them.
    by_peers: Vec<bool>,
}

impl<'a> NodeClocks<'a> {
    pub(super) fn from_trace(
        trace: &MessageTrace,
        naming: &'a Naming,
        calls: &Calls,
    ) -> NodeClocks<'a> {
        let mut known = vec![[[false; 2]; 2]; naming.hop_count()];
        for row in trace.ids() {
            let side = usize::from(trace.direction(row) == FROM_ACCEPTING);
            let of_hop = &mut known[naming.hop(row) as usize][side];
            of_hop[0] |= trace.send_first(row).is_some();
            of_hop[1] |= trace.recv_last(row).is_some();
        }
        let mut clocks = NodeClocks { naming, known, by_peers: vec![false; naming.nodes().len()] };
        for row in trace.ids().filter(|row| calls.is_in_call(*row)) {
            let [sent, received] = clocks.times_known(trace, row);
            clocks.by_peers[naming.src(row) as usize] |= !sent;
            clocks.by_peers[naming.dst(row) as usize] |= !received;
        }
        clocks
    }

    /// Returns whether all times of the node are on the common clock, because some are its peers'
    /// times.
    pub(super) fn is_by_peers(&self, node: u32) -> bool {
        self.by_peers[node as usize]
    }

    /// Returns whether messages with the hop and side of this one have sending times, and whether
    /// they have receiving times.
    pub(super) fn times_known(&self, trace: &MessageTrace, row: MessageId) -> [bool; 2] {
        let side = usize::from(trace.direction(row) == FROM_ACCEPTING);
        self.known[self.naming.hop(row) as usize][side]
    }

    /// Time at which `node` sent the message; `None` if that is not known.
    pub(super) fn sent_time(&self, node: u32, trace: &MessageTrace, row: MessageId) -> Option<i64> {
        if !self.by_peers[node as usize] {
            return trace.send_first(row);
        }
        let [known, _] = self.times_known(trace, row);
        trace.send_ts(row).or_else(|| trace.arrival_time(row).filter(|_| !known))
    }

    /// Time at which the first byte of the message was received by `node`; `None` if it was not, or
    /// that is not known.
    pub(super) fn received_time(
        &self,
        node: u32,
        trace: &MessageTrace,
        row: MessageId,
    ) -> Option<i64> {
        if !self.by_peers[node as usize] {
            return trace.recv_first(row).or(trace.recv_last(row));
        }
        let [_, known] = self.times_known(trace, row);
        trace.arrival_time(row).or_else(|| trace.send_ts(row).filter(|_| !known))
    }
}
