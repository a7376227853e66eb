//! A pattern as calls: which of its hops asks, which answers it, and for which other call it asks.
//! Hops say what caused what; a call hierarchy (Project 5, Figure 8), a flame graph and a sequence
//! diagram need the two ends of each call.

use analyze::paths::Hop;

/// How many causes of a message are searched for the one that it answers.
const MOST_CAUSES: usize = 1024;

/// A call of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternCall {
    /// The hop that asks.
    pub(crate) request: usize,
    /// The hop that answers.
    pub(crate) response: Option<usize>,
    /// The call it was made for, which comes before it.
    pub(crate) parent: Option<usize>,
}

/// The calls of a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallTree {
    /// By their requests.
    pub(crate) calls: Vec<PatternCall>,
    /// By hop: its call.
    pub(crate) of_hop: Vec<usize>,
}

impl CallTree {
    /// The calls of `hops`. A message that nothing answers is a call without a response.
    pub(crate) fn of(hops: &[Hop]) -> CallTree {
        let mut tree = CallTree::default();
        for (index, hop) in hops.iter().enumerate() {
            let cause = hop.parent.filter(|parent| *parent < index);
            let mut above = cause;
            let mut answered = None;
            for _ in 0..MOST_CAUSES {
                let Some(at) = above else { break };
                let call = tree.of_hop[at];
                let is_open = tree.calls[call].request == at && tree.calls[call].response.is_none();
                if is_open && hop.answers(&hops[at]) {
                    answered = Some(call);
                    break;
                }
                above = hops[at].parent.filter(|parent| *parent < at);
            }
            let call = answered.unwrap_or_else(|| {
                let parent = cause.and_then(|cause| tree.served_after(cause));
                tree.calls.push(PatternCall { request: index, response: None, parent });
                tree.calls.len() - 1
            });
            if answered.is_some() {
                tree.calls[call].response = Some(index);
            }
            tree.of_hop.push(call);
        }
        tree
    }

    /// The call that the receiver of that hop goes on with: the one that was asked for, or after an
    /// answer the one above.
    pub(crate) fn served_after(&self, hop: usize) -> Option<usize> {
        let call = self.of_hop[hop];
        if self.calls[call].request == hop { Some(call) } else { self.calls[call].parent }
    }

    /// The calls from the outermost down to `call`.
    pub(crate) fn way_to(&self, call: usize) -> Vec<usize> {
        let mut way: Vec<usize> =
            std::iter::successors(Some(call), |call| self.calls[*call].parent).collect();
        way.reverse();
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::patterns;

    fn calls(hops: &[Hop]) -> Vec<(usize, Option<usize>, Option<usize>)> {
        let tree = CallTree::of(hops);
        tree.calls.iter().map(|call| (call.request, call.response, call.parent)).collect()
    }

    #[test]
    fn calls_nest_and_branch() {
        let chain = [(0, Some(5), None), (1, Some(4), Some(0)), (2, Some(3), Some(1))];
        assert_eq!(calls(&patterns::cached().hops), chain);
        let fork =
            [(0, Some(5), None), (1, Some(2), Some(0)), (3, Some(4), Some(0)), (6, None, Some(0))];
        assert_eq!(calls(&patterns::forked().hops), fork);
        let tree = CallTree::of(&patterns::cached().hops);
        assert_eq!(tree.way_to(2), [0, 1, 2]);
        assert_eq!(tree.of_hop, [0, 1, 2, 2, 1, 0]);
    }

    #[test]
    fn a_second_answer_is_a_message_of_its_own() {
        let mut hops = patterns::cached().hops;
        let mut more = hops[5].clone();
        more.parent = Some(5);
        hops.push(more);
        assert_eq!(calls(&hops)[3], (6, None, None));
    }

    #[test]
    fn every_hop_is_of_one_call() {
        for pattern in patterns::some().into_iter().chain([patterns::pipeline(0, 500)]) {
            let tree = CallTree::of(&pattern.hops);
            let mut hops: Vec<usize> = tree
                .calls
                .iter()
                .flat_map(|call| [Some(call.request), call.response])
                .flatten()
                .collect();
            hops.sort_unstable();
            assert_eq!(hops, (0..pattern.hops.len()).collect::<Vec<_>>());
            assert!(
                tree.calls
                    .iter()
                    .enumerate()
                    .all(|(call, c)| c.parent.is_none_or(|parent| parent < call))
            );
        }
    }
}
