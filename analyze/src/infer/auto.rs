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
//! by part in [`parts`], with what it finds at one event in [`at_event`] and [`continuations`]) with the
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
mod answered_by_another;
mod assign;
mod assignment;
mod at;
mod at_event;
#[cfg(test)]
mod backlog_tests;
mod beam;
mod beginnings;
mod connections;
mod continuations;
mod correlate;
mod density;
mod discipline;
mod doubted;
mod early;
mod estimate;
#[cfg(test)]
mod event_loop_tests;
mod events;
mod exchanges;
mod first_assignments;
mod fit;
mod fits;
mod flags;
mod groundwork;
#[cfg(test)]
mod handed_on_tests;
#[cfg(test)]
mod hard_tests;
mod holders;
mod idle;
mod in_turn;
mod jobs;
mod lattice;
mod learn;
mod learner;
mod message_links;
mod middle;
mod model;
mod node_clocks;
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
mod rounds;
mod search;
mod service;
mod service_parts;
mod services;
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

use registry::About;

use super::flags::WINDOW;
use super::inference::{AlgorithmEntry, Inference};
use super::input::Input;
use crate::doubts::{Doubt, Doubts};
use crate::links::Links;
use estimate::Known;
use groundwork::Groundwork;
use services::Services;
use size_kinds::SizeKinds;

use super::call_links::NONE;
use super::linking::{ITERATIONS, SPONTANEOUS_DELAY};

/// What auto says of itself.
pub(super) static ALGORITHM: AlgorithmEntry = AlgorithmEntry {
    about: About { name: "auto", summary: "learns each service", ..About::NOTHING },
    flags: &[&flags::WITHOUT, &WINDOW, &SPONTANEOUS_DELAY, &ITERATIONS],
    apply: flags::apply,
    begin: || Box::new(Auto::default()),
};

/// The algorithm of our own, with what it has learned of each node in the stretches of the trace so
/// far.
#[derive(Debug, Default)]
struct Auto {
    known: Vec<Option<Known>>,
    /// The sizes by which the calls of each node are told apart, as the first stretch with any had
    /// them.
    size_kinds: Vec<Option<SizeKinds>>,
    doubts: Doubts,
}

impl Inference for Auto {
    fn infer(&mut self, input: &Input<'_>) -> Links {
        let groundwork = Groundwork::of(input);
        let services = Services::of(input, &groundwork, &mut self.size_kinds);
        input.progress.step("learning services", services.calls());
        let assignments = assign::assign(&services.all, &mut self.known, input.progress);
        message_links::links(input, &groundwork, &services, &assignments, &mut self.doubts)
    }

    fn doubts(&self) -> Vec<Doubt> {
        self.doubts.told()
    }
}
