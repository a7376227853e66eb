//! Activations of the threads of a joined request, from its synchronisation points (Magpie,
//! sections 3.5 and 4).

use out_of_core::NameId;
use rustc_hash::FxHashMap;

use super::CanonicalRequest;
use super::plan::{ActivationPlan, SyncPoint, ThreadActivation};
use crate::joined_request::{JoinedEvent, JoinedRequest, SyncEdge};

/// The canonical form of a joined request. `role` returns the part that a thread plays, from the
/// event with which it starts or continues; it must not depend on ids ([`role_by_kind`]).
///
/// - A thread begins a new activation with its first event, and with each destination of a
///   synchronisation, even of its own signal: whether a thread itself or another one takes up what
///   it handed over is the scheduler's choice.
/// - The demands of an event are what its thread used up to the event. The demands of a destination
///   belong to the previous activation, if its thread has one in the request.
/// - Events that only show that a thread blocks change nothing: whether it had to block is random.
/// - An activation begins when all its sources were reached and, if another thread woke it, when
///   the previous one of its own thread ended.
/// - Activations that nothing woke and that wake nothing have an unknown role. Long ones are
///   separate, and all others count as one: the thread that an interrupt suspends is random.
pub fn canonicalize_joined(
    request: &JoinedRequest,
    role: impl FnMut(&JoinedEvent) -> NameId,
) -> CanonicalRequest {
    plan_of_joined(request, role).flatten()
}

/// The canonical form of a request of a recording: the form of [`canonicalize_joined`] without
/// threads that were woken for work that another had taken, and without waits that would be short
/// with unlimited processors. It is random whether such a wait takes place, and if it does not,
/// there is no event of it.
pub fn canonicalize_recorded(
    request: &JoinedRequest,
    role: impl FnMut(&JoinedEvent) -> NameId,
) -> CanonicalRequest {
    plan_of_joined(request, role).without_idle_wakes().without_needless_waits().flatten()
}

/// The activations of a request.
fn plan_of_joined(
    request: &JoinedRequest,
    mut role: impl FnMut(&JoinedEvent) -> NameId,
) -> ActivationPlan {
    let mut syncs = valid_syncs(request);
    let mut is_source = vec![false; request.events.len()];
    syncs.iter().for_each(|sync| is_source[sync.source as usize] = true);
    syncs.sort_unstable_by_key(|sync| (sync.destination, sync.source));
    let mut syncs = syncs.into_iter().peekable();

    let mut plan = ActivationPlan::default();
    let mut points: Vec<Option<SyncPoint>> = vec![None; request.events.len()];
    // Events that wake each activation. Their points in `points` are not known before all events
    // are processed.
    let mut sources: Vec<Vec<u32>> = Vec::new();
    let mut at: FxHashMap<(NameId, i32, i32), usize> = FxHashMap::default();
    let mut seed = None;
    for (number, event) in request.events.iter().enumerate() {
        let thread = thread_of(event);
        let mut now = at.get(&thread).copied();
        let mut charged = event.demands;
        let of = |sync: &SyncEdge| sync.destination as usize == number;
        if syncs.peek().is_some_and(of) {
            let previous = now;
            if let Some(activation) = now.and_then(|now| plan.activations.get_mut(now)) {
                activation.charge(std::mem::take(&mut charged));
            }
            let mut from = Vec::new();
            while let Some(sync) = syncs.next_if(of) {
                from.push(sync.source);
            }
            let is_own = |source: &u32| thread_of(&request.events[*source as usize]) == thread;
            let previous = previous.filter(|_| !from.iter().all(is_own));
            now = None;
            sources.push(from);
            plan.activations
                .push(ThreadActivation { previous, ..ThreadActivation::new(role(event), vec![]) });
        } else if now.is_none() {
            sources.push(Vec::new());
            plan.activations.push(ThreadActivation::new(role(event), vec![]));
        }
        let now = now.unwrap_or(plan.activations.len() - 1);
        at.insert(thread, now);
        let activation = &mut plan.activations[now];
        activation.charge(charged);
        if is_source[number] {
            points[number] = Some(SyncPoint { activation: now, work: activation.end_work() });
        }
        if event.kind == request.seed {
            seed.get_or_insert(now);
        }
    }
    for (activation, from) in plan.activations.iter_mut().zip(sources) {
        activation.sources = from.iter().filter_map(|source| points[*source as usize]).collect();
    }
    plan.seed = seed.unwrap_or(0);
    plan
}

/// The kind of an event as the role of the thread that starts or continues with it.
pub fn role_by_kind(event: &JoinedEvent) -> NameId {
    event.kind
}

/// The thread of an event, across hosts.
fn thread_of(event: &JoinedEvent) -> (NameId, i32, i32) {
    // Thread ids belong to the host: the process only distinguishes threads without an id.
    (event.host, event.thread, if event.thread == 0 { event.process } else { 0 })
}

/// Synchronisations between two different events of the request.
fn valid_syncs(request: &JoinedRequest) -> Vec<SyncEdge> {
    let is_there = |place: u32| (place as usize) < request.events.len();
    let syncs = request.syncs.iter().copied();
    syncs
        .filter(|sync| is_there(sync.source) && is_there(sync.destination))
        .filter(|sync| sync.source != sync.destination)
        .collect()
}
