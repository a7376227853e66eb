//! The order in which the parents of calls can be found. A call that was made after the response to
//! an earlier call inherits the parent of the earlier call, so the earlier call comes first. The
//! links show which call is earlier; the rows of the trace do not, since they are in the order of
//! the common clock, and a clock error can put an effect before its cause.

use super::{CallId, Calls};
use crate::links::Links;

/// State of a call in the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallVisit {
    New,
    OnTheWay,
    Done,
}

/// Returns all calls, each after the call that most likely determines its parent, except in cycles;
/// otherwise in the order of their requests.
pub(super) fn order_by_causes(calls: &Calls, links: &Links) -> Vec<CallId> {
    let mut by_request: Vec<CallId> = calls.iter().collect();
    by_request.sort_by_key(|call| calls.request_or_response(*call));
    let mut marks = vec![CallVisit::New; calls.len()];
    let mut order = Vec::with_capacity(calls.len());
    let mut chain = Vec::new();
    for call in by_request {
        let mut at = Some(call);
        while let Some(call) = at.filter(|call| marks[call.index()] == CallVisit::New) {
            marks[call.index()] = CallVisit::OnTheWay;
            chain.push(call);
            at = preceding_call(calls, links, call);
        }
        // The chain ends at a call that is done, at none, or in a cycle, which is cut where it was
        // entered.
        order.extend(chain.drain(..).rev().inspect(|call| marks[call.index()] = CallVisit::Done));
    }
    order
}

/// Returns the call whose response most likely caused `call`; `None` if a request that the caller
/// received caused it.
fn preceding_call(calls: &Calls, links: &Links, call: CallId) -> Option<CallId> {
    let request = calls.request(call).filter(|request| links.has_message(*request))?;
    let mut likeliest: Option<(f64, Option<CallId>)> = None;
    for (cause, probability) in links.parents(request) {
        let Some(cause) = calls.known_message(cause) else { continue };
        let from = calls.call_of_message(cause);
        // The response of a call without a request leads nowhere.
        let Some(asked) = calls.request(from) else { continue };
        if likeliest.is_none_or(|(most, _)| probability > most) {
            likeliest = Some((probability, (asked != cause).then_some(from)));
        }
    }
    likeliest.and_then(|(_, from)| from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::pairing::tests::{IN_TURN, calls};

    /// The indices of the calls in their order.
    fn order(calls: &Calls, links: &Links) -> Vec<usize> {
        order_by_causes(calls, links).into_iter().map(CallId::index).collect()
    }

    #[test]
    fn a_call_comes_after_the_one_that_leads_to_its_parent() {
        let (_, calls) = calls(&IN_TURN);
        let mut links = Links::spontaneous_only(6);
        assert_eq!(order(&calls, &links), [0, 1, 2]);
        // y, at row 1, was made when z, at row 3, had been answered; and z because of its call.
        links.set_parent_rows(1, &[(0, 0.25), (4, 0.75)], 0.0);
        links.set_parent_rows(3, &[(0, 1.0)], 0.0);
        assert_eq!(order(&calls, &links), [0, 2, 1]);
        // In a cycle each call comes once.
        let mut links = Links::spontaneous_only(6);
        links.set_parent_rows(1, &[(4, 1.0)], 0.0);
        links.set_parent_rows(3, &[(2, 1.0)], 0.0);
        assert_eq!(order(&calls, &links), [0, 2, 1]);
    }

    #[test]
    fn calls_are_ordered_by_requests_not_by_responses_with_a_late_clock() {
        // b's clock is 10 late: the row of its response comes first.
        let rows = [
            ("c", "a", "x", 0, 1),
            ("a", "b", "y", 4, -5),
            ("b", "a", "y", -4, 6),
            ("c", "a", "z", 2, 3),
        ];
        let (trace, calls) = calls(&rows);
        assert_eq!(calls.id(&trace, CallId::from_index(0)), "y");
        assert_eq!(order(&calls, &Links::spontaneous_only(4)), [1, 2, 0]);
    }
}
