//! Calls of timers, made for no request: health checks, heartbeats, polls. They recur at one
//! interval independently of requests. If they were assigned to requests, each one within a request
//! would be attributed to it.
//!
//! A kind of call belongs to a timer if nearly all of its gaps have one length, no kind of request
//! recurs at that interval or at one in a simple proportion to it, and calls of the kind are made
//! as often while the node is idle as otherwise. All three conditions are required. So calls for
//! requests that arrive at even intervals stay with their requests, and so does post-reply work.

use rustc_hash::FxHashMap;

use super::service::{NodeSpan, OPEN};
use crate::tuning::auto::services::timers::{
    EVEN_SHARE, EVEN_WITHIN, IDLE_SHARE, MAX_RATIO, MIN_CALLS,
};

/// For each of `calls`, whether a timer made it. Both are sorted by their beginnings; `window` is
/// how long a request without a response is considered open, in nanoseconds.
pub(super) fn timer_calls(requests: &[NodeSpan], calls: &[NodeSpan], window: i64) -> Vec<bool> {
    let kinds = begins_by_kind(calls);
    let of_requests: Vec<i64> =
        begins_by_kind(requests).into_values().filter_map(|begins| interval(&begins)).collect();
    let mut idle: Option<IdlePeriods> = None;
    let mut is_timer: FxHashMap<u32, bool> = FxHashMap::default();
    for (kind, begins) in kinds {
        let Some(interval) = interval(&begins) else { continue };
        // Every second or third request may make the call, or two calls may be made for each.
        let is_asked = of_requests.iter().any(|of| {
            let proportions =
                (1..=MAX_RATIO).flat_map(|calls| (1..=MAX_RATIO).map(move |asked| (calls, asked)));
            let mut spans = proportions
                .map(|(calls, asked)| (calls as f64 * interval as f64, asked as f64 * *of as f64));
            spans.any(|(calls, asked)| (calls - asked).abs() <= EVEN_WITHIN * asked)
        });
        if !is_asked
            && idle
                .get_or_insert_with(|| IdlePeriods::from_requests(requests, window))
                .has_enough_of(&begins)
        {
            is_timer.insert(kind, true);
        }
    }
    calls.iter().map(|call| is_timer.contains_key(&call.kind)).collect()
}

/// The beginnings of the spans of each kind.
fn begins_by_kind(spans: &[NodeSpan]) -> FxHashMap<u32, Vec<i64>> {
    let mut kinds: FxHashMap<u32, Vec<i64>> = FxHashMap::default();
    for span in spans {
        kinds.entry(span.kind).or_default().push(span.begin);
    }
    kinds
}

/// The interval at which these times recur, in nanoseconds; `None` if they do not.
fn interval(begins: &[i64]) -> Option<i64> {
    if begins.len() < MIN_CALLS {
        return None;
    }
    let mut gaps: Vec<i64> = begins.windows(2).map(|two| two[1].saturating_sub(two[0])).collect();
    let middle = gaps.len() / 2;
    let (_, median, _) = gaps.select_nth_unstable(middle);
    let median = *median;
    let even = gaps
        .iter()
        .filter(|gap| ((**gap - median) as f64).abs() <= EVEN_WITHIN * median as f64)
        .count();
    (median > 0 && even as f64 >= EVEN_SHARE * gaps.len() as f64).then_some(median)
}

/// Times at which a node is idle.
struct IdlePeriods {
    /// From the end of all earlier requests to the beginning of the next one, in order, in
    /// nanoseconds.
    spans: Vec<(i64, i64)>,
}

impl IdlePeriods {
    fn from_requests(requests: &[NodeSpan], window: i64) -> IdlePeriods {
        let mut spans = Vec::new();
        let mut busy = i64::MIN;
        for request in requests {
            if request.begin > busy {
                spans.push((busy, request.begin));
            }
            let end = if request.end == OPEN {
                request.begin.saturating_add(window)
            } else {
                request.end
            };
            busy = busy.max(end);
        }
        spans.push((busy, i64::MAX));
        IdlePeriods { spans }
    }

    /// Returns whether enough of the calls that begin at these times do so while the node is idle.
    fn has_enough_of(&self, begins: &[i64]) -> bool {
        let (Some(first), Some(last)) = (begins.first(), begins.last()) else { return false };
        let within =
            |(from, to): (i64, i64)| (to.min(*last).saturating_sub(from.max(*first))).max(0) as f64;
        let idle: f64 = self.spans.iter().map(|span| within(*span)).sum();
        let share = idle / last.saturating_sub(*first).max(1) as f64;
        let when_idle = begins.iter().filter(|begin| {
            let next = self.spans.partition_point(|(_, to)| to <= *begin);
            self.spans.get(next).is_some_and(|(from, _)| from < *begin)
        });
        let (when_idle, expected) = (when_idle.count() as f64, share * begins.len() as f64);
        // A few are by chance.
        when_idle >= MIN_CALLS as f64 / 4.0 && when_idle >= IDLE_SHARE * expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::tests::{MS, lot};

    /// Requests of one kind that begin at these tenths of a millisecond and take `took`
    /// milliseconds, or spans of calls.
    fn spans(begins: impl Iterator<Item = i64>, took: i64) -> Vec<NodeSpan> {
        let span = |begin: i64| NodeSpan {
            begin: begin * MS / 10,
            end: begin * MS / 10 + took * MS,
            kind: 1,
        };
        begins.map(span).collect()
    }

    fn timers(requests: &[NodeSpan], calls: &[NodeSpan]) -> usize {
        timer_calls(requests, calls, 1000 * MS).into_iter().filter(|is_timer| *is_timer).count()
    }

    #[test]
    fn calls_at_one_interval_independent_of_requests_belong_to_a_timer() {
        // About every 10 ms; requests every 15 to 25 ms, which take 5 ms.
        let requests = spans((0..100).map(|at| 200 * at + lot(at, 100)), 5);
        let every = |jitter| spans((0..150).map(|at| 100 * at + lot(at, jitter)), 1);
        assert_eq!(timers(&requests, &every(5)), 150);
        assert_eq!(timers(&requests, &every(60)), 0, "at no interval");
        assert_eq!(timers(&requests, &every(5)[..MIN_CALLS - 1]), 0, "too few calls");
        // Two kinds are examined separately.
        let mut both = every(5);
        both.extend(
            spans((0..100).map(|at| 200 * at + lot(at, 100) + 10), 2)
                .iter()
                .map(|call| NodeSpan { kind: 2, ..*call }),
        );
        both.sort_by_key(|call| call.begin);
        assert_eq!(timers(&requests, &both), 150);
        assert!(
            timer_calls(&requests, &both, MS)
                .iter()
                .zip(&both)
                .all(|(is_timer, call)| *is_timer == (call.kind == 1))
        );
    }

    #[test]
    fn calls_caused_by_requests_belong_to_no_timer() {
        let every =
            |times: i64, after: i64, took| spans((0..100).map(|at| 100 * times * at + after), took);
        // Requests arrive at one interval, and so do their calls, each within its own request or,
        // conversely, after its response.
        for (times, after) in [(1, 20), (1, 70), (2, 70), (3, 70)] {
            assert_eq!(timers(&every(1, 0, 5), &every(times, after, 1)), 0, "{times} {after}");
        }
        // Two for each request, the second after its response; and one after every fifth.
        let mut two: Vec<NodeSpan> = every(1, 20, 1).into_iter().chain(every(1, 70, 1)).collect();
        two.sort_by_key(|call| call.begin);
        assert_eq!(timers(&every(1, 0, 5), &two), 0);
        assert_eq!(timers(&every(1, 0, 5), &every(5, 70, 1)[..20]), 0);
        // The requests of many kinds, none at an interval of its own: the node is never idle when
        // calls are made.
        let mut requests = every(1, 0, 5);
        requests
            .iter_mut()
            .enumerate()
            .for_each(|(at, request)| request.kind = lot(at as i64, 9) as u32);
        assert_eq!(timers(&requests, &every(1, 20, 1)), 0);
        // A node that is always busy has no timers either.
        let requests = spans((0..100).map(|at| 200 * at + lot(at, 100)), 50);
        assert_eq!(timers(&requests, &every(1, 0, 1)), 0);
        // A request without a response is open for the whole window.
        let open: Vec<NodeSpan> =
            requests.iter().map(|request| NodeSpan { end: OPEN, ..*request }).collect();
        assert_eq!((timers(&open, &every(1, 0, 1)), timers(&[], &[])), (0, 0));
    }

    #[test]
    fn times_at_the_ends_of_the_range_do_not_overflow() {
        for times in [[i64::MIN, i64::MAX], [i64::MAX - 90, i64::MAX], [0, 0]] {
            let begins = (0..60).map(|at| times[usize::from(at >= 30)].saturating_add(at));
            let mut all: Vec<NodeSpan> =
                begins.map(|begin| NodeSpan { begin, end: OPEN, kind: 1 }).collect();
            all.sort_by_key(|span| span.begin);
            assert_eq!(timers(&all, &all), 0);
        }
    }
}
