//! Candidates of crowds: half flows of a key that many have, those that are near in time.

use message_trace::PathError;
use out_of_core::SpillableVec;

use super::candidates::{Crowds, Edge, Field, forth, hosts};
use super::half_flow::Side;
use super::offsets::Clocks;
use crate::tuning::{NEAREST_OF_A_CROWD, NEAREST_WITHIN_NS};

impl Field<'_> {
    /// Adds the pairs of the crowds that are near in time, where the difference of their clocks is
    /// known. `edges` are put in order, each once.
    pub(super) fn near_in_time(
        &self,
        crowds: &Crowds,
        clocks: &Clocks,
        edges: &mut SpillableVec<Edge>,
    ) -> Result<(), PathError> {
        let mut pairs: SpillableVec<(u32, u32)> = SpillableVec::new(&self.halves.pool);
        let mut accepted = SpillableVec::new(&self.halves.pool);
        for crowd in crowds.iter() {
            self.by_host(crowds, crowd.accepting, Side::Accepting, &mut accepted)?;
            let hosts = hosts(&accepted);
            for place in crowds.members.range(crowd.connecting) {
                let half = self.halves.half(*place);
                let time = forth(half, Side::Connecting);
                for (host, list) in &hosts {
                    let Some((difference, uncertainty)) = clocks.difference(half.host, *host, time)
                    else {
                        continue;
                    };
                    let expected = time + difference - uncertainty;
                    let from =
                        accepted.partition_point(list.clone(), |(_, time, _)| *time < expected);
                    let near = accepted.range(from..list.end.min(from + NEAREST_OF_A_CROWD));
                    let near =
                        near.take_while(|(_, time, _)| *time <= expected + NEAREST_WITHIN_NS);
                    pairs.extend(near.map(|(.., other)| (*place, *other)))?;
                }
            }
        }
        drop(accepted);
        edges.extend(self.edges(pairs)?.iter().copied())?;
        edges.sort_by_key(|edge| (edge.connecting, edge.accepting))?;
        edges.dedup_by_key(|edge| (edge.connecting, edge.accepting));
        Ok(())
    }
}
