//! Calls that others write for threads that hold requests. A thread that writes to a connection
//! takes along what others want to send there, so the thread of a call may hold no request, or the
//! writer may be a thread of a library. For whom it wrote is told by who waits: a thread that waits
//! for an answer does nothing else until it has come. So each signal that it gives shows since when
//! it waits at the earliest, and one that it gives between a call and its answer shows that the
//! call is not its. Of those that may have wanted a call, the one that waits longest has it. While
//! a connection is being made, calls wait elsewhere, and not in turn: those that were sent before
//! its first answer are doubted.
//!
//! Most calls must be made by the threads that hold their requests ([`holders`]), as these tell
//! which calls a request has, and which signals are given by threads that do not wait: a thread
//! that polls for others gives some while it waits itself.

use rustc_hash::{FxHashMap, FxHashSet};

use super::run::Found;
use crate::infer::auto::hand_offs::HandOff;
use crate::infer::auto::service::{OPEN, Service, UNKNOWN_THREAD};
use crate::infer::auto::strict::{self, Plans};
use crate::infer::auto::{NONE, holders};
use crate::tuning::auto::workers::waiting::{
    FIRST_RIVALS_SHARE, LAG, MAX_MISSING, MAX_WAITING, MIN_PLANNED, RIVALS_SHARE,
};

/// The requests of the calls that others wrote. `None` where most calls are not made by who holds
/// the request, or requests differ in their calls.
pub(super) fn of(service: &Service, hand_offs: &[HandOff]) -> Option<Vec<Found>> {
    if hand_offs.is_empty() {
        return None;
    }
    let held = holders::of(service);
    let mut written: Vec<u32> =
        (0..).zip(&held).filter(|(_, request)| **request == NONE).map(|(call, _)| call).collect();
    let is_answered = |call: &u32| service.calls[*call as usize].end != OPEN;
    written.retain(|call| is_answered(call) && !service.is_unsure(*call));
    if written.is_empty() {
        return None;
    }
    let plans = strict::plans(service, &held);
    let mut requests = Planned::of(service, &held, &plans)?;
    if requests.missing() as f64 > MAX_MISSING * written.len() as f64 {
        return None;
    }
    let acts = Acts::of(service, &held, hand_offs)?;
    let threads = Threads::of(service);
    written.sort_by_key(|call| (service.calls[*call as usize].begin, *call));
    let answered = first_answers(service);
    let mut before = None;
    let found = written.into_iter().filter_map(|call| {
        let begin = service.calls[call as usize].begin;
        let mut waiting: Vec<(i64, u32, usize)> = Vec::new();
        for (thread, request) in threads.holding(begin) {
            let place = requests.place(service, request, call);
            let since = place.and_then(|_| acts.waits_since(thread, service, call));
            waiting.extend(since.zip(place).map(|(since, place)| (since, request, place)));
        }
        waiting.sort_unstable();
        let (_, request, place) = *waiting.first()?;
        requests.of[request as usize][place].1 = call;
        let is_first = answered.get(call as usize).is_some_and(|answered| begin < *answered);
        let share = if is_first { FIRST_RIVALS_SHARE } else { RIVALS_SHARE };
        let next = waiting.get(1).map(|(_, request, _)| *request);
        let rival = next.or_else(|| before.filter(|_| is_first)).map(|rival| (rival, share));
        before = Some(request);
        Some(Found { call, request, rival, is_recorded: false })
    });
    Some(found.collect())
}

/// When the first call on the connection of each call was answered. Empty where no connection is
/// known.
fn first_answers(service: &Service) -> Vec<i64> {
    // The first call on the connection of each call.
    let mut first: Vec<u32> = Vec::new();
    let mut answered: FxHashMap<u32, i64> = FxHashMap::default();
    for (call, before) in (0..).zip(&service.call_before) {
        let of = first.get(*before as usize).copied().unwrap_or(call);
        first.push(of);
        let end = service.calls[call as usize].end;
        answered.entry(of).and_modify(|first| *first = end.min(*first)).or_insert(end);
    }
    first.iter().map(|of| answered.get(of).copied().unwrap_or(OPEN)).collect()
}

/// The calls that requests have, in their order.
struct Planned {
    /// For each request the kinds of its calls, and which calls these are; [`NONE`] where that is
    /// not known. Empty where the request has others.
    of: Vec<Vec<(u32, u32)>>,
}

impl Planned {
    /// The calls of `service`, with those that are `held`. `None` where requests of a kind differ.
    fn of(service: &Service, held: &[u32], plans: &Plans) -> Option<Planned> {
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
        Some(Planned { of })
    }

    /// Number of calls that requests should have, and that are not known.
    fn missing(&self) -> usize {
        self.of.iter().flatten().filter(|(_, call)| *call == NONE).count()
    }

    /// Where a call belongs among those of a request, if that has none there yet.
    fn place(&self, service: &Service, request: u32, call: u32) -> Option<usize> {
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

/// A request that a thread holds: when from, until when, and which.
type Held = (i64, i64, u32);

/// Which thread holds which request.
struct Threads(Vec<(u32, Vec<Held>)>);

impl Threads {
    fn of(service: &Service) -> Threads {
        let mut of: FxHashMap<u32, Vec<Held>> = FxHashMap::default();
        for (request, (span, [thread, _])) in
            (0..).zip(service.requests.iter().zip(&service.request_threads))
        {
            of.entry(*thread).or_default().push((span.begin, span.end, request));
        }
        let mut of: Vec<_> = of.into_iter().filter(|(of, _)| *of != UNKNOWN_THREAD).collect();
        of.sort_unstable();
        of.iter_mut().for_each(|(_, held)| held.sort_unstable());
        Threads(of)
    }

    /// The threads that hold a request at that time, each with it.
    fn holding(&self, time: i64) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().filter_map(move |(thread, held)| {
            let last = held.partition_point(|(begin, ..)| *begin <= time).checked_sub(1)?;
            let (_, end, request) = held.get(last)?;
            (*end >= time).then_some((*thread, *request))
        })
    }
}

/// When each thread did something that it does not do while it waits, in order.
struct Acts(FxHashMap<u32, Vec<i64>>);

impl Acts {
    /// `None` where threads that wait do what others do.
    fn of(service: &Service, held: &[u32], hand_offs: &[HandOff]) -> Option<Acts> {
        let mut waits: FxHashMap<u32, Vec<(i64, i64)>> = FxHashMap::default();
        for (call, _) in (0..).zip(held).filter(|(_, request)| **request != NONE) {
            let span = service.calls[call as usize];
            if span.end != OPEN {
                waits.entry(service.caller(call)).or_default().push((span.begin, span.end));
            }
        }
        waits.values_mut().for_each(|waits| waits.sort_unstable());
        // Shortly after a call the thread may still be on its way to where it waits.
        let is_late = |hand_off: &HandOff| {
            let waits = waits.get(&hand_off.from)?;
            let last = waits.partition_point(|(begin, _)| *begin <= hand_off.signalled);
            let (begin, end) = *waits.get(last.checked_sub(1)?)?;
            Some(hand_off.signalled > begin + (end - begin) / 2 && hand_off.signalled < end)
        };
        let mut seen: FxHashMap<i64, [usize; 2]> = FxHashMap::default();
        for hand_off in hand_offs.iter().filter(|hand_off| waits.contains_key(&hand_off.from)) {
            let [late, all] = seen.entry(hand_off.object).or_default();
            *late += usize::from(is_late(hand_off) == Some(true));
            *all += 1;
        }
        let is_act = |[late, all]: [usize; 2]| {
            all >= service.requests.len() && late as f64 <= MAX_WAITING * all as f64
        };
        let objects: FxHashSet<i64> =
            seen.into_iter().filter(|(_, seen)| is_act(*seen)).map(|(object, _)| object).collect();
        let mut acts: FxHashMap<u32, Vec<i64>> = FxHashMap::default();
        for hand_off in hand_offs.iter().filter(|hand_off| objects.contains(&hand_off.object)) {
            acts.entry(hand_off.from).or_default().push(hand_off.signalled);
        }
        for (span, [thread, _]) in service.requests.iter().zip(&service.request_threads) {
            acts.entry(*thread).or_default().push(span.begin);
        }
        acts.values_mut().for_each(|times| times.sort_unstable());
        (!objects.is_empty()).then_some(Acts(acts))
    }

    /// Since when a thread waits, if it does so until a call is answered.
    fn waits_since(&self, thread: u32, service: &Service, call: u32) -> Option<i64> {
        let span = service.calls[call as usize];
        let acts = self.0.get(&thread)?;
        let until = acts.partition_point(|act| *act <= span.begin.saturating_add(LAG));
        let is_idle = acts.get(until).is_none_or(|act| *act >= span.end);
        let last = acts.get(until.checked_sub(1)?)?;
        is_idle.then_some(*last)
    }
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
