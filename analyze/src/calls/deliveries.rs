//! Deliveries: work that a call fetched from a queue. The response to a worker that polls the queue
//! is caused by the request of another call, which put the work there; what the worker then does is
//! for that other call.

use super::{CallId, Calls};
use crate::links::{Links, ParentMessage};

/// Returns the other calls that may have put the work in the queue that the response of `call`
/// delivers, with their probabilities. Empty if no other cause of the response is likelier than the
/// request of `call` itself, since the response then only answers it.
pub(super) fn delivering_calls(
    calls: &Calls,
    links: &Links,
    call: CallId,
) -> impl Iterator<Item = (CallId, f64)> + Clone {
    let response = calls.response(call).filter(|response| links.has_message(*response));
    let is_own =
        |cause: ParentMessage| cause.here().is_some_and(|cause| calls.request(call) == Some(cause));
    let response = response.filter(|response| {
        let likeliest = |own: bool| {
            let parents = links.parents(*response).filter(|(cause, _)| is_own(*cause) == own);
            parents.map(|(_, probability)| probability).fold(0.0, f64::max)
        };
        likeliest(false) > likeliest(true)
    });
    let causes = response.into_iter().flat_map(|response| links.parents(response));
    causes.filter_map(move |(cause, probability)| {
        let cause = calls.known_message(cause)?;
        let by = calls.call_of_message(cause);
        (by != call && calls.request(by) == Some(cause)).then_some((by, probability))
    })
}

/// Returns the other call that most likely put the work in the queue that the response of `call`
/// delivers, with its probability; `None` if the response is no delivery.
pub(super) fn likeliest_delivering_call(
    calls: &Calls,
    links: &Links,
    call: CallId,
) -> Option<(CallId, f64)> {
    let response = calls.response(call).filter(|response| links.has_message(*response))?;
    let (cause, _) = links.likeliest_parent(response)?;
    let by = calls.call_of_message(calls.known_message(cause)?);
    delivering_calls(calls, links, call).find(|(call, _)| *call == by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::pairing::tests::calls;
    use crate::calls::{CandidateParents, LikelyParents};

    /// A worker asks for work before it is pushed, and does it.
    const QUEUE: [(&str, &str, &str, i64, i64); 6] = [
        ("worker", "broker", "pop", 0, 1),
        ("shop", "broker", "push", 10, 11),
        ("broker", "worker", "pop", 12, 13),
        ("broker", "shop", "push", 12, 14),
        ("worker", "store", "put", 20, 21),
        ("store", "worker", "put", 22, 23),
    ];

    #[test]
    fn work_from_a_queue_belongs_to_the_call_that_put_it_there() {
        let (trace, calls) = calls(&QUEUE);
        let ids: Vec<_> = calls.iter().map(|call| calls.id(&trace, call)).collect();
        assert_eq!(ids, ["pop", "push", "put"]);
        let [pop, push, put] = [0, 1, 2].map(CallId::from_index);
        let mut links = Links::spontaneous_only(6);
        let delivery = calls.response(pop).unwrap();
        links.set_parent_rows(delivery.index(), &[(1, 0.9)], 0.1);
        links.set_parents(calls.request(put).unwrap(), &[(delivery, 0.8)], 0.2);
        assert_eq!(likeliest_delivering_call(&calls, &links, pop), Some((push, 0.9)));
        let candidates = CandidateParents::from_links(&calls, &links);
        let shares = candidates.of_call(put);
        // Through the delivery 0.8 times 0.9; spontaneous 0.2 + 0.8 times 0.1.
        assert_eq!((shares[0].0, shares[1].0), (Some(push), None));
        assert!(
            (shares[0].1 - 0.72).abs() < 1e-12 && (shares[1].1 - 0.28).abs() < 1e-12,
            "{shares:?}"
        );
        let parent = LikelyParents::from_links(&calls, &links, &candidates).of_call(put).unwrap();
        assert_eq!(parent.call, Some(push));
        assert!((parent.probability - 0.72).abs() < 1e-12);
        // A small doubt whether the response only answers its own request leaves the rest.
        links.set_parent_rows(delivery.index(), &[(1, 0.9), (0, 0.1)], 0.0);
        assert_eq!(likeliest_delivering_call(&calls, &links, pop), Some((push, 0.9)));
        let candidates = CandidateParents::from_links(&calls, &links);
        let parent = LikelyParents::from_links(&calls, &links, &candidates).of_call(put).unwrap();
        assert_eq!(parent.call, Some(push));
        // A response that its own request most likely caused delivers nothing.
        links.set_parent_rows(delivery.index(), &[(1, 0.4), (0, 0.6)], 0.0);
        assert_eq!(likeliest_delivering_call(&calls, &links, pop), None);
        let candidates = CandidateParents::from_links(&calls, &links);
        assert_eq!(
            LikelyParents::from_links(&calls, &links, &candidates).of_call(put).unwrap().call,
            None
        );
    }
}
