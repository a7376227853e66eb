//! Deliveries: work that a call brought. The response to a worker that polls a queue is caused by
//! the request of another call, which put the work there; what the worker then does is for that
//! other call.

use super::{CallId, Calls};
use crate::links::Links;

/// Returns the calls with requests that may have caused the response of `call`, with their
/// probabilities. Empty if its own request is among the possible causes, since the response then
/// answers its own request.
pub(super) fn delivering_calls(
    calls: &Calls,
    links: &Links,
    call: CallId,
) -> impl Iterator<Item = (CallId, f64)> + Clone {
    let response = calls.response(call).filter(|response| *response < links.message_count());
    let is_own = |(cause, _): (u32, f64)| calls.request(call) == Some(cause as usize);
    let response = response.filter(|response| !links.parents(*response).any(is_own));
    let causes = response.into_iter().flat_map(|response| links.parents(response));
    causes.filter(|(cause, _)| calls.has_message(*cause)).filter_map(move |(cause, probability)| {
        let by = calls.call_of_message(cause as usize);
        (calls.request(by) == Some(cause as usize)).then_some((by, probability))
    })
}

/// Returns the call with the request that most likely caused the response of `call`, if that is not
/// its own.
pub(super) fn likeliest_delivering_call(
    calls: &Calls,
    links: &Links,
    call: CallId,
) -> Option<(CallId, f64)> {
    let response = calls.response(call).filter(|response| *response < links.message_count())?;
    let (cause, _) = links.parents(response).nth(links.most_likely(response)?)?;
    let by = calls.has_message(cause).then(|| calls.call_of_message(cause as usize))?;
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
        links.set_parents(calls.response(pop).unwrap(), &[(1, 0.9)], 0.1);
        links.set_parents(
            calls.request(put).unwrap(),
            &[(calls.response(pop).unwrap() as u32, 0.8)],
            0.2,
        );
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
        // A response that its own request may have caused delivers nothing.
        links.set_parents(calls.response(pop).unwrap(), &[(1, 0.9), (0, 0.1)], 0.0);
        assert_eq!(likeliest_delivering_call(&calls, &links, pop), None);
        let candidates = CandidateParents::from_links(&calls, &links);
        assert_eq!(
            LikelyParents::from_links(&calls, &links, &candidates).of_call(put).unwrap().call,
            None
        );
    }
}
