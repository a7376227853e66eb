//! Busy workers, which make one call after the other themselves. Between two calls a worker wakes
//! the goroutine that waits for the previous response, and then the one that has waited to submit
//! the next job. Neither need be waiting: a goroutine that has submitted a job may not wait for the
//! response yet, and a job may already be queued. So a single woken goroutine may belong to the
//! previous call or to the next one.
//!
//! Each hand-off between two calls belongs to one of the two: the earlier hand-offs to the previous
//! call, the later ones to the next call. The assignment of requests that explains most hand-offs
//! of a worker, over all calls, is right. Two calls without hand-offs between them are more likely
//! for the same request. If another request explains as many hand-offs, or none explains any, the
//! call is ambiguous.

use super::super::run::AttributedCall;
use crate::infer::auto::service::{MadeCallId, RequestId};
use crate::tuning::auto::workers::{CONTRADICTED_SHARE, MAX_CANDIDATES};

/// A call of a worker.
pub(super) struct WorkerCall {
    pub(super) call: MadeCallId,
    /// The requests of the goroutines that were woken since the previous call, in order.
    pub(super) since: Vec<RequestId>,
    /// The requests that other edges lead to: from the goroutine that woke the worker for the call,
    /// and from those that the worker woke while it waited for the response.
    pub(super) claimed: Vec<RequestId>,
}

/// Weight of an explained hand-off.
const HANDOFF_WEIGHT: u32 = 2;
/// Weight of a call for the same request as the previous call if there is no hand-off between them.
const SAME_REQUEST_WEIGHT: u32 = 1;

/// The requests of the calls of a worker. `last` has the requests of the goroutines that it woke
/// after the last of the `steps`, and `is_open` states whether a request was open during a call.
pub(super) fn requests(
    steps: &[WorkerCall],
    last: &[RequestId],
    is_open: impl Fn(RequestId, MadeCallId) -> bool,
) -> Vec<AttributedCall> {
    let after = |at: usize| steps.get(at + 1).map_or(last, |step| &step.since);
    let candidates: Vec<Vec<RequestId>> = (0..steps.len())
        .map(|at| {
            let step = &steps[at];
            // Of several calls in sequence, only the first and the last have adjacent hand-offs.
            let after = (at..steps.len()).map(after).find(|requests| !requests.is_empty());
            let before = steps[..=at].iter().rev().map(|step| &step.since);
            let before = before.into_iter().find(|requests| !requests.is_empty());
            let near = after.into_iter().flatten().chain(&step.claimed);
            let near = near.chain(before.into_iter().flatten().rev());
            let mut known: Vec<RequestId> = Vec::new();
            for request in near {
                if !known.contains(request) && is_open(*request, step.call) {
                    known.push(*request);
                }
            }
            known.truncate(MAX_CANDIDATES);
            known
        })
        .collect();
    let claimed = |at: usize, request: RequestId| {
        HANDOFF_WEIGHT
            * steps[at].claimed.iter().filter(|claimed| **claimed == request).count() as u32
    };
    // The candidate requests of a call, and last none of them.
    let of = |at: usize| -> Vec<Option<RequestId>> {
        candidates[at].iter().copied().map(Some).chain([None]).collect()
    };
    // The best weight of the calls up to each one, for each of its candidates; then the same for
    // the calls after it.
    let (mut up_to, mut after_each) = (Vec::new(), vec![Vec::new(); steps.len()]);
    for (at, step) in steps.iter().enumerate() {
        let best = |request: Option<RequestId>| {
            let own = request.map_or(0, |request| claimed(at, request));
            let Some(before) = at.checked_sub(1) else {
                return own + explained_handoffs(&step.since, None, request);
            };
            let weights = of(before).into_iter().zip(&up_to[before]);
            let weights =
                weights.map(|(one, weight)| weight + explained_handoffs(&step.since, one, request));
            own + weights.max().unwrap_or(0)
        };
        let worths: Vec<u32> = of(at).into_iter().map(best).collect();
        up_to.push(worths);
    }
    for at in (0..steps.len()).rev() {
        let best = |request: Option<RequestId>| {
            let Some(next) = steps.get(at + 1) else {
                return explained_handoffs(last, request, None);
            };
            let weights = of(at + 1).into_iter().zip(&after_each[at + 1]);
            let weights = weights.map(|(one, weight): (Option<RequestId>, &u32)| {
                let own = one.map_or(0, |one| claimed(at + 1, one));
                own + weight + explained_handoffs(&next.since, request, one)
            });
            weights.max().unwrap_or(0)
        };
        after_each[at] = of(at).into_iter().map(best).collect();
    }
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let worths = up_to[at].iter().zip(&after_each[at]).map(|(one, other)| one + other);
        let mut known: Vec<(Option<RequestId>, u32)> = of(at).into_iter().zip(worths).collect();
        // On a tie, the first candidate.
        known.sort_by_key(|(_, weight)| u32::MAX - weight);
        let Some((Some(request), weight)) = known.first().copied() else { continue };
        let others: Vec<Option<RequestId>> = known
            .iter()
            .skip(1)
            .filter(|(_, other)| *other == weight)
            .map(|(one, _)| *one)
            .collect();
        let rival = others.iter().flatten().next();
        let rival = rival.map(|other| (*other, CONTRADICTED_SHARE));
        found.push(AttributedCall {
            call: step.call,
            request,
            rival,
            is_recorded: others.is_empty(),
        });
    }
    found
}

/// Weight of the hand-offs `between` two calls, which led to these requests, that are explained if
/// the calls are for the requests `before` and `after`.
fn explained_handoffs(
    between: &[RequestId],
    before: Option<RequestId>,
    after: Option<RequestId>,
) -> u32 {
    if between.is_empty() {
        return if before.is_some() && before == after { SAME_REQUEST_WEIGHT } else { 0 };
    }
    let are_of = |part: &[RequestId], request: Option<RequestId>| {
        part.iter().filter(|one| request == Some(**one)).count() as u32
    };
    let splits = (0..=between.len()).map(|at| {
        let (first, second) = between.split_at(at);
        are_of(first, before) + are_of(second, after)
    });
    HANDOFF_WEIGHT * splits.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requests of calls 0, 1, ... and whether each is known, given the goroutines that the
    /// worker woke before each call and after the last. A request is open except during the calls
    /// in `closed`.
    fn attributed_requests(
        since: &[&[u32]],
        claimed: &[(usize, u32)],
        closed: &[(u32, u32)],
    ) -> Vec<(u32, bool)> {
        let Some((last, since)) = since.split_last() else { return Vec::new() };
        let requests_of = |indices: &[u32]| -> Vec<RequestId> {
            indices.iter().map(|index| RequestId::from_index(*index as usize)).collect()
        };
        let claimed = |at: usize| {
            let of_call = claimed.iter().filter(|(of, _)| *of == at).map(|(_, one)| *one);
            requests_of(&of_call.collect::<Vec<_>>())
        };
        let steps: Vec<WorkerCall> = MadeCallId::ids()
            .zip(since.iter().enumerate())
            .map(|(call, (at, since))| WorkerCall {
                call,
                since: requests_of(since),
                claimed: claimed(at),
            })
            .collect();
        let is_open = |request: RequestId, call: MadeCallId| {
            !closed.contains(&(request.index() as u32, call.index() as u32))
        };
        let found = requests(&steps, &requests_of(last), is_open);
        found.iter().map(|found| (found.request.index() as u32, found.is_recorded)).collect()
    }

    #[test]
    fn a_goroutine_that_waits_for_the_response_is_woken_after_the_call() {
        assert_eq!(
            attributed_requests(&[&[], &[7], &[8], &[9]], &[], &[]),
            [(7, true), (8, true), (9, true)]
        );
    }

    #[test]
    fn a_goroutine_that_submitted_the_next_job_is_woken_before_the_call() {
        // No goroutine waits for a response except the first and the last one.
        let given: &[&[u32]] = &[&[6], &[6, 7], &[8], &[9], &[9]];
        let all = [(6, true), (7, true), (8, true), (9, true)];
        assert_eq!(attributed_requests(given, &[], &[]), all);
        // The worker had waited for the first job.
        let given: &[&[u32]] = &[&[], &[8], &[9], &[9]];
        assert_eq!(attributed_requests(given, &[(0, 7)], &[]), [(7, true), (8, true), (9, true)]);
        // A request that was answered before a call is not its request.
        let given: &[&[u32]] = &[&[7], &[8], &[]];
        assert_eq!(attributed_requests(given, &[], &[(7, 1), (8, 0)]), [(7, true), (8, true)]);
    }

    #[test]
    fn a_hand_off_that_fits_either_call_is_ambiguous() {
        assert_eq!(attributed_requests(&[&[], &[8], &[]], &[], &[]), [(8, false), (8, false)]);
        // Another goroutine was woken while the worker waited.
        assert_eq!(attributed_requests(&[&[], &[7]], &[(0, 8)], &[]), [(7, false)]);
    }

    #[test]
    fn calls_without_hand_offs_between_them_are_for_one_request() {
        let two: &[&[u32]] = &[&[6, 7], &[], &[7, 8], &[], &[8]];
        assert_eq!(
            attributed_requests(two, &[], &[]),
            [(7, true), (7, true), (8, true), (8, true)]
        );
    }

    #[test]
    fn a_response_comes_before_the_next_job() {
        let given: &[&[u32]] = &[&[], &[7, 8], &[8, 7], &[7]];
        assert_eq!(attributed_requests(given, &[], &[]), [(7, true), (8, true), (7, true)]);
    }
}
