//! Contradicted calls: the last response that a thread received before it answered, compared with
//! the request that the call was assigned to. A thread that answers a request which another thread
//! received, and waits for its own calls, answers with the last response that it received. So the
//! call of that response was made for the answered request. If most such calls are assigned to
//! other requests, the model is wrong, however confident it is.

use rustc_hash::{FxHashMap, FxHashSet};

use super::assignment::Assignment;
use super::service::{MadeCallId, OPEN, RequestId, Service, UNKNOWN_THREAD};
use crate::tuning::auto::services::heard_last::{
    CALLS_PER_EXCEPTION, CONTRADICTED_SHARE, MIN_ANSWERS,
};

/// Number of contradicted calls, and number of examined calls: those with the last response that a
/// thread received before it answered a request. A call is contradicted if it is assigned to
/// another request than the answered one. `None` if few calls are examined, or few are
/// contradicted.
pub(super) fn count_contradicted_calls(service: &Service, found: &Assignment) -> Option<[u64; 2]> {
    let calls = service.call_threads.len();
    let by_others =
        service.call_threads.iter().filter(|[maker, receiver]| maker != receiver).count();
    // Tasks move between threads.
    if CALLS_PER_EXCEPTION * by_others > calls {
        return None;
    }
    let mut responses: FxHashMap<u32, Vec<(i64, MadeCallId)>> = FxHashMap::default();
    for ([_, receiver], (span, call)) in
        service.call_threads.iter().zip(service.calls.iter().zip(MadeCallId::ids()))
    {
        if *receiver != UNKNOWN_THREAD && span.end != OPEN {
            responses.entry(*receiver).or_default().push((span.end, call));
        }
    }
    responses.values_mut().for_each(|responses| responses.sort_unstable());
    let receivers: FxHashSet<u32> =
        service.request_threads.iter().map(|[receiver, _]| *receiver).collect();
    let [mut others, mut all] = [0, 0];
    let mut used: FxHashSet<MadeCallId> = FxHashSet::default();
    for (request, [_, answerer]) in RequestId::ids().zip(&service.request_threads) {
        let span = service.requests[request.index()];
        let Some(responses) = responses.get(answerer).filter(|_| !receivers.contains(answerer))
        else {
            continue;
        };
        let before = responses.partition_point(|(time, _)| *time <= span.end);
        let last = before.checked_sub(1).map(|last| responses[last]);
        let last = last.filter(|(time, _)| span.end != OPEN && *time >= span.begin);
        // An answer without a call of its own finds the call of an earlier answer.
        if let Some((_, call)) = last.filter(|(_, call)| used.insert(*call)) {
            all += 1;
            others += u64::from(found.request_of_call.get(call.index()) != Some(&Some(request)));
        }
    }
    let is_much = all >= MIN_ANSWERS && others as f64 >= CONTRADICTED_SHARE * all as f64;
    is_much.then_some([others, all])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::tests::requests;
    use crate::infer::span::NodeSpan;

    /// Workers that answer the request for which they made a call.
    fn service(reader: u32) -> Service {
        let mut service = Service::default();
        for request in 0..60 {
            let (begin, worker) = (10 * i64::from(request), 3 + request % 4);
            service.requests.push(NodeSpan { begin, end: begin + 35, kind: 9 });
            service.request_threads.push([reader, worker]);
            service.calls.push(NodeSpan { begin: begin + 8, end: begin + 30, kind: 1 });
            service.call_threads.push([worker; 2]);
        }
        service
    }

    /// The result if calls are assigned to requests that are this far off.
    fn contradictions_at_offset(off: usize, reader: u32) -> Option<[u64; 2]> {
        let request_of_call = requests((0..60).map(|call| call + off));
        count_contradicted_calls(
            &service(reader),
            &Assignment { request_of_call, shares: Vec::new() },
        )
    }

    #[test]
    fn calls_assigned_to_other_requests_than_their_threads_answer_are_contradicted() {
        assert_eq!(contradictions_at_offset(1, 1), Some([60, 60]));
        assert_eq!(contradictions_at_offset(0, 1), None);
        // A thread that also receives requests may answer anything.
        assert_eq!(contradictions_at_offset(1, 4), Some([45, 45]));
    }

    #[test]
    fn a_thread_that_does_not_receive_its_own_responses_is_no_evidence() {
        let mut service = service(1);
        service.call_threads.iter_mut().for_each(|[maker, _]| *maker += 1);
        let request_of_call = requests(1..61);
        assert_eq!(
            count_contradicted_calls(&service, &Assignment { request_of_call, shares: Vec::new() }),
            None
        );
    }
}
