//! The algorithm of our own: which call was made for which request, from all that a black box shows
//! of a service. It learns from the trace itself how long after what each kind of call is made,
//! which calls a kind of request has and in which order, and whether those who wait are served in
//! turn; and it takes the assignment of all calls of a service that fits all of it best together.
//! Nothing is configured, and no call graph is given.
//!
//! Each part is a module: what a service sees ([`service`], from the trace in [`observe`], with
//! those that were not traced in [`middle`], and what is told of it beforehand in [`prepare`]),
//! which calls a timer makes ([`timers`]), what calls are made after ([`trigger`]), the densities
//! of delays ([`density`]), the shapes of requests ([`shapes`]), what threads prove ([`threads`],
//! [`holders`]), what connections and sizes do ([`connections`], [`sizes`]), what is known of a
//! service ([`model`]), how it is counted ([`learn`], [`discipline`]), the search ([`search`], part
//! by part in [`parts`], with what it finds at one event in [`at_event`] and [`ways`]) with the
//! probabilities that come of it ([`lattice`]), what is exchanged after it ([`exchanges`]), and how
//! model and assignment are brought to agree ([`estimate`], which also asks [`waits`], and measures
//! delays by [`thread_time`] where a thread has too much to do).
//!
//! Before that, what queues deliver is found ([`queues`]): it is caused by who sent it, and to who
//! gets it it is a request like others ([`jobs`]), whoever does it ([`pool`]). A process that was
//! started for a request is a call of the node that started it ([`spawned`]).
//!
//! Of messages that belong to no call, and of nodes whose messages are mostly not answered, message
//! linking says what can be said; but what an untraced node answered, or a process that was handed
//! the connection, is known by the connection or call id. A node that only passes messages on which
//! nobody answers is a service all the same ([`one_way`]), also where it finds what it is told of
//! before the message comes ([`early`]).

mod afterwards;
mod agreement;
mod at_event;
#[cfg(test)]
mod backlog_tests;
mod beam;
mod beginnings;
mod connections;
mod correlate;
mod density;
mod discipline;
mod early;
mod estimate;
#[cfg(test)]
mod event_loop_tests;
mod exchanges;
mod fits;
#[cfg(test)]
mod handed_on_tests;
#[cfg(test)]
mod hard_tests;
mod holders;
mod in_turn;
mod jobs;
mod lattice;
mod learn;
mod middle;
mod model;
mod observe;
mod offsets;
mod one_way;
mod parts;
mod pool;
#[cfg(test)]
mod pool_tests;
mod prepare;
mod process_tree;
mod promises;
#[cfg(test)]
mod queue_story;
#[cfg(test)]
mod queue_tests;
mod queues;
mod search;
mod service;
mod shapes;
mod size_kinds;
mod sizes;
mod spawned;
#[cfg(test)]
mod spawned_tests;
mod states;
#[cfg(test)]
mod tests;
mod thread_time;
mod threads;
mod timers;
mod together;
mod trigger;
mod waits;
mod ways;

use std::sync::Mutex;

use message_trace::{MessageTrace, Progress};
use out_of_core::workers::lock;
use rustc_hash::{FxHashMap, FxHashSet};

use super::call_links::{self, NONE};
use super::{Inference, Linking, Links};
use crate::calls::Calls;
use crate::doubts::{self, Doubt, DoubtCause, Doubts};
use crate::evidence::Evidence;
use crate::naming::Naming;
use crate::options::Options;
use estimate::Known;
use jobs::Jobs;
use out_of_core::workers;
use queues::Queues;
use search::Found;
use service::Service;
use size_kinds::SizeKinds;
use spawned::Spawned;

/// The algorithm of our own, with what it has learned of each node in the stretches of the trace so
/// far.
#[derive(Debug, Default)]
pub struct Auto {
    known: Vec<Option<Known>>,
    /// By which sizes the calls of each are told apart, as the first stretch with any had it.
    size_kinds: Vec<Option<SizeKinds>>,
    doubts: Doubts,
}

impl Inference for Auto {
    fn infer(
        &mut self,
        trace: &MessageTrace,
        naming: &Naming,
        options: &Options,
        progress: &dyn Progress,
    ) -> Links {
        let linked = Linking.infer(trace, naming, options, progress);
        let calls = Calls::of(trace);
        let queues = Queues::of(trace, naming, &calls, options.window);
        let jobs = Jobs::of(trace, naming, &calls, &queues, options.window);
        let spawned = Spawned::of(trace, naming, &calls, &jobs);
        let mut services = observe::services(trace, naming, &calls, &jobs, &spawned, options);
        let (mut early, mut asked) = (FxHashSet::default(), None);
        self.size_kinds.resize_with(services.len().max(self.size_kinds.len()), || None);
        for service in &mut services {
            one_way::end_requests(service, trace, &calls, &linked);
            early.extend(early::begin_with_work(service, trace, &calls, &mut asked));
            service.put_timers_aside();
        }
        drop(asked);
        together::together(&mut services, naming);
        for (service, kinds) in services.iter_mut().zip(&mut self.size_kinds) {
            if !service.calls.is_empty() && service.without.has(Evidence::Sizes) {
                kinds.get_or_insert_with(|| SizeKinds::of(service)).part(service);
            }
            if service.is_loop.is_some() {
                // Where none of them alone has enough of these requests, all together may.
                one_way::end_requests(service, trace, &calls, &linked);
            }
            service.prepare();
        }
        progress.step(
            "learning services",
            services.iter().map(|service| service.calls.len() as u64).sum(),
        );
        let found = self.all(&services, progress);
        let mut links = Links::spontaneous_only(trace.len());
        let mut own = vec![false; trace.len()];
        let mut of_early = Vec::new();
        for row in queues.deliveries() {
            queues.link(row, &mut links);
            own[row as usize] = true;
        }
        self.tell_shared(trace, naming, &calls);
        for (node, (service, found)) in services.iter().zip(&found).enumerate() {
            if service.is_answered() {
                let of_service = self.tell_unfit(service, naming.text(naming.nodes()[node].name));
                let shares = |call: usize| found.shares.get(call).into_iter().flatten().copied();
                call_links::of(
                    &calls,
                    service.node_calls(),
                    shares,
                    |message, parents, spontaneous| {
                        if !own[message] {
                            let (parents, spontaneous) =
                                doubted(&calls, message, parents, spontaneous, of_service);
                            match parents.iter().any(|(parent, _)| early.contains(parent)) {
                                true => of_early.push((message, parents, spontaneous)),
                                false => links.set(message, &parents, spontaneous),
                            }
                        }
                        own[message] = true;
                    },
                );
                for request in
                    service.timer_calls.iter().filter_map(|call| calls.request(*call as usize))
                {
                    links.set(request, &[], 1.0);
                    own[request] = true;
                }
            }
        }
        spawned.link(trace, naming, &calls, options.window, &mut links, &mut own);
        for message in (0..trace.len()).filter(|message| !own[*message]) {
            let begun_by = calls.begun_by(message);
            if let Some(request) =
                begun_by.or_else(|| answered_by_another(trace, naming, &calls, message))
            {
                links.set(message, &[(request as u32, 1.0)], 0.0);
                continue;
            }
            let parents: Vec<(u32, f64)> = linked.parents(message).collect();
            links.set(message, &parents, linked.spontaneous(message));
        }
        for (message, parents, spontaneous) in of_early {
            let (parents, spontaneous) = early::links(trace, &links, message, parents, spontaneous);
            links.set(message, &parents, spontaneous);
        }
        links
    }

    fn doubts(&self) -> Vec<Doubt> {
        self.doubts.told()
    }
}

/// The most that a doubt takes from a link: what is most likely stays so, and no more than that is
/// said of it.
const MOST_DOUBT: f64 = 0.45;

/// The parents of a message that a service sent, each with less probability as far as it is
/// doubtful which messages are of one call, or whether the service's calls are for its requests at
/// all.
fn doubted(
    calls: &Calls,
    message: usize,
    parents: &[(u32, f64)],
    spontaneous: f64,
    of_service: f64,
) -> (Vec<(u32, f64)>, f64) {
    let of_call = |message: usize| calls.doubt(calls.of_message(message));
    let own = of_call(message).max(of_service);
    let most = most_doubt(parents, spontaneous);
    let mut left = spontaneous;
    let parents = parents.iter().map(|(parent, probability)| {
        let doubt = own.max(of_call(*parent as usize)).min(most);
        left += doubt * probability;
        (*parent, (1.0 - doubt) * probability)
    });
    let parents = parents.collect();
    (parents, left)
}

/// The most that a doubt may take from each of these parents, so that the likeliest stays likelier
/// than none, if it is. Where several may be it, what is taken from all of them is soon more than
/// what one of them has.
fn most_doubt(parents: &[(u32, f64)], spontaneous: f64) -> f64 {
    // How near to that it may come.
    const BELOW: f64 = 0.9;
    let likeliest = parents.iter().map(|(_, probability)| *probability).fold(0.0, f64::max);
    let all: f64 = parents.iter().map(|(_, probability)| probability).sum();
    if likeliest <= spontaneous {
        return MOST_DOUBT;
    }
    (BELOW * (likeliest - spontaneous) / (likeliest + all)).min(MOST_DOUBT)
}

impl Auto {
    /// Notes how many calls of a service fit none of its requests; what that takes from the
    /// probability of its links.
    fn tell_unfit(&mut self, service: &Service, name: &str) -> f64 {
        if service.one_way || service.calls.is_empty() {
            return 0.0;
        }
        let (unfit, all) = (service.unfit_calls() as u64, service.calls.len() as u64);
        self.doubts.add(DoubtCause::FitsNoRequest, name, unfit, all);
        if doubts::is_large(unfit, all) { unfit as f64 / all as f64 } else { 0.0 }
    }

    /// Notes between whom calls share connections.
    fn tell_shared(&mut self, trace: &MessageTrace, naming: &Naming, calls: &Calls) {
        let mut seen: FxHashMap<u32, [u64; 2]> = FxHashMap::default();
        for call in 0..calls.len() {
            let Some(row) = calls.request(call) else { continue };
            let [doubtful, all] = seen.entry(naming.hop(row)).or_default();
            *doubtful += u64::from(calls.doubt(call) > 0.0 && trace.call_number(row).is_none());
            *all += 1;
        }
        for (hop, [doubtful, all]) in seen.into_iter().filter(|(_, [doubtful, _])| *doubtful > 0) {
            let hop = naming.hop_name(hop);
            let ends = format!("{} → {}", naming.text(hop.src), naming.text(hop.dst));
            self.doubts.add(DoubtCause::SharedConnection, &ends, doubtful, all);
        }
    }
}

/// The request that a message answers by its connection or call id, where no service tells: its
/// sender was not traced, or another process on the host got the request, and handed the connection
/// on to the sender.
fn answered_by_another(
    trace: &MessageTrace,
    naming: &Naming,
    calls: &Calls,
    message: usize,
) -> Option<usize> {
    let call = calls.of_message(message);
    let is_known = calls.response(call) == Some(message) && calls.is_paired_surely(trace, call);
    let (sender, node) = (naming.src(message), |node: u32| &naming.nodes()[node as usize]);
    calls.request(call).filter(|request| {
        let receiver = naming.dst(*request);
        let host = |id| trace.nodes.get(id).map(|node| &node.host);
        let [got, answers] = [trace.message(*request).dst, trace.message(message).src];
        is_known
            && (!node(sender).traced
                || sender != receiver && node(receiver).traced && host(got) == host(answers))
    })
}

impl Auto {
    /// What is found of each of `services`, on all processors, the largest first.
    fn all(&mut self, services: &[Service], progress: &dyn Progress) -> Vec<Found> {
        let mut order: Vec<usize> = (0..services.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(services[*at].calls.len()));
        self.known.resize_with(services.len().max(self.known.len()), || None);
        let known: Vec<Mutex<Option<Known>>> = self.known.drain(..).map(Mutex::new).collect();
        let found = workers::one_by_one(order.len(), |place| {
            let service = &services[order[place]];
            let mut known = lock(&known[order[place]]);
            if service.calls.is_empty() || !service.is_answered() {
                // Processes come and go; what is known of one that does nothing more is not kept.
                *known = None;
                return Found::default();
            }
            let (found, learned) = estimate::estimate(service, known.take());
            *known = Some(learned);
            found
        });
        self.known = known.into_iter().map(|known| lock(&known).take()).collect();
        let mut found: Vec<(usize, Found)> = order.into_iter().zip(found).collect();
        found.sort_unstable_by_key(|(at, _)| *at);
        progress.advance(services.iter().map(|service| service.calls.len() as u64).sum());
        found.into_iter().map(|(_, found)| found).collect()
    }
}

#[cfg(test)]
mod doubt_tests {
    use super::most_doubt;

    #[test]
    fn doubt_leaves_the_likeliest_of_several_parents_likelier_than_none() {
        for (parents, spontaneous) in
            [(vec![(1, 0.55), (2, 0.45)], 0.0), (vec![(1, 0.4), (2, 0.35)], 0.25)]
        {
            let doubt = most_doubt(&parents, spontaneous);
            let all: f64 = parents.iter().map(|(_, probability)| probability).sum();
            assert!(
                doubt > 0.0 && (1.0 - doubt) * parents[0].1 > spontaneous + doubt * all,
                "{doubt}"
            );
        }
        // One alone loses as much as before, and where none is likelier nothing is to be kept.
        assert!((most_doubt(&[(1, 1.0)], 0.0) - 0.45).abs() < 1e-9);
        assert!((most_doubt(&[(1, 0.3)], 0.7) - super::MOST_DOUBT).abs() < 1e-9);
    }
}
