//! How long after its answer calls are still made for a request: logging, cache fills and notifications come after the
//! response. They show where a call is made while no request is open: after a short time, mostly, in which little of the idle
//! time lies, or after most of the answers.

use super::service::{Event, Service, events};

/// Fewest calls outside any request to learn from.
const FEWEST: usize = 5;
/// The part of these calls that must be within the time that is learned,
const MOSTLY: f64 = 0.5;
/// and how many times as many they must be as the part of the idle time in it.
const DENSER: f64 = 3.0;
/// So large a part of the answers must be followed by such calls where the idle time tells nothing.
const FOLLOWED: f64 = 0.5;
/// and in longer idle times there may be so many times as many at most.
const MORE_WITH_TIME: f64 = 1.5;
/// Requests stay open for so many times as long as was seen.
const ROOM: f64 = 1.5;

/// What is known of calls that are made after the answer.
#[derive(Debug, Default)]
pub(super) struct Afterwards {
    /// For so many nanoseconds after its answer calls may be made for a request.
    pub(super) linger: i64,
    /// The kinds of these calls, sorted.
    pub(super) kinds: Vec<u32>,
}

/// What `service`, of which nothing is known yet, shows of calls after the answer.
pub(super) fn of(service: &Service) -> Afterwards {
    let (mut open, mut answered) = (0_usize, None);
    // How long after the last answer a call was made, its kind, and how long nothing was open after an answer.
    let mut calls: Vec<(i64, u32)> = Vec::new();
    let mut idle: Vec<i64> = Vec::new();
    // Of each time in which nothing was open: how long it was, and how many calls were made in it.
    let mut stretches: Vec<(i64, usize)> = Vec::new();
    let mut made = 0;
    let (mut followed, mut is_followed) = (0_usize, false);
    for (time, event) in events(service) {
        match event {
            Event::Receipt(_) => {
                if let Some(answer) = answered.filter(|_| open == 0) {
                    idle.push(time.saturating_sub(answer));
                    stretches.push((time.saturating_sub(answer), made));
                }
                open += 1;
                is_followed = false;
            }
            Event::Answer(_) => {}
            Event::Reply(request) => {
                open = open.saturating_sub(1);
                answered = Some(time);
                is_followed = false;
                made = 0;
                if service.requests[request as usize].end > time {
                    // It was given up: nobody knows when it was over.
                    answered = None;
                }
            }
            Event::Call(call) => {
                let Some(answer) = answered.filter(|_| open == 0) else { continue };
                calls.push((time.saturating_sub(answer), service.calls[call as usize].kind));
                made += 1;
                followed += usize::from(!std::mem::replace(&mut is_followed, true));
            }
        }
    }
    calls.retain(|(after, _)| *after <= service.window);
    if calls.len() < FEWEST {
        return Afterwards::default();
    }
    calls.sort_unstable();
    idle.push(service.window);
    let all: f64 = idle.iter().map(|time| *time as f64).sum();
    let mut best: Option<(f64, i64)> = None;
    for (at, (after, _)) in calls.iter().enumerate() {
        let of_calls = (at + 1) as f64 / calls.len() as f64;
        let of_time = idle.iter().map(|time| (*time).min(*after) as f64).sum::<f64>() / all.max(1.0);
        let is_dense = of_calls >= MOSTLY && of_calls >= DENSER * of_time;
        if is_dense && best.is_none_or(|(most, _)| of_calls - of_time > most) {
            best = Some((of_calls - of_time, *after));
        }
    }
    let is_usual = followed as f64 >= FOLLOWED * idle.len() as f64 && !come_with_time(stretches);
    let longest = best.map(|(_, after)| after).or(calls.last().map(|(after, _)| *after).filter(|_| is_usual));
    let Some(longest) = longest else { return Afterwards::default() };
    let linger = ((longest as f64 * ROOM) as i64).clamp(1, service.window.max(1));
    let mut kinds: Vec<u32> =
        calls.iter().filter(|(after, _)| *after <= linger).map(|(_, kind)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    Afterwards { linger, kinds }
}

/// Whether more calls are made in longer idle times, as a timer does, and not so many after each answer.
fn come_with_time(mut stretches: Vec<(i64, usize)>) -> bool {
    stretches.sort_unstable();
    let (short, long) = stretches.split_at(stretches.len() / 2);
    let calls = |stretches: &[(i64, usize)]| {
        stretches.iter().map(|(_, calls)| *calls as f64).sum::<f64>() / stretches.len().max(1) as f64
    };
    calls(long) > MORE_WITH_TIME * calls(short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::service::Span;

    const MS: i64 = 1_000_000;

    /// A request every 100 ms that takes 10, with calls at these times after it was received.
    fn service(calls: impl Fn(i64) -> Vec<i64>) -> Service {
        let mut service = Service { window: 2000 * MS, ..Service::default() };
        for request in 0..60_i64 {
            let begin = 100 * MS * request;
            service.requests.push(Span { begin, end: begin + 10 * MS, kind: 9 });
            let made = calls(request).into_iter().map(|at| begin + at);
            service.calls.extend(made.map(|begin| Span { begin, end: begin + MS, kind: 1 }));
        }
        service.calls.sort_by_key(|call| call.begin);
        service
    }

    #[test]
    fn calls_soon_after_the_answer_are_for_the_request() {
        let found = of(&service(|request| vec![5 * MS, (12 + request % 3) * MS]));
        assert_eq!((found.linger, found.kinds), (6 * MS, vec![1]));
    }

    #[test]
    fn calls_at_any_time_are_nobodys() {
        let found = of(&service(|request| match request % 4 {
            0 => vec![5 * MS, (request * 37 % 100) * MS],
            _ => vec![5 * MS],
        }));
        assert_eq!(found.linger, 0, "{found:?}");
        assert_eq!(of(&service(|_| vec![5 * MS])).linger, 0);
    }
}
