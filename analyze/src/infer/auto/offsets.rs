//! Apparent clock differences. A node's requests and calls may be on different clocks, since one of
//! them has only its peers' times. No message was seen at both ends, so the difference could not be
//! estimated. Calls then seem to come before the requests that they were made for, or to be
//! answered after these. The smallest shift with which nearly all calls lie within requests is
//! taken as the difference of the clocks.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::service::{NodeSpan, OPEN, Service};
use crate::tuning::auto::services::offsets::{
    AGREED_SHARE, BELIEVED_SHARE, EQUAL_WITHIN, MAX_SAMPLE, MIN_CALLS, MIN_GAIN, REQUESTS_AROUND,
};

/// Shifts the spans of the kinds of requests and calls that have the times of peers' clocks, each
/// kind by the difference of its clock.
pub(super) fn align(
    service: &mut Service,
    requests_by_peers: &FxHashSet<u32>,
    calls_by_peers: &FxHashSet<u32>,
) {
    for kind in kinds(&service.calls, calls_by_peers) {
        let of_kind: Vec<NodeSpan> =
            service.calls.iter().filter(|call| call.kind == kind).copied().collect();
        let by = difference(&service.requests, &of_kind, service.window);
        shift(&mut service.calls, kind, by);
    }
    for kind in kinds(&service.requests, requests_by_peers) {
        let (of_kind, others): (Vec<NodeSpan>, Vec<NodeSpan>) =
            service.requests.iter().partition(|request| request.kind == kind);
        // Calls that lie within other requests are no evidence of this clock.
        let others = AnsweredRequests::from_spans(&others);
        let left: Vec<NodeSpan> =
            service.calls.iter().filter(|call| !others.cover(call, 0)).copied().collect();
        let by = difference(&of_kind, &left, service.window);
        shift(&mut service.requests, kind, -by);
    }
}

/// The kinds that occur in `spans` and are in `of`, in order.
fn kinds(spans: &[NodeSpan], of: &FxHashSet<u32>) -> Vec<u32> {
    let found: FxHashSet<u32> =
        spans.iter().map(|span| span.kind).filter(|kind| of.contains(kind)).collect();
    let mut found: Vec<u32> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// Moves the spans of a kind by `by` nanoseconds.
fn shift(spans: &mut [NodeSpan], kind: u32, by: i64) {
    for span in spans.iter_mut().filter(|span| by != 0 && span.kind == kind) {
        span.begin = span.begin.saturating_add(by);
        if span.end != OPEN {
            span.end = span.end.saturating_add(by);
        }
    }
}

/// Requests that were answered, by time, with the latest end of the requests up to each.
struct AnsweredRequests {
    spans: Vec<NodeSpan>,
    ends: Vec<i64>,
}

impl AnsweredRequests {
    fn from_spans(spans: &[NodeSpan]) -> AnsweredRequests {
        let mut spans: Vec<NodeSpan> =
            spans.iter().filter(|span| span.end != OPEN).copied().collect();
        spans.sort_unstable_by_key(|span| span.begin);
        let latest = |latest: &mut i64, span: &NodeSpan| {
            *latest = (*latest).max(span.end);
            Some(*latest)
        };
        let ends = spans.iter().scan(i64::MIN, latest).collect();
        AnsweredRequests { spans, ends }
    }

    /// Returns whether `call`, moved by `by` nanoseconds, lies within one of the requests.
    fn cover(&self, call: &NodeSpan, by: i64) -> bool {
        let begin = call.begin.saturating_add(by);
        let before = self.spans.partition_point(|request| request.begin <= begin);
        before > 0 && self.ends[before - 1] >= call.end.saturating_add(by)
    }

    /// The places of the requests near `call`.
    fn range_near(&self, call: &NodeSpan) -> Range<usize> {
        let at = self.spans.partition_point(|request| request.begin <= call.begin);
        at.saturating_sub(REQUESTS_AROUND)..(at + REQUESTS_AROUND).min(self.spans.len())
    }
}

/// Nanoseconds by which the calls must be moved to lie within requests, at most `most` in either
/// direction; 0 if that cannot be determined.
fn difference(requests: &[NodeSpan], calls: &[NodeSpan], most: i64) -> i64 {
    let requests = AnsweredRequests::from_spans(requests);
    let calls: Vec<&NodeSpan> = calls.iter().filter(|call| call.end != OPEN).collect();
    let calls: Vec<&NodeSpan> =
        calls.iter().step_by(calls.len().div_ceil(MAX_SAMPLE).max(1)).copied().collect();
    let count = calls.len() as f64;
    let within = calls.iter().filter(|call| requests.cover(call, 0)).count() as f64 / count;
    if calls.len() < MIN_CALLS || requests.spans.len() < MIN_CALLS || within >= AGREED_SHARE {
        return 0;
    }
    // The intervals of clock differences with which each call lies within a request: the beginning
    // (1) and the end (-1) of each.
    let mut steps: Vec<(i64, i32)> = Vec::new();
    for call in &calls {
        let fits = |request: &NodeSpan| {
            let (from, to) =
                (request.begin.saturating_sub(call.begin), request.end.saturating_sub(call.end));
            (from <= to && from <= most && to >= -most).then_some((from, to))
        };
        let mut fits: Vec<(i64, i64)> =
            requests.spans[requests.range_near(call)].iter().filter_map(fits).collect();
        fits.sort_unstable();
        let mut until = i64::MIN;
        for (from, to) in fits {
            let from = from.max(until);
            if from <= to {
                steps.extend([(from, 1), (to + 1, -1)]);
                until = to + 1;
            }
        }
    }
    steps.sort_unstable();
    // Each interval of differences, and how many calls fit with it.
    let mut intervals: Vec<(i64, i64, i32)> = Vec::new();
    let mut fit = 0;
    for (place, (at, step)) in steps.iter().enumerate() {
        fit += step;
        match steps.get(place + 1) {
            Some((next, _)) if next > at => intervals.push((*at, next - 1, fit)),
            _ => {}
        }
    }
    let best = intervals.iter().map(|(.., fit)| f64::from(*fit)).fold(0.0, f64::max) / count;
    if best < BELIEVED_SHARE || best < within + MIN_GAIN {
        return 0;
    }
    let likely =
        intervals.iter().filter(|(.., fit)| f64::from(*fit) / count >= best - EQUAL_WITHIN);
    let least =
        likely.map(|(from, to, _)| 0_i64.clamp(*from, *to)).min_by_key(|by| (by.abs(), *by));
    least.filter(|by| by.abs() <= most).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use message_trace::{FROM_CONNECTING, Message, MessageTrace};

    use super::*;
    use crate::calls::{CallId, Calls, CandidateParents, LikelyParents};
    use crate::fixture::Fixture;
    use crate::infer::auto::AutoAlgorithm;
    use crate::infer::auto::tests::{MS, lot};
    use crate::infer::{Inference, InferenceInput};
    use crate::naming::Naming;
    use crate::options::Options;

    /// Requests of 10 ms in sequence, each with a call from 1 to 5 ms after its receipt, on a clock
    /// that is ahead by `ahead`.
    fn service(ahead: i64) -> Service {
        let mut service = Service { window: 2000 * MS, ..Service::default() };
        let mut begin = 0;
        for request in 0..100 {
            begin += 11 * MS + lot(request, 20 * MS);
            let call = begin + MS + lot(request + 500, MS) + ahead;
            service.requests.push(NodeSpan { begin, end: begin + 10 * MS, kind: 9 });
            service.calls.push(NodeSpan { begin: call, end: call + 3 * MS, kind: 1 });
        }
        service
    }

    fn aligned(mut service: Service, requests: &[u32], calls: &[u32]) -> Service {
        align(&mut service, &requests.iter().copied().collect(), &calls.iter().copied().collect());
        service
    }

    fn within(service: &Service) -> usize {
        let pairs = service.requests.iter().zip(&service.calls);
        pairs
            .filter(|(request, call)| request.begin <= call.begin && call.end <= request.end)
            .count()
    }

    #[test]
    fn calls_come_after_their_requests_for_any_difference_of_clocks() {
        for ahead in [-40, -3, -2, 7, 30] {
            let by_calls = aligned(service(ahead * MS), &[], &[1]);
            assert!(within(&by_calls) >= 99, "{ahead} {}", within(&by_calls));
            assert_eq!(by_calls.requests[5].begin, service(0).requests[5].begin);
            let by_requests = aligned(service(ahead * MS), &[9], &[]);
            assert!(within(&by_requests) >= 99, "{ahead} {}", within(&by_requests));
            assert_eq!(by_requests.calls[5].begin, service(ahead * MS).calls[5].begin);
        }
    }

    #[test]
    fn with_the_callers_times_alone_calls_have_their_parents() {
        // x calls front, which calls a, which calls b; front's clock is 5 ms slow.
        let mut plain = Fixture::new();
        let mut begin = 0;
        for request in 0..100 {
            begin += 11 * MS + lot(request, 20 * MS);
            let calls =
                [("x", "front", 0, 10), ("front", "a", -4, 4), ("a", "b", 2 + request % 2, 7)];
            for (hop, (from, to, asks, answered)) in (0..).zip(calls) {
                let (at, flow) = ([begin + asks * MS, begin + answered * MS], 3 * request + hop);
                plain.send(from, to, at[0], at[0]).on(flow);
                plain.send(to, from, at[1], at[1]).accepting().ports(80, 40_000).on(flow);
            }
        }
        let plain = plain.trace();
        let mut trace = MessageTrace::new(plain.nodes.clone());
        for message in plain.messages() {
            let of_caller = message.direction == FROM_CONNECTING;
            let [sent, received] = [of_caller, !of_caller].map(|is| message.send_ts.filter(|_| is));
            trace.push(
                &Message {
                    send_first: sent,
                    send_last: sent,
                    send_ts: sent,
                    recv_first: received,
                    recv_last: received,
                    recv_ts: received,
                    ..message
                },
                None,
            );
        }
        let (options, calls) = (Options::default(), Calls::from_trace(&trace));
        let links = AutoAlgorithm::default().infer_links(&InferenceInput::without_progress(
            &trace,
            &Naming::new(&trace, &options),
            &options,
        ));
        let parents = LikelyParents::from_links(
            &calls,
            &links,
            &CandidateParents::from_links(&calls, &links),
        );
        let flow = |call: CallId| trace.flow(calls.request(call).unwrap()).number();
        let parent = |call: &CallId| parents.of_call(*call).unwrap().call.map(flow);
        let is_right =
            |call: &CallId| parent(call) == Some(flow(*call) - 1).filter(|_| flow(*call) % 3 != 0);
        assert!(calls.iter().filter(is_right).count() >= 298);
    }

    #[test]
    fn clocks_that_agree_and_the_own_clock_are_not_shifted() {
        let begins =
            |service: &Service| service.calls.iter().map(|call| call.begin).collect::<Vec<_>>();
        for (ahead, kinds) in [(0, vec![1, 9]), (-3 * MS, vec![])] {
            let unmoved = aligned(service(ahead), &kinds, &kinds);
            assert_eq!(begins(&unmoved), begins(&service(ahead)));
        }
    }

    #[test]
    fn calls_for_no_request_shift_no_clock() {
        let mut of_timer = service(0);
        for (place, call) in (0..).zip(&mut of_timer.calls) {
            (call.begin, call.end) =
                (13 * MS * place + lot(place, 9 * MS), 13 * MS * place + 12 * MS);
        }
        let begin = of_timer.calls[7].begin;
        assert_eq!(aligned(of_timer, &[], &[1]).calls[7].begin, begin);
    }

    #[test]
    fn the_smallest_difference_is_chosen() {
        // Handwritten: requests from 0 to 10 every 100; calls from -4 to -1, which fit if shifted
        // by 4 to 11.
        let spans = |from: i64, to: i64| {
            (0..50)
                .map(|at| NodeSpan { begin: 100 * at + from, end: 100 * at + to, kind: 0 })
                .collect::<Vec<_>>()
        };
        assert_eq!(difference(&spans(0, 10), &spans(-4, -1), 1000), 4);
        assert_eq!(difference(&spans(0, 10), &spans(12, 14), 1000), -4);
        assert_eq!(difference(&spans(0, 10), &spans(0, 10), 1000), 0);
        // Calls longer than any request; a larger shift than is accepted; too few calls.
        assert_eq!(difference(&spans(0, 10), &spans(-4, 8), 1000), 0);
        assert_eq!(difference(&spans(0, 10), &spans(-44, -41), 3), 0);
        assert_eq!(difference(&spans(0, 10)[..19], &spans(-4, -1)[..19], 1000), 0);
    }
}
