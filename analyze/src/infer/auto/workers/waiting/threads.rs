//! Bindings of threads to requests.

use rustc_hash::FxHashMap;

use crate::infer::auto::service::{RequestId, Service, UNKNOWN_THREAD};

/// The interval in which a thread is bound to a request: beginning, end, and request.
type BoundInterval = (i64, i64, RequestId);

/// The bound intervals of each thread.
pub(super) struct ThreadBindings(Vec<(u32, Vec<BoundInterval>)>);

impl ThreadBindings {
    pub(super) fn from_service(service: &Service) -> ThreadBindings {
        let mut of: FxHashMap<u32, Vec<BoundInterval>> = FxHashMap::default();
        for (request, (span, [thread, _])) in
            RequestId::ids().zip(service.requests.iter().zip(&service.request_threads))
        {
            of.entry(*thread).or_default().push((span.begin, span.end, request));
        }
        let mut of: Vec<_> = of.into_iter().filter(|(of, _)| *of != UNKNOWN_THREAD).collect();
        of.sort_unstable();
        of.iter_mut().for_each(|(_, intervals)| intervals.sort_unstable());
        ThreadBindings(of)
    }

    /// The threads that are bound to a request at `time`, with the request.
    pub(super) fn bound_threads(&self, time: i64) -> impl Iterator<Item = (u32, RequestId)> {
        self.0
            .iter()
            .filter_map(move |(thread, intervals)| Some((*thread, bound_at(intervals, time)?)))
    }

    /// The request that a thread is bound to at `time`.
    pub(super) fn bound_request(&self, thread: u32, time: i64) -> Option<RequestId> {
        let place = self.0.binary_search_by_key(&thread, |(thread, _)| *thread).ok()?;
        bound_at(&self.0.get(place)?.1, time)
    }

    /// All threads that are bound to requests.
    pub(super) fn all_threads(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(thread, _)| *thread)
    }
}

/// The request of the interval that contains `time`.
fn bound_at(intervals: &[BoundInterval], time: i64) -> Option<RequestId> {
    let last = intervals.partition_point(|(begin, ..)| *begin <= time).checked_sub(1)?;
    intervals.get(last).filter(|(_, end, _)| *end >= time).map(|(.., request)| *request)
}
