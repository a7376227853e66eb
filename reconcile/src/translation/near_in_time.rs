//! Candidates from crowds: half flows with a common key that are near in time.

use message_trace::PathError;
use out_of_core::SpillableVec;

use super::candidates::{
    CandidateEdge, HalfFlowCrowds, HalfFlowField, first_forward_time, ranges_by_host,
};
use super::half_flow::HalfFlowSide;
use super::offsets::ClockDifferences;
use crate::tuning::{NEAREST_OF_A_CROWD, NEAREST_WITHIN_NS};

impl HalfFlowField<'_> {
    /// Adds the pairs of the crowds that are near in time, if the difference of their clocks is
    /// known. `edges` are sorted, each once.
    pub(super) fn add_near_in_time(
        &self,
        crowds: &HalfFlowCrowds,
        clocks: &ClockDifferences,
        edges: &mut SpillableVec<CandidateEdge>,
    ) -> Result<(), PathError> {
        let mut pairs: SpillableVec<(u32, u32)> = SpillableVec::new(&self.halves.pool);
        let mut accepted = SpillableVec::new(&self.halves.pool);
        for crowd in crowds.iter() {
            self.members_by_host(crowds, crowd.accepting, HalfFlowSide::Accepting, &mut accepted)?;
            let hosts = ranges_by_host(&accepted);
            for place in crowds.members.range(crowd.connecting) {
                let half = self.halves.half_at(*place);
                let time = first_forward_time(half, HalfFlowSide::Connecting);
                for (host, list) in &hosts {
                    let Some((difference, uncertainty)) =
                        clocks.difference_at(half.host, *host, time)
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
        edges.extend(self.edges_between(pairs)?.iter().copied())?;
        edges.sort_by_key(|edge| (edge.connecting, edge.accepting))?;
        edges.dedup_by_key(|edge| (edge.connecting, edge.accepting));
        Ok(())
    }
}
