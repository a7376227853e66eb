//! Candidate parents of each call, with their probabilities by the links.
//! [`LikelyParents`](super::LikelyParents) has only the parents that the most likely links lead to.
//! A route is the chain of links from a call to a parent; the probabilities of routes to the same
//! parent are added.

use super::deliveries::delivering_calls;
use super::{CallId, Calls, order};
use crate::links::Links;
use crate::tuning::calls::candidates::MAX_CANDIDATES;

/// The candidate parents of every call.
#[derive(Clone, Debug, Default)]
pub struct CandidateParents {
    /// Index of the first candidate and number of candidates of each call.
    of: Vec<(u32, u32)>,
    /// The candidates of all calls, each with its probability; `None` means spontaneous.
    candidates: Vec<(Option<CallId>, f64)>,
}

impl CandidateParents {
    /// Computes the candidates of `calls` from `links`.
    pub fn from_links(calls: &Calls, links: &Links) -> CandidateParents {
        let mut all =
            CandidateParents { of: vec![(0, 0); calls.len()], ..CandidateParents::default() };
        let mut routes: Vec<(Option<CallId>, f64)> = Vec::new();
        // A cause that comes later in this order, as on cyclic routes, has no candidates yet.
        for call in order::order_by_causes(calls, links) {
            routes.clear();
            if let Some(request) = calls.request(call).filter(|request| links.has_message(*request))
            {
                routes.push((None, links.spontaneous_probability(request)));
                for (cause, probability) in links.parents(request) {
                    let Some(cause) = calls.known_message(cause) else { continue };
                    let from = calls.call_of_message(cause);
                    if calls.request(from) == Some(cause) {
                        routes.push((Some(from), probability));
                    } else {
                        // The cause is the response of an earlier call, which was made for the same
                        // parent or fetched work that other calls had put in a queue.
                        let brought = delivering_calls(calls, links, from);
                        routes.extend(
                            brought.clone().map(|(by, share)| (Some(by), share * probability)),
                        );
                        let rest = probability
                            * (1.0 - brought.map(|(_, share)| share).sum::<f64>()).max(0.0);
                        routes.extend(
                            all.of_call(from).iter().map(|(to, share)| (*to, share * rest)),
                        );
                    }
                }
            }
            all.set_candidates(call, &mut routes);
        }
        all
    }

    /// Returns the candidate parents of `call`, the most likely first; `None` means spontaneous.
    /// Empty if the links do not cover the call.
    pub fn of_call(&self, call: CallId) -> &[(Option<CallId>, f64)] {
        let (first, count) = self.of[call.index()];
        &self.candidates[first as usize..][..count as usize]
    }

    fn set_candidates(&mut self, call: CallId, routes: &mut Vec<(Option<CallId>, f64)>) {
        routes.sort_unstable_by_key(|(parent, _)| *parent);
        routes.dedup_by(|route, kept| {
            let same = route.0 == kept.0;
            if same {
                kept.1 += route.1;
            }
            same
        });
        routes.retain(|(_, probability)| *probability > 0.0);
        routes.sort_by(|one, other| other.1.total_cmp(&one.1));
        let first = self.candidates.len();
        self.candidates.extend(routes.iter().take(MAX_CANDIDATES));
        self.of[call.index()] = (first as u32, (self.candidates.len() - first) as u32);
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

    #[test]
    fn a_route_by_a_call_in_a_later_row_counts() {
        let (_, calls) = calls(&IN_TURN);
        let mut links = Links::spontaneous_only(6);
        // y, at row 1, was made after z, at row 3, because clocks are off.
        links.set_parent_rows(1, &[(4, 0.75)], 0.25);
        links.set_parent_rows(3, &[(0, 0.5)], 0.5);
        let candidates = CandidateParents::from_links(&calls, &links);
        assert_eq!(
            candidates.of_call(id(1)),
            [(None, 0.25 + 0.75 * 0.5), (Some(id(0)), 0.75 * 0.5)]
        );
        assert_eq!(candidates.of_call(id(2)), [(None, 0.5), (Some(id(0)), 0.5)]);
    }

    #[test]
    fn probabilities_of_routes_to_one_parent_are_added() {
        let (_, calls) = calls(&IN_TURN);
        let mut links = Links::spontaneous_only(6);
        links.set_parent_rows(1, &[(0, 0.75)], 0.25);
        links.set_parent_rows(3, &[(2, 0.5), (0, 0.25)], 0.25);
        let candidates = CandidateParents::from_links(&calls, &links);
        assert_eq!(candidates.of_call(id(0)), [(None, 1.0)]);
        assert_eq!(candidates.of_call(id(1)), [(Some(id(0)), 0.75), (None, 0.25)]);
        // 0.25 + 0.5 * 0.75, and 0.25 + 0.5 * 0.25.
        assert_eq!(candidates.of_call(id(2)), [(Some(id(0)), 0.625), (None, 0.375)]);
    }
}
