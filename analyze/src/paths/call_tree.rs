//! The calls of a path: which message is the request, which is the response, and which call is the
//! parent. Messages record only which one caused which. A call hierarchy (Figure 8 of Project 5), a
//! flame graph, a sequence diagram and a request flow need the two ends of each call.

use super::patterns::pattern::Hop;
use crate::tuning::paths::call_tree::MAX_CAUSES;

/// A call of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathCall {
    /// Index of the request among the messages of the path.
    pub request: usize,
    /// Index of the response.
    pub response: Option<usize>,
    /// The parent call, which has a smaller index.
    pub parent: Option<usize>,
}

/// The calls of a pattern or an instance. Its allocations can be reused for the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTree {
    /// The calls, in the order of their requests.
    pub calls: Vec<PathCall>,
    /// By message: the call to which it is the request or the response.
    pub of_hop: Vec<usize>,
}

impl CallTree {
    /// Finds the calls of a pattern with these `hops`.
    pub fn from_hops(hops: &[Hop]) -> CallTree {
        let mut tree = CallTree::default();
        let parent = |hop: usize| hops.get(hop).and_then(|hop| hop.parent);
        tree.find_calls(hops.len(), parent, |hop, call| hops[hop].is_response_to(&hops[call]));
        tree
    }

    /// Finds the calls of `hops` messages in depth-first order. `parent` returns the message that
    /// caused each, and `answers` whether the first of two messages has the reverse direction of
    /// the second. A message without a response is a call of its own.
    pub fn find_calls(
        &mut self,
        hops: usize,
        parent: impl Fn(usize) -> Option<usize>,
        answers: impl Fn(usize, usize) -> bool,
    ) {
        let CallTree { calls, of_hop } = self;
        calls.clear();
        of_hop.clear();
        // A cause that does not precede its effect is ignored.
        let parent = |hop: usize| parent(hop).filter(|parent| *parent < hop);
        for hop in 0..hops {
            let cause = parent(hop);
            let answered =
                std::iter::successors(cause, |at| parent(*at)).take(MAX_CAUSES).find_map(|at| {
                    let call = of_hop[at];
                    let is_open = calls[call].request == at && calls[call].response.is_none();
                    (is_open && answers(hop, at)).then_some(call)
                });
            let call = match answered {
                Some(call) => {
                    calls[call].response = Some(hop);
                    call
                }
                None => {
                    let parent = cause.and_then(|cause| served_after(calls, of_hop, cause));
                    calls.push(PathCall { request: hop, response: None, parent });
                    calls.len() - 1
                }
            };
            of_hop.push(call);
        }
    }

    /// Returns the call that the receiver of this message works on next: after a request the call
    /// itself, after a response the parent call.
    pub fn served_after(&self, hop: usize) -> Option<usize> {
        served_after(&self.calls, &self.of_hop, hop)
    }

    /// Returns the calls from the outermost one down to `call`.
    pub fn chain_to(&self, call: usize) -> Vec<usize> {
        let mut calls: Vec<usize> =
            std::iter::successors(Some(call), |call| self.calls[*call].parent).collect();
        calls.reverse();
        calls
    }
}

fn served_after(calls: &[PathCall], of_hop: &[usize], hop: usize) -> Option<usize> {
    let call = of_hop[hop];
    if calls[call].request == hop { Some(call) } else { calls[call].parent }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Messages, each with the index of its cause, sender and receiver.
    type HopList = [(Option<usize>, char, char)];

    fn call_tree(hops: &HopList) -> CallTree {
        let mut tree = CallTree::default();
        let answers = |hop: usize, call: usize| {
            let ((_, src, dst), (_, caller, callee)) = (hops[hop], hops[call]);
            (src, dst) == (callee, caller)
        };
        tree.find_calls(hops.len(), |hop| hops[hop].0, answers);
        tree
    }

    fn calls(hops: &HopList) -> Vec<(usize, Option<usize>, Option<usize>)> {
        call_tree(hops)
            .calls
            .iter()
            .map(|call| (call.request, call.response, call.parent))
            .collect()
    }

    /// A client calls web, web calls app, app calls db, and all respond.
    const CHAIN: [(Option<usize>, char, char); 6] = [
        (None, 'c', 'w'),
        (Some(0), 'w', 'a'),
        (Some(1), 'a', 'd'),
        (Some(2), 'd', 'a'),
        (Some(3), 'a', 'w'),
        (Some(4), 'w', 'c'),
    ];

    #[test]
    fn calls_nest_and_branch() {
        assert_eq!(
            calls(&CHAIN),
            [(0, Some(5), None), (1, Some(4), Some(0)), (2, Some(3), Some(1))]
        );
        // Web calls a and b concurrently, responds when b has, and notifies l, which does not
        // respond.
        let fork = [
            (None, 'c', 'w'),
            (Some(0), 'w', 'a'),
            (Some(1), 'a', 'w'),
            (Some(0), 'w', 'b'),
            (Some(3), 'b', 'w'),
            (Some(4), 'w', 'c'),
            (Some(4), 'w', 'l'),
        ];
        let expected =
            [(0, Some(5), None), (1, Some(2), Some(0)), (3, Some(4), Some(0)), (6, None, Some(0))];
        assert_eq!(calls(&fork), expected);
        let tree = call_tree(&CHAIN);
        assert_eq!((tree.chain_to(2), tree.of_hop), (vec![0, 1, 2], vec![0, 1, 2, 2, 1, 0]));
    }

    #[test]
    fn a_second_response_is_a_call_of_its_own() {
        let mut hops = CHAIN.to_vec();
        hops.push((Some(5), 'w', 'c'));
        assert_eq!(calls(&hops)[3], (6, None, None));
    }

    proptest! {
        #[test]
        fn every_message_belongs_to_one_call(
            hops in prop::collection::vec((any::<prop::sample::Index>(), prop::char::range('a', 'c'), prop::char::range('a', 'c')), 0..60)
        ) {
            let hops: Vec<_> = hops
                .into_iter()
                .enumerate()
                .map(|(hop, (cause, src, dst))| ((hop > 0).then(|| cause.index(hop)), src, dst))
                .collect();
            let tree = call_tree(&hops);
            let mut of_calls: Vec<usize> =
                tree.calls.iter().flat_map(|call| [Some(call.request), call.response]).flatten().collect();
            of_calls.sort_unstable();
            prop_assert_eq!(of_calls, (0..hops.len()).collect::<Vec<_>>());
            for (number, call) in tree.calls.iter().enumerate() {
                prop_assert!(call.parent.is_none_or(|parent| parent < number));
                prop_assert!(call.response.is_none_or(|response| response > call.request));
            }
        }
    }
}
