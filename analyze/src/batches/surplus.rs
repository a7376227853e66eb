//! Counts the messages of the two sides of each flow, in one pass over the trace before its
//! batches. On a flow with as many responses as requests the n-th response answers the n-th
//! request. On the others, the uneven flows, some message has no counterpart.

use message_trace::FlowId;
use rustc_hash::{FxHashMap, FxHashSet};

/// Number of messages by which the connecting side of each flow has sent more than the accepting
/// one. Flows without a difference are removed, so that the map holds open flows only.
#[derive(Default)]
pub(super) struct FlowSurplus {
    flows: FxHashMap<FlowId, SurplusCount>,
}

/// The count of a flow.
struct SurplusCount {
    /// Messages of the connecting side minus those of the accepting side.
    more: i64,
    /// Whether the accepting side sent the first message that was counted.
    accepting_first: bool,
}

impl FlowSurplus {
    /// Adds messages of `flow`: `more` of the connecting side or, if negative, of the accepting
    /// side.
    pub(super) fn add_messages(&mut self, flow: FlowId, more: i64) {
        self.append_count(flow, SurplusCount { more, accepting_first: more < 0 });
    }

    /// Adds the counts `others` of later messages.
    pub(super) fn append_later(&mut self, others: FlowSurplus) {
        for (flow, count) in others.flows {
            self.append_count(flow, count);
        }
    }

    fn append_count(&mut self, flow: FlowId, SurplusCount { more, accepting_first }: SurplusCount) {
        let count = self.flows.entry(flow).or_insert(SurplusCount { more: 0, accepting_first });
        count.more += more;
        if count.more == 0 && !count.accepting_first {
            self.flows.remove(&flow);
        }
    }

    /// Returns the flows with different numbers of messages on their sides. A message that the
    /// accepting side sends first, or when both sides have sent equally many, is not counted: it
    /// answers no open request and does not shift later responses.
    pub(super) fn into_uneven_flows(self) -> FxHashSet<FlowId> {
        let counted = |count: &SurplusCount| count.more + i64::from(count.accepting_first);
        self.flows
            .into_iter()
            .filter(|(_, count)| counted(count) != 0)
            .map(|(flow, _)| flow)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the uneven flows, given each message's side: 1 connecting, -1 accepting.
    fn uneven(parts: &[&[(i64, i64)]]) -> Vec<i64> {
        let mut all = FlowSurplus::default();
        for part in parts {
            let mut of_part = FlowSurplus::default();
            part.iter()
                .for_each(|(flow, side)| of_part.add_messages(FlowId::from_number(*flow), *side));
            all.append_later(of_part);
        }
        let uneven = all.into_uneven_flows();
        let mut uneven: Vec<i64> = uneven.into_iter().map(FlowId::number).collect();
        uneven.sort_unstable();
        uneven
    }

    #[test]
    fn a_first_message_of_the_accepting_side_does_not_count() {
        // Flow 7: greeting, request, response. Flow 8: the same, and a request without response.
        // Flow 9: request, response.
        let all = [(7, -1), (7, 1), (8, -1), (7, -1), (8, 1), (9, 1), (8, -1), (9, -1), (8, 1)];
        assert_eq!(uneven(&[&all]), [8]);
        for cut in 1..all.len() {
            let (one, other) = all.split_at(cut);
            assert_eq!(uneven(&[one, other]), [8], "{cut}");
        }
        assert_eq!(
            uneven(&[&[(1, 1), (1, -1), (2, 1)], &[(2, -1), (3, 1)], &[(4, 1), (4, -1), (4, 1)]]),
            [3, 4]
        );
    }

    #[test]
    fn balanced_flows_are_removed() {
        let mut surplus = FlowSurplus::default();
        for flow in (0..1000).map(FlowId::from_number) {
            surplus.add_messages(flow, 1);
            surplus.add_messages(flow, -1);
        }
        assert!(surplus.flows.is_empty());
    }
}
