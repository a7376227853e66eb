//! The parent of each call, from the most likely links alone.
//!
//! The cause of a request is a message that its sender received. If that is a request, its call is
//! the parent. If it is the response of a call that the sender made before (message linking
//! produces links from responses, too), both calls were made for the same call: the parent is the
//! parent of the earlier call or, if the earlier call fetched work from a queue, the call that put
//! the work there. The most likely links lead to the parent; its probability is the sum over all
//! links, since other routes may lead to the same parent ([`CandidateParents`]).

use super::deliveries::likeliest_delivering_call;
use super::{CallId, Calls, CandidateParents, order};
use crate::links::Links;

/// The most likely parent of every call.
#[derive(Clone, Debug)]
pub struct LikelyParents {
    parent: Vec<Option<CallId>>,
    probability: Vec<f64>,
}

/// The most likely parent of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LikelyParent {
    /// The parent call; `None` if the call most likely has no parent.
    pub call: Option<CallId>,
    /// Probability of this parent, or of no parent, from 0 to 1; 0 if the links do not show it.
    pub probability: f64,
}

impl LikelyParents {
    /// Finds the parents by `links`. `candidates` are all possible parents of the same `calls`.
    pub fn from_links(
        calls: &Calls,
        links: &Links,
        candidates: &CandidateParents,
    ) -> LikelyParents {
        let mut parents = LikelyParents {
            parent: vec![None; calls.len()],
            probability: vec![f64::NAN; calls.len()],
        };
        // A call that was answered before another one was made comes before it, so that its parent
        // is known, except in cycles.
        for call in order::order_by_causes(calls, links) {
            let Some(request) = calls.request(call).filter(|request| links.has_message(*request))
            else {
                continue;
            };
            let mut by_link = false;
            // The most likely link decides; if it leads to a call without a known request, the next
            // one does.
            let mut decided = (
                links.spontaneous_probability(request),
                None,
                links.spontaneous_probability(request),
            );
            for (cause, probability) in links.parents(request) {
                let Some(cause) = calls.known_message(cause) else { continue };
                let from = calls.call_of_message(cause);
                let found = if calls.request(from) == Some(cause) {
                    Some((Some(from), probability))
                } else {
                    let brought = likeliest_delivering_call(calls, links, from)
                        .map(|(call, p)| (Some(call), p));
                    brought
                        .or(parents.known_parent(from))
                        .map(|(parent, p)| (parent, p * probability))
                };
                let Some((parent, route)) = found else { continue };
                if probability > decided.0 || (probability == decided.0 && !by_link) {
                    (decided, by_link) = ((probability, parent, route), true);
                }
            }
            if !by_link && decided.0 <= 0.0 {
                continue;
            }
            let of_decided = |(parent, _): &&(Option<CallId>, f64)| *parent == decided.1;
            let likely = candidates.of_call(call).iter().find(of_decided);
            // Only some of many candidates are kept; the likeliest is known in any case.
            let likely = likely.map_or(decided.2, |(_, likely)| *likely);
            parents.parent[call.index()] = decided.1;
            parents.probability[call.index()] = likely;
        }
        parents
    }

    /// Returns the parent of a call and its probability, if already known.
    fn known_parent(&self, call: CallId) -> Option<(Option<CallId>, f64)> {
        let (parent, probability) = (self.parent[call.index()], self.probability[call.index()]);
        (!probability.is_nan()).then_some((parent, probability))
    }

    /// Returns the parent of `call`; `None` if the links do not cover it because only its response
    /// was seen.
    pub fn of_call(&self, call: CallId) -> Option<LikelyParent> {
        let (parent, probability) = self.known_parent(call)?;
        Some(LikelyParent { call: parent, probability })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::pairing::tests::{IN_TURN, calls};

    /// The call with this index.
    fn id(index: usize) -> CallId {
        CallId::from_index(index)
    }

    fn parents_of(calls: &Calls, links: &Links) -> LikelyParents {
        LikelyParents::from_links(calls, links, &CandidateParents::from_links(calls, links))
    }

    #[test]
    fn the_parent_is_found_directly_or_by_an_earlier_call() {
        let (trace, calls) = calls(&IN_TURN);
        assert_eq!(
            calls.iter().map(|call| calls.id(&trace, call)).collect::<Vec<_>>(),
            ["x", "y", "z"]
        );
        let mut links = Links::spontaneous_only(6);
        links.set_parent_rows(1, &[(0, 0.75)], 0.25);
        links.set_parent_rows(3, &[(2, 0.5), (0, 0.25)], 0.25);
        let parents = parents_of(&calls, &links);
        let parent = |call| parents.of_call(id(call)).unwrap();
        assert_eq!(parent(0), LikelyParent { call: None, probability: 1.0 });
        assert_eq!(parent(1), LikelyParent { call: Some(id(0)), probability: 0.75 });
        // d was called for the same call as b was: 0.5 times 0.75; or directly.
        assert_eq!(parent(2), LikelyParent { call: Some(id(0)), probability: 0.375 + 0.25 });
        links.set_parent_rows(1, &[(0, 0.25)], 0.75);
        // Spontaneous, or for a call that was.
        assert_eq!(
            parents_of(&calls, &links).of_call(id(2)),
            Some(LikelyParent { call: None, probability: 0.25 + 0.5 * 0.75 })
        );
    }

    #[test]
    fn a_parent_by_a_call_in_a_later_row_is_found() {
        // b's clock is 20 late, so that its response is the first row, and its call precedes all
        // others.
        let rows = [
            ("b", "a", "y", -14, 7),
            ("c", "a", "x", 0, 1),
            ("a", "d", "z", 2, 3),
            ("d", "a", "z", 4, 5),
            ("a", "b", "y", 6, -15),
        ];
        let (trace, calls) = calls(&rows);
        assert_eq!(
            calls.iter().map(|call| calls.id(&trace, call)).collect::<Vec<_>>(),
            ["y", "x", "z"]
        );
        let mut links = Links::spontaneous_only(5);
        // d was called because of c's request, and b because of d's response.
        links.set_parent_rows(2, &[(1, 1.0)], 0.0);
        links.set_parent_rows(4, &[(3, 0.9)], 0.1);
        assert_eq!(
            parents_of(&calls, &links).of_call(id(0)),
            Some(LikelyParent { call: Some(id(1)), probability: 0.9 })
        );
        // A less likely link in a cycle (d was called because of b's response) does not remove the
        // parent.
        links.set_parent_rows(2, &[(0, 0.2), (1, 0.8)], 0.0);
        assert_eq!(parents_of(&calls, &links).of_call(id(0)).unwrap().call, Some(id(1)));
    }

    #[test]
    fn links_of_a_longer_trace_are_no_links_of_this_one() {
        let (_, calls) = calls(&IN_TURN);
        let mut links = Links::spontaneous_only(6);
        links.set_parent_rows(1, &[(4_000_000_000, 0.9)], 0.1);
        assert_eq!(
            parents_of(&calls, &links).of_call(id(1)),
            Some(LikelyParent { call: None, probability: 0.1 })
        );
        assert_eq!(CandidateParents::from_links(&calls, &links).of_call(id(1)), [(None, 0.1)]);
    }

    #[test]
    fn a_call_without_a_request_has_no_parent() {
        let (_, calls) =
            calls(&[("c", "a", "x", 0, 1), ("a", "c", "x", 2, 3), ("a", "c", "y", 4, 5)]);
        assert_eq!(calls.pair_rows(), [(Some(0), Some(1)), (None, Some(2))]);
        assert_eq!(parents_of(&calls, &Links::spontaneous_only(3)).of_call(id(1)), None);
    }

    #[test]
    fn a_response_without_its_request_leads_nowhere_so_the_next_link_counts() {
        // The request of y was not seen; z was sent after its response.
        let (_, without) = calls(&[
            ("c", "a", "x", 0, 1),
            ("a", "c", "y", 4, 5),
            ("a", "d", "z", 6, 7),
            ("a", "c", "x", 10, 11),
        ]);
        assert_eq!(without.request(id(1)), None);
        let mut links = Links::spontaneous_only(4);
        links.set_parent_rows(2, &[(1, 0.6), (0, 0.3)], 0.1);
        let parents = parents_of(&without, &links);
        assert_eq!(
            parents.of_call(id(2)),
            Some(LikelyParent { call: Some(id(0)), probability: 0.3 })
        );
        links.set_parent_rows(2, &[(1, 0.9)], 0.1);
        assert_eq!(
            parents_of(&without, &links).of_call(id(2)),
            Some(LikelyParent { call: None, probability: 0.1 })
        );
    }

    #[test]
    fn cyclic_links_lead_nowhere() {
        let (_, calls) = calls(&[("c", "a", "x", 0, 1), ("a", "c", "x", 2, 3)]);
        let mut links = Links::spontaneous_only(2);
        links.set_parent_rows(0, &[(1, 1.0)], 0.0);
        assert_eq!(parents_of(&calls, &links).of_call(id(0)), None);
    }
}
