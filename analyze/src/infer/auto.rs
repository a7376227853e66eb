//! The algorithm `auto` finds the request that each call was made for, from everything that can be
//! observed of a service from outside. It learns from the trace itself the delay after which each
//! kind of call is made, which calls a kind of request makes and in which order, and whether
//! waiting requests are served first in, first out. It chooses the assignment of all calls of a
//! service that has the best score under all of this. Nothing is configured, and no call graph is
//! given.
//!
//! The files by step:
//!
//! - **Groundwork** of a batch ([`groundwork`]): message linking, calls, and deliveries of queues
//!   ([`queues`], [`in_turn`]).
//! - **Services** ([`services`], [`service`]): requests and calls of each node ([`observe`],
//!   [`node_clocks`], [`offsets`]), with untraced nodes ([`middle`]), jobs out of queues ([`jobs`],
//!   [`pool`]), processes that were started for a request ([`spawned`], [`process_tree`]), one-way
//!   messages ([`one_way`]) and work that starts before the message that announces it ([`early`]).
//!   Tracers may record the request of a call ([`traced`]), and a call may share rare words with
//!   its request ([`words`]). Calls of timers are set apart
//!   ([`timers`]), thread pools are looked for ([`workers`], with recorded [`hand_offs`]),
//!   processes of one program are pooled ([`together`]), calls are distinguished by their operation
//!   ([`operation_kinds`]) or by size ([`size_kinds`]), and other properties are derived before
//!   learning ([`prepare`], [`afterwards`], [`holders`], [`fits`]). Messages that one system call
//!   sent or received are put in order ([`side_by_side`]).
//! - **FIFO services** ([`strict`]) need no model. Nearly FIFO services ([`nearly_in_turn`]) are
//!   resolved by the order at both ends where the model is ambiguous.
//! - **Learning** ([`estimate`]): restarts ([`beginnings`], [`first_assignments`], [`correlate`],
//!   [`waits`]), their consensus ([`agreement`]), and EM iterations ([`rounds`], [`learner`]).
//! - **Model** ([`model`], [`fit`]): delays ([`density`]) after triggers ([`trigger`]), shapes of
//!   requests ([`shapes`]), the order of service ([`discipline`]), and the evidence of threads,
//!   connections, sizes and the ends of calls ([`threads`], [`connections`], [`sizes`],
//!   [`promises`]). It is learned from an assignment ([`learn`], [`idle`]), in the time of a thread
//!   if the thread is overloaded ([`thread_time`]).
//! - **Search** ([`search`]) through the events of a service ([`events`]), part by part
//!   ([`parts`]): hypotheses ([`beam`], [`states`], [`event_cache`], [`continuations`]),
//!   probabilities ([`lattice`]), and exchanges after it ([`exchanges`]).
//! - **Links** of all messages ([`message_links`]), with what decided them ([`decided`]) and
//!   warnings about them ([`doubted`], [`heard_last`]). Messages that belong to no call, or to
//!   nodes that mostly do not answer, keep the links of message linking, unless the connection or
//!   call id gives more evidence ([`answered_by_another`]).

mod afterwards;
mod agreement;
mod answered_by_another;
mod assign;
mod assignment;
#[cfg(test)]
mod backlog_tests;
mod beam;
mod beginnings;
mod connections;
mod continuations;
mod correlate;
mod decided;
mod delivering_kinds;
mod density;
mod discipline;
mod doubted;
mod early;
mod estimate;
mod event_cache;
#[cfg(test)]
mod event_loop_tests;
mod events;
mod exchanges;
mod first_assignments;
mod fit;
mod fits;
#[cfg(test)]
mod fits_tests;
mod flags;
mod groundwork;
mod hand_offs;
#[cfg(test)]
mod handed_on_tests;
#[cfg(test)]
mod hard_tests;
mod heard_last;
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
mod nearly_in_turn;
mod node_clocks;
mod observe;
mod offsets;
mod one_way;
mod operation_kinds;
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
mod request_state;
mod rounds;
mod search;
mod service;
mod service_parts;
mod services;
mod shapes;
mod side_by_side;
mod size_kinds;
mod sizes;
mod spawned;
#[cfg(test)]
mod spawned_tests;
mod states;
mod strict;
#[cfg(test)]
mod tests;
mod thread_numbers;
mod thread_time;
mod threads;
mod timers;
mod together;
mod traced;
#[cfg(test)]
mod traced_tests;
mod trigger;
mod waits;
mod words;
#[cfg(test)]
mod words_tests;
mod workers;

use clap::Args;
use message_trace::MessageId;
use registry::{EntryHelp, Spec};

use super::inference::{AlgorithmEntry, AlgorithmSpec, Inference, read_flags};
use super::input::InferenceInput;
use crate::links::Links;
use crate::warnings::{PathWarning, WarningCounts};
use estimate::LearnedModel;
use flags::AutoFlags;
use groundwork::Groundwork;
use operation_kinds::OperationKinds;
use services::Services;
use size_kinds::SizeKinds;

/// The registry entry of `auto`.
pub(super) static ALGORITHM: AlgorithmSpec = Spec {
    about: EntryHelp { name: "auto", summary: "learns each service", ..EntryHelp::NOTHING },
    flags: AutoFlags::augment_args,
    entry: AlgorithmEntry {
        read_flags: read_flags::<AutoFlags>,
        begin: || Box::new(AutoAlgorithm::default()),
    },
};

/// The algorithm `auto`, with the models that it learned of each node in the batches of the trace
/// so far.
#[derive(Debug, Default)]
struct AutoAlgorithm {
    models: Vec<Option<LearnedModel>>,
    /// The kinds of requests and calls by their operations.
    operation_kinds: OperationKinds,
    /// The sizes by which the calls of each node are distinguished, from the first batch that had
    /// any.
    size_kinds: Vec<Option<SizeKinds>>,
    warning_counts: WarningCounts,
    /// The messages of the last batch with causes known from hand-offs, in order.
    by_handoff: Vec<MessageId>,
    /// The messages of the last batch with causes that rare words show, in order.
    by_words: Vec<MessageId>,
}

impl Inference for AutoAlgorithm {
    fn infer_links(&mut self, input: &InferenceInput<'_>) -> Links {
        let groundwork = Groundwork::from_input(input);
        let services = Services::from_input(
            input,
            &groundwork,
            &mut self.operation_kinds,
            &mut self.size_kinds,
        );
        self.by_handoff = services.linked_by_handoff(&groundwork.calls);
        input.progress.begin_step("learning services", services.calls());
        let assignments = assign::assign(&services.all, &mut self.models, input.progress);
        let warnings = &mut self.warning_counts;
        let links;
        (links, self.by_words) =
            message_links::links(input, &groundwork, &services, &assignments, warnings);
        links
    }

    fn messages_linked_by_handoff(&self) -> &[MessageId] {
        &self.by_handoff
    }

    fn messages_linked_by_words(&self) -> &[MessageId] {
        &self.by_words
    }

    fn warnings(&self) -> Vec<PathWarning> {
        self.warning_counts.significant_warnings()
    }
}
