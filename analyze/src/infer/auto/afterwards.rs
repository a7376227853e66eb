//! Post-reply work: logging, cache fills and notifications are calls that a request makes after its
//! response. They are found by the calls that are made while no request is open: if most of these
//! come within a short time after a response, which is a small part of all idle time, or if a call
//! follows most of the responses. If each request has a thread of its own ([`super::holders`]),
//! each thread is examined separately, since other threads nearly always have a request open.

use rustc_hash::FxHashMap;

use super::events::{ServiceEvent, events};
use super::service::{RequestId, Service};
use crate::tuning::auto::services::afterwards::{
    FOLLOWED_SHARE, MAX_CHANCE, MAX_GROWTH, MIN_CALLS, MIN_CALLS_BY_THREAD, MIN_DENSITY,
    ROOM_FACTOR, WITHIN_SHARE,
};

/// Calls that are made after the response.
#[derive(Debug, Default)]
pub(super) struct PostReplyWork {
    /// Time after the response during which calls may still be made for a request, in nanoseconds.
    pub(super) linger: i64,
    /// The kinds of these calls, sorted.
    pub(super) kinds: Vec<u32>,
}

/// State of a service, or of one of its threads.
#[derive(Debug, Default)]
struct ActivityState {
    /// Number of open requests.
    open: usize,
    /// Time of the last response, in nanoseconds.
    answered: Option<i64>,
    /// Number of calls made since the last response.
    made: usize,
}

/// Times after responses in which no request was open, and the calls that were made then.
#[derive(Debug, Default)]
struct IdleTimes {
    /// Nanoseconds from the last response to each call, and the kind of the call.
    calls: Vec<(i64, u32)>,
    /// Nanoseconds between a response and the next request.
    idle: Vec<i64>,
    /// Each of the idle times, with the number of calls made in it.
    windows: Vec<(i64, usize)>,
    /// Number of responses that a call followed.
    followed: usize,
}

/// Collects the idle times of a service; `by_thread`: of each thread separately.
fn idle_times(service: &Service, by_thread: bool) -> IdleTimes {
    let mut all: FxHashMap<u32, ActivityState> = FxHashMap::default();
    let receiver = |request: RequestId| match service.request_threads.get(request.index()) {
        Some([receiver, _]) if by_thread => *receiver,
        _ => 0,
    };
    let mut found = IdleTimes::default();
    for (time, event) in events(service) {
        match event {
            ServiceEvent::Receipt(request) => {
                let ActivityState { open, answered, made } =
                    all.entry(receiver(request)).or_default();
                if let Some(answer) = answered.filter(|_| *open == 0) {
                    found.idle.push(time.saturating_sub(answer));
                    found.windows.push((time.saturating_sub(answer), *made));
                }
                *open += 1;
            }
            ServiceEvent::Answer(_) => {}
            ServiceEvent::Reply(request) => {
                let ActivityState { open, answered, made } =
                    all.entry(receiver(request)).or_default();
                *open = open.saturating_sub(1);
                // The end of an abandoned request is not known.
                let is_answered = service.requests[request.index()].end <= time;
                (*answered, *made) = (is_answered.then_some(time), 0);
            }
            ServiceEvent::Call(call) => {
                let Some(doing) =
                    all.get_mut(&if by_thread { service.calling_thread(call) } else { 0 })
                else {
                    continue;
                };
                let Some(answer) = doing.answered.filter(|_| doing.open == 0) else { continue };
                found.calls.push((time.saturating_sub(answer), service.calls[call.index()].kind));
                found.followed += usize::from(doing.made == 0);
                doing.made += 1;
            }
        }
    }
    found
}

/// Finds the post-reply work of a `service` before anything is learned; `by_thread`: of each thread
/// separately.
pub(super) fn find_post_reply_work(service: &Service, by_thread: bool) -> PostReplyWork {
    let IdleTimes { mut calls, mut idle, windows, followed } = idle_times(service, by_thread);
    calls.retain(|(after, _)| *after <= service.window);
    if calls.len() < if by_thread { MIN_CALLS_BY_THREAD } else { MIN_CALLS } {
        return PostReplyWork::default();
    }
    calls.sort_unstable();
    idle.push(service.window);
    idle.sort_unstable();
    // Cumulative sums of the shortest idle times.
    let mut sums = vec![0.0];
    sums.extend(idle.iter().scan(0.0, |sum, time| {
        *sum += *time as f64;
        Some(*sum)
    }));
    let all = sums.last().copied().unwrap_or(0.0);
    let within = |after: i64| {
        let shorter = idle.partition_point(|time| *time <= after);
        sums[shorter] + (idle.len() - shorter) as f64 * after as f64
    };
    let mut best: Option<(f64, i64)> = None;
    for (at, (after, _)) in calls.iter().enumerate() {
        let of_calls = (at + 1) as f64 / calls.len() as f64;
        let of_time = within(*after) / all.max(1.0);
        let is_dense = of_calls >= WITHIN_SHARE && of_calls >= MIN_DENSITY * of_time;
        let is_enough = at + 1 >= MIN_CALLS || of_time.powi(at as i32 + 1) <= MAX_CHANCE;
        if is_dense && is_enough && best.is_none_or(|(most, _)| of_calls - of_time > most) {
            best = Some((of_calls - of_time, *after));
        }
    }
    let is_usual = calls.len() >= MIN_CALLS
        && followed as f64 >= FOLLOWED_SHARE * idle.len() as f64
        && !grow_with_idle_time(windows);
    let longest =
        best.map(|(_, after)| after).or(calls.last().map(|(after, _)| *after).filter(|_| is_usual));
    let Some(longest) = longest else { return PostReplyWork::default() };
    let linger = ((longest as f64 * ROOM_FACTOR) as i64).clamp(1, service.window.max(1));
    let mut kinds: Vec<u32> =
        calls.iter().filter(|(after, _)| *after <= linger).map(|(_, kind)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    PostReplyWork { linger, kinds }
}

/// Returns whether longer idle times have more calls, as with a timer, instead of a fixed number of
/// calls after each response.
fn grow_with_idle_time(mut windows: Vec<(i64, usize)>) -> bool {
    windows.sort_unstable();
    let (short, long) = windows.split_at(windows.len() / 2);
    let calls = |windows: &[(i64, usize)]| {
        windows.iter().map(|(_, calls)| *calls as f64).sum::<f64>() / windows.len().max(1) as f64
    };
    calls(long) > MAX_GROWTH * calls(short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::service::{MadeCallId, NodeSpan};

    const MS: i64 = 1_000_000;

    /// A request every 100 ms that takes 10 ms, with calls at these times after its receipt.
    fn service(calls: impl Fn(i64) -> Vec<i64>) -> Service {
        let mut service = Service { window: 2000 * MS, ..Service::default() };
        for request in 0..60_i64 {
            let begin = 100 * MS * request;
            service.requests.push(NodeSpan { begin, end: begin + 10 * MS, kind: 9 });
            let made = calls(request).into_iter().map(|at| begin + at);
            service.calls.extend(made.map(|begin| NodeSpan { begin, end: begin + MS, kind: 1 }));
        }
        service.calls.sort_by_key(|call| call.begin);
        service
    }

    #[test]
    fn calls_soon_after_the_response_are_for_the_request() {
        let found =
            find_post_reply_work(&service(|request| vec![5 * MS, (12 + request % 3) * MS]), false);
        assert_eq!((found.linger, found.kinds), (6 * MS, vec![1]));
    }

    #[test]
    fn threads_are_examined_separately_if_others_are_always_busy() {
        // One thread has a request open all the time; the other makes a call 1 ms after two of its
        // responses.
        let mut service = service(|request| if request % 30 == 7 { vec![11 * MS] } else { vec![] });
        service.requests.insert(0, NodeSpan { begin: -MS, end: 10_000 * MS, kind: 9 });
        service.request_threads = vec![[1; 2]; service.requests.len()];
        service.request_threads[0] = [2; 2];
        service.call_threads = vec![[1; 2]; service.calls.len()];
        assert_eq!(
            (
                find_post_reply_work(&service, false).linger,
                find_post_reply_work(&service, true).linger
            ),
            (0, 3 * MS / 2)
        );
    }

    #[test]
    fn a_request_is_open_until_its_response_is_sent() {
        let mut service = service(|_| vec![15 * MS]);
        service.answering = vec![6 * MS; service.requests.len()];
        let (request, call) = (RequestId::from_index(3), MadeCallId::from_index(3));
        let closed = service.requests[3].end + 6 * MS;
        assert!(service.covers(request, call) && service.closed_at(request) == closed);
        assert_eq!(find_post_reply_work(&service, false).linger, 0);
        service.answering = vec![4 * MS; service.requests.len()];
        assert!(!service.covers(request, call));
        assert_eq!(
            find_post_reply_work(&service, false).linger,
            3 * MS / 2,
            "counted from the last byte"
        );
    }

    #[test]
    fn calls_at_random_times_are_background_calls() {
        let at_any_time = |request: i64| match request % 4 {
            0 => vec![5 * MS, (request * 37 % 100) * MS],
            _ => vec![5 * MS],
        };
        let found = find_post_reply_work(&service(at_any_time), false);
        assert_eq!(found.linger, 0, "{found:?}");
        assert_eq!(find_post_reply_work(&service(|_| vec![5 * MS]), false).linger, 0);
    }
}
