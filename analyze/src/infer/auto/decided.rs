//! What decided the request of each call of a service, for the reader of a report. For a call that
//! is made while no request is open, there was nothing to decide.

use super::assignment::Assignment;
use super::service::{MadeCallId, RequestId, Service};
use crate::call_evidence::CallEvidence;
use crate::calls::CallId;
use crate::infer::call_links::WorkItem;

/// What decided the request of each call, by its number; `None` for calls without any open request.
/// `is_of_context` returns whether a context of execution, such as a goroutine, made a call, rather
/// than a thread.
pub(super) fn evidence_of_calls(
    service: &Service,
    found: &Assignment,
    is_of_context: impl Fn(CallId) -> bool,
) -> Vec<Option<CallEvidence>> {
    let open = open_requests(service);
    let calls = MadeCallId::ids().zip(&service.made_calls).zip(&open);
    calls
        .map(|((call, made), open)| {
            let request = likeliest_request(found, call);
            match (request, *open) {
                (None, 0) => None,
                (None, _) => Some(CallEvidence::Inferred),
                (Some(request), open) => {
                    let shown = shown_by(service, call, *made, request, &is_of_context);
                    let alone = (open == 1).then_some(CallEvidence::OneRequest);
                    Some(shown.or(alone).unwrap_or(CallEvidence::Inferred))
                }
            }
        })
        .collect()
}

/// The kind of evidence that shows, without any inference, that the call was made for the request.
fn shown_by(
    service: &Service,
    call: MadeCallId,
    made: CallId,
    request: RequestId,
    is_of_context: impl Fn(CallId) -> bool,
) -> Option<CallEvidence> {
    let item = service.request_calls.get(request.index()).copied();
    let is_it = |found: WorkItem| item == Some(found);
    if let Some([only]) = service.traced_for.get(&made).map(Vec::as_slice) {
        return is_it(*only).then_some(CallEvidence::Ids);
    }
    if service.word_claims.get(&made).and_then(|claim| claim.decided()).is_some_and(is_it) {
        return Some(CallEvidence::Words);
    }
    if let Some(attributed) = service.attributed_to.get(&made) {
        let shown = service.shown_by.get(&made).copied().filter(|_| is_it(*attributed));
        return shown.filter(|evidence| *evidence != CallEvidence::Inferred);
    }
    let is_ambiguous = [&service.alternative_job, &service.rivals]
        .into_iter()
        .zip([call.index(), request.index()])
        .any(|(others, at)| others.get(at).copied().flatten().is_some());
    let is_bound = service.bound_request(call) == Some(request) && !is_ambiguous;
    is_bound.then(|| match is_of_context(made) {
        true => CallEvidence::Tasks,
        false => CallEvidence::Threads,
    })
}

/// The request that the call was most likely made for.
fn likeliest_request(found: &Assignment, call: MadeCallId) -> Option<RequestId> {
    let shares = found.shares.get(call.index())?;
    shares.iter().max_by(|one, other| one.1.total_cmp(&other.1)).and_then(|(request, _)| *request)
}

/// The number of requests that are open at each call.
fn open_requests(service: &Service) -> Vec<usize> {
    let mut closed: Vec<i64> =
        service.request_ids().map(|request| service.closed_at(request)).collect();
    closed.sort_unstable();
    let (mut begun, mut ended) = (0, 0);
    let calls = service.calls.iter().map(|call| {
        begun += service.requests[begun..].partition_point(|request| request.begin <= call.begin);
        ended += closed[ended..].partition_point(|closed| *closed < call.begin);
        begun.saturating_sub(ended)
    });
    calls.collect()
}

#[cfg(test)]
#[path = "decided_tests.rs"]
mod tests;
