//! Goroutines: who let whom go on is recorded each time, so what one does for another is followed
//! from one to the next, to the one that holds a request: that has received it and will answer it.
//!
//! - *Forwards*: who works for another lets it go on when the work is done. That is right for a
//!   worker that is always busy, too, whom nobody lets go on.
//! - *Backwards*: who works for another was let go on by it, or started by it, unless it was busy.
//!
//! Each call is looked at from its beginning and from its end. What most of these say is its
//! request, if that was open all the time. Who lets another go on may only have left a lock to it,
//! so one of them may name a stranger; least likely what is done first behind the answer.

use rustc_hash::FxHashMap;

use super::run::Found;
use crate::infer::auto::hand_offs::HandOff;
use crate::infer::auto::service::{OPEN, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::{MAX_STEPS, MIN_FOLLOWED};

/// The object of hand-offs between goroutines.
pub(super) const GOROUTINE: i64 = 0;

/// The requests of the calls of goroutines that hold none themselves. `None` where this is no
/// service of goroutines, or few calls lead to a request.
pub(super) fn of(service: &Service, hand_offs: &[HandOff]) -> Option<Vec<Found>> {
    let ways = Ways::of(service, hand_offs)?;
    let calls = 0..service.calls.len() as u32;
    let found: Vec<Found> = calls.filter_map(|call| ways.request(service, call)).collect();
    let is_rule = found.len() as f64 >= MIN_FOLLOWED * service.calls.len() as f64;
    is_rule.then_some(found)
}

/// Hand-offs that are between threads, where these are no goroutines.
pub(super) fn of_threads(hand_offs: &[HandOff]) -> &[HandOff] {
    let are_goroutines = hand_offs.iter().any(|hand_off| hand_off.object == GOROUTINE);
    if are_goroutines { &[] } else { hand_offs }
}

/// What goroutines hold, and whom they let go on.
struct Ways {
    /// The requests that each thread receives and answers itself: when from, until when, and which.
    holds: FxHashMap<u32, Vec<(i64, i64, u32)>>,
    /// When each thread let which other one go on.
    from: FxHashMap<u32, Vec<(i64, u32)>>,
    /// When each thread was let go on, and by which other one.
    to: FxHashMap<u32, Vec<(i64, u32)>>,
}

impl Ways {
    fn of(service: &Service, hand_offs: &[HandOff]) -> Option<Ways> {
        let mut ways = Ways {
            holds: FxHashMap::default(),
            from: FxHashMap::default(),
            to: FxHashMap::default(),
        };
        for hand_off in hand_offs.iter().filter(|hand_off| hand_off.object == GOROUTINE) {
            let HandOff { signalled, woken, from, to, .. } = *hand_off;
            ways.from.entry(from).or_default().push((signalled, to));
            ways.to.entry(to).or_default().push((woken, from));
        }
        if ways.from.is_empty() {
            return None;
        }
        for (request, (span, [receiver, answerer])) in
            (0..).zip(service.requests.iter().zip(&service.request_threads))
        {
            if receiver == answerer && span.end != OPEN && *receiver != UNKNOWN_THREAD {
                let held = (span.begin, span.end, request);
                ways.holds.entry(*receiver).or_default().push(held);
            }
        }
        let all = ways.from.values_mut().chain(ways.to.values_mut());
        all.for_each(|times| times.sort_unstable());
        ways.holds.values_mut().for_each(|held| held.sort_unstable());
        Some(ways)
    }

    /// The request of a call.
    fn request(&self, service: &Service, call: u32) -> Option<Found> {
        let span = service.calls[call as usize];
        let [maker, hearer] = *service.call_threads.get(call as usize)?;
        let is_answered = span.end != OPEN && !service.is_unsure(call);
        let until = if is_answered { span.end } else { span.begin };
        let found = |request, is_recorded| Found { call, request, rival: None, is_recorded };
        // Was it open all the time?
        let open = |request: &u32| {
            let of = service.requests[*request as usize];
            of.begin <= span.begin && of.end >= until
        };
        if let Some(own) = self.held(maker, span.begin).filter(open) {
            return Some(found(own, false));
        }
        let after_end = || match is_answered {
            true => self.held(hearer, span.end).or_else(|| self.forwards(hearer, span.end)),
            false => None,
        };
        let said = [
            after_end().filter(open),
            self.forwards(maker, span.begin).filter(open),
            self.backwards(maker, span.begin).filter(open),
        ];
        // Of as many, the first.
        let votes = |request: &u32| said.iter().flatten().filter(|said| *said == request).count();
        let most = said.iter().flatten().rev().max_by_key(|request| votes(request))?;
        Some(found(*most, votes(most) > 1))
    }

    /// The request that a thread holds at a time.
    fn held(&self, thread: u32, time: i64) -> Option<u32> {
        let held = self.holds.get(&thread)?;
        let last = held.partition_point(|(begin, ..)| *begin <= time).checked_sub(1)?;
        held.get(last).filter(|(_, end, _)| *end >= time).map(|(.., request)| *request)
    }

    /// The request of whom a thread lets go on next, or that one, and so on.
    fn forwards(&self, mut thread: u32, mut time: i64) -> Option<u32> {
        for _ in 0..MAX_STEPS {
            let next = self.from.get(&thread)?;
            (time, thread) = *next.get(next.partition_point(|(at, _)| *at < time))?;
            if let Some(request) = self.held(thread, time) {
                return Some(request);
            }
        }
        None
    }

    /// The request of who let a thread go on, or of who let that one, and so on.
    fn backwards(&self, mut thread: u32, mut time: i64) -> Option<u32> {
        for _ in 0..MAX_STEPS {
            let before = self.to.get(&thread)?;
            let last = before.partition_point(|(at, _)| *at <= time).checked_sub(1)?;
            (time, thread) = *before.get(last)?;
            if let Some(request) = self.held(thread, time) {
                return Some(request);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::span::Span;

    /// The first of the goroutines that hold requests, of those that write to connections, of those
    /// that read from these, and of workers.
    const HOLDERS: u32 = 1000;
    const WRITERS: u32 = 2000;
    const READERS: u32 = 3000;
    const WORKERS: u32 = 4000;

    fn lets_go_on(time: i64, from: u32, to: u32) -> HandOff {
        HandOff { signalled: time, woken: time, from, to, object: GOROUTINE }
    }

    /// A service whose requests overlap. Each asks over a connection that others write to and read
    /// from, and then has one of two workers, who are always busy, make a call. `locks` are left to
    /// strangers by workers that have just taken their work.
    fn made(locks: bool) -> (Service, Vec<HandOff>, Vec<u32>) {
        let mut service = Service { window: 1_000_000, ..Service::default() };
        let mut hand_offs = Vec::new();
        let mut calls: Vec<(Span, [u32; 2], u32)> = Vec::new();
        for request in 0..60_u32 {
            let begin = 100 * i64::from(request);
            let holder = HOLDERS + request % 7;
            service.requests.push(Span { begin, end: begin + 500, kind: 9 });
            service.request_threads.push([holder; 2]);
            service.request_calls.push(request);
            let (writer, reader) = (WRITERS + request % 5, READERS + request % 5);
            let asked = Span { begin: begin + 12, end: begin + 200, kind: 1 };
            calls.push((asked, [writer, reader], request));
            hand_offs.push(lets_go_on(begin + 10, holder, writer));
            hand_offs.push(lets_go_on(begin + 201, reader, holder));
            let worker = WORKERS + request % 2;
            let work = Span { begin: begin + 250, end: begin + 420, kind: 2 };
            calls.push((work, [worker; 2], request));
            if locks {
                // One that waits for the answer of another worker.
                hand_offs.push(lets_go_on(begin + 251, worker, HOLDERS + (request + 6) % 7));
            }
            hand_offs.push(lets_go_on(begin + 421, worker, holder));
        }
        calls.sort_by_key(|(span, ..)| span.begin);
        for (made, (span, threads, _)) in (100..).zip(&calls) {
            service.calls.push(*span);
            service.call_threads.push(*threads);
            service.made_calls.push(made);
        }
        hand_offs.sort_by_key(|hand_off| hand_off.signalled);
        (service, hand_offs, calls.iter().map(|(.., request)| *request).collect())
    }

    /// How many calls are given to the right request, and how many of them are known.
    fn right(service: &Service, hand_offs: &[HandOff], truth: &[u32]) -> [usize; 2] {
        let found = of(service, hand_offs).unwrap_or_default();
        let right = found.iter().filter(|found| truth[found.call as usize] == found.request);
        [right.clone().count(), right.filter(|found| found.is_recorded).count()]
    }

    #[test]
    fn calls_lead_to_those_who_wait_for_them() {
        let (service, hand_offs, truth) = made(false);
        // Those by connections are told both ways, those of workers at both ends.
        assert_eq!(right(&service, &hand_offs, &truth), [120, 120]);
        // Threads are looked at otherwise, as not all of it is recorded.
        let threads: Vec<HandOff> =
            hand_offs.iter().map(|hand_off| HandOff { object: 77, ..*hand_off }).collect();
        assert_eq!(of(&service, &threads), None);
        assert_eq!((of_threads(&threads).len(), of_threads(&hand_offs).len()), (180, 0));
    }

    #[test]
    fn a_lock_that_is_left_to_a_stranger_is_outvoted_or_doubted() {
        let (service, hand_offs, truth) = made(true);
        let found = right(&service, &hand_offs, &truth);
        assert_eq!(found, [120, 60]);
    }

    #[test]
    fn a_request_that_was_answered_before_is_not_that_of_a_call() {
        let (mut service, hand_offs, _) = made(false);
        service.requests.iter_mut().for_each(|request| request.end = request.begin + 11);
        assert_eq!(of(&service, &hand_offs), None);
    }
}
