//! Planned calls: the calls that each request should make, with those that are known so far.

use crate::infer::auto::service::{MadeCallId, RequestId, Service};
use crate::infer::auto::strict::CallPlans;
use crate::tuning::auto::workers::waiting::MIN_PLANNED;

/// The calls that requests make, in their order.
pub(super) struct PlannedCalls {
    /// For each request the kinds of its calls, and the calls as far as they are known. Empty if
    /// the request has other calls.
    pub(super) of_requests: Vec<Vec<(u32, Option<MadeCallId>)>>,
}

impl PlannedCalls {
    /// The calls that requests make according to `plans`, filled with the calls that have a request
    /// in `bound`. `None` if many requests have other calls than planned.
    pub(super) fn from_bound(
        service: &Service,
        bound: &[Option<RequestId>],
        plans: &CallPlans,
    ) -> Option<PlannedCalls> {
        let plan = |request: usize| plans.get(&service.requests[request].kind);
        let mut of: Vec<Vec<(u32, Option<MadeCallId>)>> = (0..service.requests.len())
            .map(|request| plan(request).into_iter().flatten().map(|kind| (*kind, None)).collect())
            .collect();
        let mut differs = vec![false; of.len()];
        let mut next = vec![0; of.len()];
        for (call, request) in MadeCallId::ids().zip(bound) {
            let Some(request) = request.map(RequestId::index) else { continue };
            let kind = service.calls[call.index()].kind;
            let places = of[request].iter_mut().skip(next[request]);
            let Some((at, place)) = places.enumerate().find(|(_, (of, _))| *of == kind) else {
                differs[request] = true;
                continue;
            };
            place.1 = Some(call);
            next[request] += at + 1;
        }
        let planned = differs.iter().filter(|differs| !**differs).count();
        if (planned as f64) < MIN_PLANNED * of.len() as f64 {
            return None;
        }
        of.iter_mut().zip(differs).filter(|(_, differs)| *differs).for_each(|(of, _)| of.clear());
        Some(PlannedCalls { of_requests: of })
    }

    /// Number of calls that requests should make and that are not known.
    pub(super) fn missing_count(&self) -> usize {
        self.of_requests.iter().flatten().filter(|(_, call)| call.is_none()).count()
    }

    /// The place of a call among the calls of a request; `None` if the request has no free place
    /// for it, or not at this time.
    pub(super) fn place(
        &self,
        service: &Service,
        request: RequestId,
        call: MadeCallId,
    ) -> Option<usize> {
        let calls = &self.of_requests[request.index()];
        let span = service.calls[call.index()];
        let place = calls.iter().position(|(kind, call)| *kind == span.kind && call.is_none())?;
        let known = |calls: &[(u32, Option<MadeCallId>)]| -> Vec<MadeCallId> {
            calls.iter().filter_map(|(_, call)| *call).collect()
        };
        let of = service.requests[request.index()];
        let after = known(&calls[..place]).last().map(|call| service.calls[call.index()].end);
        let before = known(&calls[place..]).first().map(|call| service.calls[call.index()].begin);
        let is_between =
            after.unwrap_or(of.begin) <= span.begin && span.end <= before.unwrap_or(of.end);
        is_between.then_some(place)
    }
}
