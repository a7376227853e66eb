//! Flows with as many answers as requests: there answers are given to requests in order, elsewhere
//! by turns. One reading of a trace before its stretches tells them, in any parts.

use rustc_hash::{FxHashMap, FxHashSet};

/// Number of messages that the connecting side of each flow has sent more than the accepting one.
/// Flows without a difference are not kept, so that there are no more of them than are open.
#[derive(Default)]
pub(super) struct FlowSurplus {
    flows: FxHashMap<i64, SurplusCount>,
}

/// The count of a flow.
struct SurplusCount {
    more: i64,
    /// Whether the accepting side sent the first message that was counted.
    accepting_first: bool,
}

impl FlowSurplus {
    pub(super) fn add_messages(&mut self, flow: i64, more: i64) {
        self.append_count(flow, SurplusCount { more, accepting_first: more < 0 });
    }

    /// Counts what comes behind: the messages of `others`.
    pub(super) fn append_later(&mut self, others: FlowSurplus) {
        for (flow, count) in others.flows {
            self.append_count(flow, count);
        }
    }

    fn append_count(&mut self, flow: i64, SurplusCount { more, accepting_first }: SurplusCount) {
        let count = self.flows.entry(flow).or_insert(SurplusCount { more: 0, accepting_first });
        count.more += more;
        if count.more == 0 && !count.accepting_first {
            self.flows.remove(&flow);
        }
    }

    /// Flows with different numbers on their sides. A first message of the accepting side is not
    /// counted. One that comes where both have sent as many is like a first: nothing is open that
    /// it could answer, nor does it shift later answers.
    pub(super) fn into_uneven_flows(self) -> FxHashSet<i64> {
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

    /// The flows of different numbers of messages, given by their sides: 1 connecting, -1
    /// accepting.
    fn uneven(parts: &[&[(i64, i64)]]) -> Vec<i64> {
        let mut all = FlowSurplus::default();
        for part in parts {
            let mut of_part = FlowSurplus::default();
            part.iter().for_each(|(flow, side)| of_part.add_messages(*flow, *side));
            all.append_later(of_part);
        }
        let mut uneven: Vec<i64> = all.into_uneven_flows().into_iter().collect();
        uneven.sort_unstable();
        uneven
    }

    #[test]
    fn a_first_message_of_the_accepting_side_does_not_count() {
        // Flow 7: greeting, request, answer. Flow 8: the same, and a request that is not answered.
        // Flow 9: request, answer.
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
    fn what_is_balanced_is_not_kept() {
        let mut surplus = FlowSurplus::default();
        for flow in 0..1000 {
            surplus.add_messages(flow, 1);
            surplus.add_messages(flow, -1);
        }
        assert!(surplus.flows.is_empty());
    }
}
