//! Thread time: the time of the only thread of an overloaded event loop. A request waits for the
//! thread, which processes others first, so the delay of a call after its request is not
//! predictable. But the thread is always active. So among all requests the one with the last event
//! has the shortest delay, again and again, and one request is assigned the calls of many.
//!
//! So delays are measured from the last action of the thread, for any request, if that was later
//! than the trigger of the call. Such delays show what the thread did next, but not for which
//! request: that is shown by the order in which requests were woken, and by the usual calls.

use rustc_hash::FxHashMap;

use super::events::calls_by_request;
use super::service::{MadeCallId, OPEN, RequestId, Service, recent_calls};
use super::trigger::{Trigger, open_calls};
use crate::tuning::auto::services::thread_time::{MAX_UNEVEN, MIN_REQUESTS, UNEVEN_SHARE};

impl Service {
    /// This service, with delays in the time of its thread.
    pub(super) fn in_thread_time(&self) -> Service {
        let mut service = self.prefix_until(self.requests.len(), self.calls.len(), self.until);
        let spans = || self.requests.iter().chain(&self.calls);
        service.active_at =
            spans().flat_map(|span| [span.begin, span.end]).filter(|time| *time != OPEN).collect();
        service.active_at.sort_unstable();
        service
    }

    /// Returns whether delays are measured in the time of the thread.
    pub(super) fn has_thread_time(&self) -> bool {
        !self.active_at.is_empty()
    }

    /// Time from which the delay of an event at `time` is measured, if its trigger was at `since`.
    pub(super) fn free_since(&self, since: i64, time: i64) -> i64 {
        let before = self.active_at.partition_point(|active| *active < time);
        let last = before.checked_sub(1).and_then(|last| self.active_at.get(last));
        last.map_or(since, |last| since.max(*last))
    }
}

/// Share of the calls that are beyond the usual number of their request in an assignment, for the
/// kinds of calls that all requests seem to make equally often.
pub(super) fn surplus_share(service: &Service, request_of_call: &[Option<RequestId>]) -> f64 {
    let usual = usual_calls(service);
    let all = service.calls.iter().filter(|call| usual.contains_key(&call.kind)).count();
    let mut surplus = 0;
    for made in calls_by_request(service, request_of_call) {
        let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
        made.iter()
            .for_each(|call| *counts.entry(service.calls[call.index()].kind).or_default() += 1);
        for (kind, count) in counts {
            surplus += usual.get(&kind).map_or(0, |usual| count.saturating_sub(*usual as usize));
        }
    }
    surplus as f64 / all.max(1) as f64
}

/// Usual number of calls of each kind for a request, for the kinds that all requests seem to make
/// equally often.
pub(super) fn usual_calls(service: &Service) -> FxHashMap<u32, u32> {
    let answered = service.requests.iter().filter(|request| request.end != OPEN).count();
    if answered < MIN_REQUESTS {
        return FxHashMap::default();
    }
    let mut all: FxHashMap<u32, usize> = FxHashMap::default();
    service.calls.iter().for_each(|call| *all.entry(call.kind).or_default() += 1);
    let usual = |(kind, count): (u32, usize)| {
        let each = count as f64 / answered as f64;
        (each > 0.5 && (each - each.round()).abs() <= (UNEVEN_SHARE * each).min(MAX_UNEVEN))
            .then_some((kind, each.round() as u32))
    };
    all.into_iter().filter_map(usual).collect()
}

/// The rank of a request among others at `time`; the lowest comes first. First come requests that
/// were woken, by their receipt or by the responses to all their calls, and have not acted since;
/// then requests that wait for other responses; and then the one that acted last.
pub(super) fn fifo_rank(
    service: &Service,
    request: RequestId,
    made: &[MadeCallId],
    time: i64,
) -> (u8, i64) {
    let made = recent_calls(made);
    let woken = Trigger::LastEnd.time(service, request, made, time).unwrap_or(i64::MIN);
    let did = made.last().map_or(i64::MIN, |call| service.calls[call.index()].begin);
    match open_calls(service, made, time) {
        _ if did > woken => (2, did.saturating_neg()),
        0 => (0, woken),
        _ => (1, woken),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::service::NodeSpan;
    use crate::infer::auto::tests::requests;

    fn service() -> Service {
        let span = |begin, end, kind| NodeSpan { begin, end, kind };
        let requests = (0..40).map(|at| span(10 * at, 10 * at + 100, 9)).collect();
        let calls = (0..40).map(|at| span(10 * at + 5, 10 * at + 7, 1)).collect();
        Service { requests, calls, ..Service::default() }
    }

    #[test]
    fn delays_begin_when_the_thread_is_free() {
        let service = service();
        assert_eq!((service.has_thread_time(), service.free_since(3, 15)), (false, 3));
        let service = service.in_thread_time();
        assert!(service.has_thread_time());
        // The second request came at 10, the first call was made at 5 and answered at 7.
        assert_eq!((service.free_since(3, 10), service.free_since(3, 15)), (7, 10));
        assert_eq!((service.free_since(12, 15), service.free_since(-9, 0)), (12, -9));
    }

    #[test]
    fn surplus_calls_are_those_beyond_the_usual_number() {
        let service = service();
        let request_of_call = requests(0..40);
        assert!(surplus_share(&service, &request_of_call) < 1e-9);
        // The first ten have one call each, and the eleventh has all others.
        let request_of_call = requests((0..40).map(|call: usize| call.min(10)));
        assert!((surplus_share(&service, &request_of_call) - 29.0 / 40.0).abs() < 1e-9);
    }

    #[test]
    fn the_request_woken_first_comes_first() {
        let span = |begin, end, kind| NodeSpan { begin, end, kind };
        let service = Service {
            requests: vec![span(0, 100, 9)],
            calls: vec![span(10, 30, 1), span(20, 60, 2)],
            ..Service::default()
        };
        let turn = |made: &[usize], time| {
            let made: Vec<MadeCallId> =
                made.iter().map(|call| MadeCallId::from_index(*call)).collect();
            fifo_rank(&service, RequestId::from_index(0), &made, time)
        };
        assert_eq!((turn(&[], 9), turn(&[0], 40)), ((0, 0), (0, 30)));
        assert_eq!(
            (turn(&[0], 15), turn(&[0, 1], 40), turn(&[0, 1], 70)),
            ((2, -10), (1, 30), (0, 60))
        );
    }
}
