//! Kinds of calls by the sizes of their requests. Two queries of one request go to the same
//! database, and a request before its second query looks like another one before its first. If many
//! requests wait for connections, one may be assigned two first queries, and another one two second
//! ones. If each request makes one call of each size, or two, calls of different sizes have
//! different kinds.
//!
//! Sizes that vary with the content of a query are no evidence. So a kind is split only if its
//! calls have a few sizes, and there are just as many of each as requests, or a multiple. Sizes of
//! calls that are open together on a connection are partly guesses, and no evidence either.

use rustc_hash::FxHashMap;

use super::agreement::candidates;
use super::events::events;
use super::service::{MadeCallId, OPEN, Service, UNKNOWN_SIZE};
use crate::tuning::auto::model::size_kinds::{
    CALLS_PER_OTHER, CALLS_PER_SHARED, CALLS_PER_UNSURE, MAX_SIZES, MIN_CALLS,
    REQUESTS_PER_UNANSWERED, UNEVEN_SHARE,
};

/// Kinds of calls by size start here.
const SIZED: u32 = 1 << 29;

/// The sizes that distinguish the calls of a service: for the kind and the size of a call, the new
/// kind of the call.
#[derive(Clone, Debug, Default)]
pub(super) struct SizeKinds(FxHashMap<(u32, i64), u32>);

impl SizeKinds {
    /// The sizes that distinguish the calls of `service`.
    pub(super) fn from_service(service: &Service) -> SizeKinds {
        let mut found = SizeKinds::default();
        if !is_worth_splitting(service) {
            return found;
        }
        let mut kinds: Vec<u32> = service.calls.iter().map(|call| call.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            for size in distinct_sizes(service, kind) {
                let next = SIZED + found.0.len() as u32;
                found.0.insert((kind, size), next);
            }
        }
        found
    }

    /// Replaces the kinds of the calls of `service` by the kinds of their sizes.
    pub(super) fn split_kinds(&self, service: &mut Service) {
        for (call, [size, _]) in service.calls.iter_mut().zip(&service.call_sizes) {
            call.kind = self.0.get(&(call.kind, *size)).copied().unwrap_or(call.kind);
        }
    }
}

/// Returns whether many calls have several candidate requests, and nearly all requests are
/// answered. If one request is open at a time, there is nothing to distinguish. Services of jobs
/// have other evidence ([`super::pool`]).
fn is_worth_splitting(service: &Service) -> bool {
    let all = service.requests.len();
    let answered = service.requests.iter().filter(|request| request.end != OPEN).count();
    let has_jobs = service.request_calls.iter().any(|item| item.is_delivery());
    if service.has_unanswered_kinds
        || answered < MIN_CALLS
        || (all - answered) * REQUESTS_PER_UNANSWERED > all
        || has_jobs
    {
        return false;
    }
    let mut shared = 0;
    candidates(service, &events(service), |_, possible| shared += usize::from(possible.len() > 1));
    shared * CALLS_PER_SHARED >= service.calls.len()
}

/// The sizes that distinguish calls of a kind, in order; empty if sizes do not.
fn distinct_sizes(service: &Service, kind: u32) -> Vec<i64> {
    let mut counts: FxHashMap<i64, usize> = FxHashMap::default();
    let (mut all, mut unsure) = (0, 0);
    let sizes = service.calls.iter().zip(&service.call_sizes);
    for (call, (_, [size, _])) in
        MadeCallId::ids().zip(sizes).filter(|(_, (call, _))| call.kind == kind)
    {
        *counts.entry(*size).or_default() += 1;
        all += 1;
        unsure += usize::from(service.is_unsure(call));
    }
    let mut often: Vec<(i64, usize)> =
        counts.into_iter().filter(|(_, count)| *count >= MIN_CALLS).collect();
    often.sort_unstable();
    let known: usize = often.iter().map(|(_, count)| count).sum();
    let is_multiple = |count: usize| {
        let each = count as f64 / service.requests.len() as f64;
        each > 0.5 && (each - each.round()).abs() <= UNEVEN_SHARE
    };
    let is_parted = (2..=MAX_SIZES).contains(&often.len())
        && unsure * CALLS_PER_UNSURE <= all
        && (all - known) * CALLS_PER_OTHER <= all
        && often.iter().all(|(size, count)| *size != UNKNOWN_SIZE && is_multiple(*count));
    if is_parted { often.into_iter().map(|(size, _)| size).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use message_trace::MessageId;

    use super::*;
    use crate::fixture::Fixture;
    use crate::infer::auto::service::NodeSpan;
    use crate::infer::auto::tests::{MS, infer, lot, parents};
    use crate::infer::call_links::WorkItem;

    /// Requests that overlap, each with calls of one kind and these sizes by the request's number.
    fn service(sizes: impl Fn(i64) -> Vec<i64>) -> Service {
        let mut service = Service { window: 1_000_000, ..Service::default() };
        for request in 0..100_i64 {
            let begin = 1000 * request;
            service.requests.push(NodeSpan { begin, end: begin + 3000, kind: 9 });
            service.request_calls.push(WorkItem::request_at(request as usize));
            for (place, size) in (0..).zip(sizes(request)) {
                let begin = begin + 100 * (place + 1);
                service.calls.push(NodeSpan { begin, end: begin + 50, kind: 1 });
                service.call_sizes.push([size, 10]);
                service.call_unsure.push(false);
            }
        }
        service
    }

    /// Number of kinds into which the calls of `service` are split.
    fn parted(mut service: Service) -> usize {
        SizeKinds::from_service(&service).split_kinds(&mut service);
        let mut kinds: Vec<u32> = service.calls.iter().map(|call| call.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.len()
    }

    #[test]
    fn calls_that_each_request_makes_are_distinguished() {
        assert_eq!(parted(service(|_| vec![66, 122])), 2);
        assert_eq!(parted(service(|_| vec![66, 122, 66])), 2, "one of them twice");
        assert_eq!(parted(service(|request| vec![66, if request == 5 { 70 } else { 122 }])), 3);
    }

    /// The share of the queries that are assigned to their own requests, for a service that asks a
    /// database twice for each of its requests, with queries of these sizes.
    fn right(sizes: [i64; 2]) -> f64 {
        let mut fixture = Fixture::new();
        let mut owner: FxHashMap<i64, i64> = FxHashMap::default();
        for request in 0..300_i64 {
            let begin = MS * request + lot(request, MS / 2);
            let mut at = begin;
            fixture.send("c", "s", begin - 10, begin).on(request);
            for (query, bytes) in (0..).zip(sizes) {
                let sent = at + MS / 10 + lot(4 * request + query, 2 * MS);
                at = sent + MS / 2 + lot(4 * request + query + 2_000, 3 * MS);
                let flow = 1_000 + 2 * request + query;
                fixture.send("s", "d", sent, sent + 10).on(flow).bytes(bytes);
                fixture.send("d", "s", at - 10, at).accepting().on(flow).bytes(20);
                owner.insert(sent, begin);
            }
            let end = at + MS / 10 + lot(request + 9_000, MS / 5);
            fixture.send("s", "c", end, end + 10).accepting().on(request);
        }
        let trace = fixture.trace();
        let parents = parents(&infer(&trace));
        let is_right = |row: MessageId| {
            let own = owner.get(&trace.send_ts(row)?)?;
            let mut at = row;
            while let Some(parent) = parents[at.index()] {
                at = parent;
            }
            Some(trace.arrival_time(at) == Some(*own))
        };
        let right: Vec<bool> = trace.ids().filter_map(is_right).collect();
        right.iter().filter(|is_right| **is_right).count() as f64 / right.len() as f64
    }

    #[test]
    fn a_second_query_is_not_taken_for_a_first_one() {
        let [alike, apart] = [right([66, 66]), right([66, 122])];
        assert!(apart > 0.9 && apart > alike + 0.05, "{apart}, and {alike} where sizes are alike");
    }

    #[test]
    fn varying_sizes_are_not_distinguished() {
        assert_eq!(parted(service(|request| vec![66 + request])), 1);
        assert_eq!(
            parted(service(|request| vec![66 + request % 2 * 56])),
            1,
            "either of two sizes"
        );
        assert_eq!(
            parted(service(|request| vec![66, 122][..1 + (request % 2) as usize].to_vec())),
            1
        );
        assert_eq!(parted(service(|request| vec![66, 120 + request % 4])), 1, "a varying size");
    }

    #[test]
    fn kinds_are_not_split_without_need_or_evidence() {
        let mut one_at_a_time = service(|_| vec![66, 122]);
        one_at_a_time.requests.iter_mut().for_each(|request| request.end = request.begin + 900);
        assert_eq!(parted(one_at_a_time), 1);
        let mut unanswered = service(|_| vec![66, 122]);
        unanswered.requests.iter_mut().step_by(10).for_each(|request| request.end = OPEN);
        assert_eq!(parted(unanswered), 1);
        let mut shared = service(|_| vec![66, 122]);
        shared.call_unsure.iter_mut().step_by(5).for_each(|unsure| *unsure = true);
        assert_eq!(parted(shared), 1, "sizes on a shared connection are guesses");
        let mut jobs = service(|_| vec![66, 122]);
        jobs.request_calls.iter_mut().for_each(|item| *item = WorkItem::delivery(item.call()));
        assert_eq!(parted(jobs), 1);
    }
}
