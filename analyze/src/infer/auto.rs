//! The algorithm of our own: which call was made for which request, from all that a black box shows of a service. It
//! learns from the trace itself how long after what each kind of call is made, which calls a kind of request has and in
//! which order, and whether those who wait are served in turn; and it takes the assignment of all calls of a service
//! that fits all of it best together. Nothing is configured, and no call graph is given.
//!
//! Each part is a module: what a service sees ([`service`]), what calls are made after ([`trigger`]), the densities of
//! delays ([`density`]), the shapes of requests ([`shapes`]), what is known of a service ([`model`]), how it is counted
//! ([`learn`], [`discipline`]), the search ([`search`]) with the probabilities that come of it ([`lattice`]), and how
//! model and assignment are brought to agree ([`estimate`]).
//!
//! Of nodes that were not traced, of messages that belong to no call, and of nodes whose messages are mostly not answered,
//! message linking says what can be said.

mod density;
mod discipline;
mod estimate;
mod lattice;
mod learn;
mod model;
mod search;
mod service;
mod shapes;
#[cfg(test)]
mod tests;
mod trigger;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use message_trace::{MessageTrace, Progress};

use super::{Inference, Linking, Links};
use crate::calls::Calls;
use crate::naming::Naming;
use crate::options::Options;
use search::Found;
use service::Service;

/// Stands for no request, no call.
const NONE: u32 = u32::MAX;
/// The least probability that is worth a link.
const LEAST: f64 = 0.005;
/// The most possible parents of a message.
const MOST: usize = 5;

/// The algorithm of our own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Auto;

impl Inference for Auto {
    fn infer(
        &self,
        trace: &MessageTrace,
        naming: &Naming,
        options: &Options,
        progress: &dyn Progress,
    ) -> Links {
        let linked = Linking.infer(trace, naming, options, progress);
        let calls = Calls::of(trace);
        let services = service::services(trace, naming, &calls, options);
        progress.step("learning services", services.iter().map(|service| service.calls.len() as u64).sum());
        let found = all(&services, progress);
        let mut own: Vec<Option<Parents>> = Vec::new();
        own.resize_with(trace.len(), || None);
        for (service, found) in services.iter().zip(&found) {
            if service.is_answered() {
                parents(service, found, &calls, &mut own);
            }
        }
        let mut links = Links::spontaneous_only(trace.len());
        links.reserve(own.iter().flatten().map(|own| own.0.len()).sum());
        for (message, own) in own.into_iter().enumerate() {
            match own {
                Some((parents, spontaneous)) => links.set(message, &parents, spontaneous),
                None => {
                    let parents: Vec<(u32, f64)> = linked.parents(message).collect();
                    links.set(message, &parents, linked.spontaneous(message));
                }
            }
        }
        links
    }
}

/// The possible parents of a message, and the probability that it has none.
type Parents = (Vec<(u32, f64)>, f64);

/// What is found of each of `services`, on all processors, the largest first.
fn all(services: &[Service], progress: &dyn Progress) -> Vec<Found> {
    let mut order: Vec<usize> = (0..services.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(services[*at].calls.len()));
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let service = &services[*at];
            let is_empty = service.calls.is_empty() || !service.is_answered();
            let found = if is_empty { Found::default() } else { estimate::estimate(service) };
            results.lock().unwrap_or_else(PoisonError::into_inner).push((*at, found));
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(services.len());
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(at, _)| *at);
    progress.advance(services.iter().map(|service| service.calls.len() as u64).sum());
    results.into_iter().map(|(_, found)| found).collect()
}

/// Adds the parents of the requests that `service` sent and of its responses. The parent is what the service received
/// last of the same request: the request itself, or the response to a call that was made for it.
fn parents(service: &Service, found: &Found, calls: &Calls, own: &mut [Option<Parents>]) {
    let best: Vec<u32> =
        found.shares.iter().map(|shares| likeliest(shares).map_or(NONE, |best| best.0)).collect();
    let made = service::made_for(service, &best);
    // What was received last for a request, of the calls before one, until a time: the message, and the call that it is
    // the response of. A call to oneself is not for its own request.
    let last = |request: u32, before: u32, time: i64| {
        let made = &made[request as usize];
        let made = service::recent(made.split_at(made.partition_point(|call| *call < before)).0);
        let own = service.request_calls[request as usize];
        let ended = made.iter().filter(|call| service.calls[**call as usize].end <= time);
        let ended = ended.filter(|call| service.made_calls[**call as usize] != own);
        let response = ended
            .max_by_key(|call| service.calls[**call as usize].end)
            .and_then(|call| Some((calls.response(service.made_calls[*call as usize] as usize)?, *call)));
        match response {
            Some((row, call)) => Some((row as u32, call)),
            None => Some((calls.request(service.request_calls[request as usize] as usize)? as u32, NONE)),
        }
    };
    for (call, shares) in found.shares.iter().enumerate() {
        let Some(row) = calls.request(service.made_calls[call] as usize) else { continue };
        // By a clock that went back a call may seem to be made before its request.
        let possible = |request: u32| {
            let cause = calls.request(service.request_calls[request as usize] as usize);
            cause.is_some_and(|cause| cause < row)
        };
        let none: f64 = shares.iter().filter(|(request, _)| *request == NONE).map(|(_, share)| share).sum();
        let mut kept: Vec<(u32, f64)> =
            shares.iter().copied().filter(|(request, _)| *request != NONE).collect();
        kept.retain(|(request, _)| possible(*request));
        kept.sort_by(|one, other| other.1.total_cmp(&one.1));
        kept.truncate(MOST);
        kept.retain(|(_, share)| *share >= LEAST || none < LEAST);
        let parents: Vec<(u32, f64)> = kept
            .into_iter()
            .filter_map(|(request, share)| {
                Some((last(request, call as u32, service.calls[call].begin)?.0, share))
            })
            .collect();
        // What is left out is shared by those that stay.
        let sum: f64 = parents.iter().map(|(_, share)| share).sum();
        let caused = if sum > 0.0 { (1.0 - none).clamp(0.0, 1.0) } else { 0.0 };
        let parents = parents.into_iter().map(|(parent, share)| (parent, share / sum * caused));
        own[row] = Some((parents.filter(|(_, share)| *share > 0.0).collect(), 1.0 - caused));
    }
    for (request, span) in service.requests.iter().enumerate() {
        let call = service.request_calls[request] as usize;
        let (Some(asked), Some(answer)) = (calls.request(call), calls.response(call)) else { continue };
        if span.end == service::OPEN || span.end < span.begin {
            continue;
        }
        let parents = match made.get(request).and_then(|_| last(request as u32, NONE, span.end)) {
            Some((row, of)) if of != NONE => {
                let sure = found.shares.get(of as usize).and_then(|shares| likeliest(shares));
                let sure = sure.map_or(1.0, |(_, share)| share.min(1.0));
                vec![(row, sure), (asked as u32, 1.0 - sure)]
            }
            _ => vec![(asked as u32, 1.0)],
        };
        own[answer] = Some((parents.into_iter().filter(|(_, share)| *share > 0.0).collect(), 0.0));
    }
}

/// The request that a call is most likely for, unless it is likelier for none.
fn likeliest(shares: &[(u32, f64)]) -> Option<(u32, f64)> {
    shares
        .iter()
        .copied()
        .max_by(|one, other| one.1.total_cmp(&other.1))
        .filter(|(request, _)| *request != NONE)
}
