//! Goroutines: who let whom go on is recorded each time, so what one does for another is followed
//! from one to the next, to the one that holds a request: that has received it and will answer it.
//!
//! - *Forwards*: who works for another lets it go on when the work is done. That is right for a
//!   worker that is always busy, too, whom nobody lets go on.
//! - *Backwards*: who works for another was let go on by it, or started by it, unless it was busy.
//!   Who has made another call since, may have done that work.
//!
//! Each call is looked at from its beginning and from its end. What most hand-offs say is its
//! request, if that was open all the time; one that is found twice says it once. Who lets another
//! go on may only have left a lock to it, so one of them may name a stranger; least likely what is
//! done first behind the answer. Where no request has more than the others, the call is doubted.
//!
//! Some goroutines serve connections with several calls at once ([`shared`]), and some were started
//! for a request that others receive and answer ([`started`]).

mod in_order;
mod shared;
mod started;

use rustc_hash::{FxHashMap, FxHashSet};

use super::run::Found;
use crate::infer::auto::hand_offs::HandOff;
use crate::infer::auto::service::{OPEN, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::{CONTRADICTED_SHARE, MAX_STEPS, MIN_FOLLOWED};
use in_order::Times;

/// The object of hand-offs to goroutines that waited.
pub(super) const GOROUTINE: i64 = 0;
/// The object of hand-offs to goroutines that were started.
const STARTED: i64 = 1;

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
    if hand_offs.iter().any(is_of_goroutines) { &[] } else { hand_offs }
}

fn is_of_goroutines(hand_off: &HandOff) -> bool {
    [GOROUTINE, STARTED].contains(&hand_off.object)
}

/// What goroutines hold, and whom they let go on.
struct Ways {
    /// The requests that each thread receives and answers itself: when from, until when, and which.
    holds: FxHashMap<u32, Vec<(i64, i64, u32)>>,
    /// When each thread let which other one go on.
    from: FxHashMap<u32, Times>,
    /// When each thread was let go on or started, and by which other one.
    to: FxHashMap<u32, Times>,
    /// When each thread made a call.
    made: FxHashMap<u32, Vec<i64>>,
    /// When each thread received an answer.
    heard: FxHashMap<u32, Vec<i64>>,
    /// The threads that serve connections with several calls at once.
    shared: FxHashSet<u32>,
    /// Whom the answers that those have read let go on, by the calls.
    waited: FxHashMap<u32, (i64, u32)>,
    /// The threads that were started for a request that is not known.
    unknown: FxHashSet<u32>,
}

impl Ways {
    fn of(service: &Service, hand_offs: &[HandOff]) -> Option<Ways> {
        let mut ways = Ways {
            holds: FxHashMap::default(),
            from: FxHashMap::default(),
            to: FxHashMap::default(),
            made: FxHashMap::default(),
            heard: FxHashMap::default(),
            shared: shared::threads(service),
            waited: FxHashMap::default(),
            unknown: FxHashSet::default(),
        };
        let mut starts: FxHashMap<u32, Times> = FxHashMap::default();
        for hand_off in hand_offs.iter().filter(|hand_off| is_of_goroutines(hand_off)) {
            let HandOff { signalled, woken, from, to, object } = *hand_off;
            let of = if object == STARTED { &mut starts } else { &mut ways.from };
            of.entry(from).or_default().push((signalled, to));
            ways.to.entry(to).or_default().push((woken, from));
        }
        if ways.to.is_empty() {
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
        for (span, [maker, hearer]) in service.calls.iter().zip(&service.call_threads) {
            ways.made.entry(*maker).or_default().push(span.begin);
            ways.heard.entry(*hearer).or_default().push(span.end);
        }
        let all = ways.from.values_mut().chain(ways.to.values_mut());
        all.chain(starts.values_mut()).for_each(|times| times.sort_unstable());
        let all = ways.made.values_mut().chain(ways.heard.values_mut());
        all.for_each(|times| times.sort_unstable());
        let (started, unknown) = started::of(service, &starts, &ways.from);
        for (thread, request) in started {
            let span = service.requests[request as usize];
            ways.holds.entry(thread).or_default().push((span.begin, span.end, request));
        }
        ways.unknown = unknown;
        ways.holds.values_mut().for_each(|held| held.sort_unstable());
        ways.waited = shared::waited(service, &ways.from, &ways.shared);
        Some(ways)
    }

    /// The request of a call.
    fn request(&self, service: &Service, call: u32) -> Option<Found> {
        let span = service.calls[call as usize];
        let [maker, hearer] = *service.call_threads.get(call as usize)?;
        let is_answered = span.end != OPEN && !service.is_unsure(call);
        let until = if is_answered { span.end } else { span.begin };
        // Was it open all the time?
        let open = |request: &u32| {
            let of = service.requests[*request as usize];
            of.begin <= span.begin && of.end >= until
        };
        if let Some(request) = self.held(maker, span.begin).filter(open) {
            return Some(Found { call, request, rival: None, is_recorded: false });
        }
        let after_end = || match self.held(hearer, span.end) {
            Some(request) => Some(Said { request, by: None }),
            None if self.shared.contains(&hearer) => self.waiter(call),
            None => self.forwards(hearer, span.end),
        };
        // What is read or written together is a nanosecond apart.
        let is_alone = |times: &FxHashMap<u32, Vec<i64>>, thread: u32, time: i64| {
            times.get(&thread).is_none_or(|times| {
                between(times, time.saturating_sub(1), time.saturating_add(1)) < 2
            })
        };
        let begins = !self.shared.contains(&maker) && is_alone(&self.made, maker, span.begin);
        let ends = self.shared.contains(&hearer) || is_alone(&self.heard, hearer, span.end);
        let said = [
            (is_answered && ends).then(after_end).flatten(),
            begins.then(|| self.forwards(maker, span.begin)).flatten(),
            begins.then(|| self.backwards(maker, span.begin)).flatten(),
        ];
        let mut said: Vec<Said> = said.into_iter().flatten().collect();
        if said.len() > 1 && said[0] == said[1] {
            // Between beginning and end nobody was let go on, so it is the same hand-off.
            said.remove(1);
        }
        let is_only = said.len() == 1;
        said.retain(|said| open(&said.request));
        let votes = |request: u32| said.iter().filter(|said| said.request == request).count();
        // Of as many, the first.
        let request = said.iter().rev().max_by_key(|said| votes(said.request))?.request;
        let others = said.iter().map(|said| said.request).filter(|other| *other != request);
        let rival = others.rev().max_by_key(|other| votes(*other));
        let rival = rival.filter(|other| votes(*other) == votes(request));
        let rival = rival.map(|other| (other, CONTRADICTED_SHARE));
        let is_recorded = rival.is_none() && (is_only || votes(request) > 1);
        Some(Found { call, request, rival, is_recorded })
    }

    /// The request that a thread holds at a time.
    fn held(&self, thread: u32, time: i64) -> Option<u32> {
        let held = self.holds.get(&thread)?;
        let last = held.partition_point(|(begin, ..)| *begin <= time).checked_sub(1)?;
        held.get(last).filter(|(_, end, _)| *end >= time).map(|(.., request)| *request)
    }

    /// The request of who waits for the answer of a call, or of who started that one.
    fn waiter(&self, call: u32) -> Option<Said> {
        let (time, thread) = *self.waited.get(&call)?;
        let held = self.held(thread, time).map(|request| Said { request, by: None });
        let said = held.or_else(|| self.forwards(thread, time));
        said.or_else(|| self.backwards(thread, time - 1))
    }

    /// The request of whom a thread lets go on next, or that one, and so on.
    fn forwards(&self, mut thread: u32, mut time: i64) -> Option<Said> {
        let mut first = None;
        for _ in 0..MAX_STEPS {
            if self.shared.contains(&thread) || self.unknown.contains(&thread) {
                return None;
            }
            let next = self.from.get(&thread)?;
            let hand_off = *next.get(next.partition_point(|(at, _)| *at < time))?;
            first = first.or(Some((hand_off, thread)));
            (time, thread) = hand_off;
            if let Some(request) = self.held(thread, time) {
                return Some(Said { request, by: first });
            }
        }
        None
    }

    /// The request of who let a thread go on, or of who let that one, and so on.
    fn backwards(&self, mut thread: u32, mut time: i64) -> Option<Said> {
        let mut first = None;
        for _ in 0..MAX_STEPS {
            if self.shared.contains(&thread) || self.unknown.contains(&thread) {
                return None;
            }
            let before = self.to.get(&thread)?;
            let last = before.partition_point(|(at, _)| *at <= time).checked_sub(1)?;
            let hand_off = *before.get(last)?;
            let made = self.made.get(&thread);
            if made.is_some_and(|made| between(made, hand_off.0 + 1, time - 1) > 0) {
                return None;
            }
            first = first.or(Some((hand_off, thread)));
            (time, thread) = hand_off;
            if let Some(request) = self.held(thread, time) {
                return Some(Said { request, by: first });
            }
        }
        None
    }
}

/// How many of these times are from the one to the other, both included.
fn between(times: &[i64], first: i64, last: i64) -> usize {
    let until = times.partition_point(|time| *time <= last);
    until.saturating_sub(times.partition_point(|time| *time < first))
}

/// What is said of a call's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    request: u32,
    /// The hand-off that was followed first: when and with whom, and whose it was. `None` where a
    /// goroutine holds the request itself.
    by: Option<((i64, u32), u32)>,
}

#[cfg(test)]
mod tests;
