//! Planned calls: the calls that requests make, according to those that are known.

use crate::infer::auto::NONE;
use crate::infer::auto::service::Service;
use crate::infer::auto::strict::CallPlans;
use crate::tuning::auto::workers::waiting::MIN_PLANNED;

/// The calls that requests make, in their order.
pub(super) struct PlannedCalls {
    /// For each request the kinds of its calls, and the calls; [`NONE`] if a call is not known.
    /// Empty if the request has other calls.
    pub(super) of: Vec<Vec<(u32, u32)>>,
}

impl PlannedCalls {
    /// The calls of `service`, including those with a bound request in `held`. `None` if requests
    /// of a kind differ.
    pub(super) fn from_bound(
        service: &Service,
        held: &[u32],
        plans: &CallPlans,
    ) -> Option<PlannedCalls> {
        let plan = |request: usize| plans.get(&service.requests[request].kind);
        let mut of: Vec<Vec<(u32, u32)>> = (0..service.requests.len())
            .map(|request| plan(request).into_iter().flatten().map(|kind| (*kind, NONE)).collect())
            .collect();
        let mut differs = vec![false; of.len()];
        let mut next = vec![0; of.len()];
        for (call, request) in (0..).zip(held).filter(|(_, request)| **request != NONE) {
            let request = *request as usize;
            let kind = service.calls[call as usize].kind;
            let places = of[request].iter_mut().skip(next[request]);
            let Some((at, place)) = places.enumerate().find(|(_, (of, _))| *of == kind) else {
                differs[request] = true;
                continue;
            };
            place.1 = call;
            next[request] += at + 1;
        }
        let planned = differs.iter().filter(|differs| !**differs).count();
        if (planned as f64) < MIN_PLANNED * of.len() as f64 {
            return None;
        }
        of.iter_mut().zip(differs).filter(|(_, differs)| *differs).for_each(|(of, _)| of.clear());
        Some(PlannedCalls { of })
    }

    /// Number of calls that requests should make and that are not known.
    pub(super) fn missing_count(&self) -> usize {
        self.of.iter().flatten().filter(|(_, call)| *call == NONE).count()
    }

    /// The place of a call among the calls of a request, if that place is free.
    pub(super) fn place(&self, service: &Service, request: u32, call: u32) -> Option<usize> {
        let calls = &self.of[request as usize];
        let span = service.calls[call as usize];
        let place = calls.iter().position(|(kind, call)| *kind == span.kind && *call == NONE)?;
        let known = |calls: &[(u32, u32)]| -> Vec<u32> {
            calls.iter().map(|(_, call)| *call).filter(|call| *call != NONE).collect()
        };
        let of = service.requests[request as usize];
        let after = known(&calls[..place]).last().map(|call| service.calls[*call as usize].end);
        let before = known(&calls[place..]).first().map(|call| service.calls[*call as usize].begin);
        let is_between =
            after.unwrap_or(of.begin) <= span.begin && span.end <= before.unwrap_or(of.end);
        is_between.then_some(place)
    }
}
