//! The links of all messages of a batch, from its queues, services and processes. Each message gets
//! its links once, from the first of these that explains it.

use message_trace::MessageId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::assignment::Assignment;
use super::delivering_kinds::DeliveringKinds;
use super::groundwork::Groundwork;
use super::service::{MadeCallId, RequestId, Service};
use super::services::Services;
use super::{answered_by_another, decided, doubted, early};
use crate::call_evidence::CallEvidence;
use crate::calls::{CallId, Calls};
use crate::infer::call_links;
use crate::infer::input::InferenceInput;
use crate::links::Links;
use crate::naming::is_context;
use crate::tuning::words::DECIDING_RELIABILITY;
use crate::warnings::WarningCounts;

/// A message, its possible parents with their probabilities, and the probability that it has no
/// parent.
type MessageParents = (MessageId, Vec<(MessageId, f64)>, f64);

/// The links under construction.
struct MessageLinks<'a> {
    input: &'a InferenceInput<'a>,
    groundwork: &'a Groundwork,
    links: Links,
    /// Whether each message has its links.
    is_linked: Vec<bool>,
    /// Messages of work that started before its announcement: their links are set after all others.
    early_work: Vec<MessageParents>,
    /// Messages with causes that rare words show.
    by_words: Vec<MessageId>,
    /// The kinds of messages that mostly are deliveries out of queues.
    delivering: DeliveringKinds,
}

/// The links of all messages, and the messages with causes that rare words show. Warnings about
/// them are recorded in `warnings`.
pub(super) fn links(
    input: &InferenceInput<'_>,
    groundwork: &Groundwork,
    services: &Services,
    assignments: &[Assignment],
    warnings: &mut WarningCounts,
) -> (Links, Vec<MessageId>) {
    let InferenceInput { trace, naming, options, .. } = *input;
    let mut all = MessageLinks {
        input,
        groundwork,
        links: Links::spontaneous_only(trace.len()),
        is_linked: vec![false; trace.len()],
        early_work: Vec::new(),
        by_words: Vec::new(),
        delivering: DeliveringKinds::new(input, groundwork),
    };
    all.link_deliveries();
    doubted::warn_of_shared_connections(warnings, trace, naming, &groundwork.calls);
    for (node, (service, found)) in services.all.iter().zip(assignments).enumerate() {
        if service.is_answered() {
            let name = naming.label_text(naming.nodes()[node].name);
            let discount = doubted::warn_of_unmatched_calls(warnings, service, found, name);
            all.link_service(service, found, services, discount);
        }
    }
    let MessageLinks { links, is_linked, .. } = &mut all;
    services.spawned.link(trace, naming, &groundwork.calls, options.window, links, is_linked);
    all.link_others();
    all.link_early();
    all.by_words.extend(services.linked_by_words(&groundwork.calls));
    all.by_words.sort_unstable();
    all.by_words.dedup();
    (all.links, all.by_words)
}

impl MessageLinks<'_> {
    /// Links each delivery out of a queue to the message that put it there.
    fn link_deliveries(&mut self) {
        let queues = &self.groundwork.queues;
        for row in queues.deliveries() {
            queues.link(row, &mut self.links);
            // If only one message can be the cause, no order was needed to find it.
            let evidence = match self.links.parents(row).len() {
                1 => CallEvidence::OneRequest,
                _ => CallEvidence::Inferred,
            };
            self.links.set_evidence(row, Some(evidence));
            self.link_by_words(row);
            self.is_linked[row.index()] = true;
        }
    }

    /// Links the messages that a service sent, by the assignment of its calls.
    fn link_service(
        &mut self,
        service: &Service,
        found: &Assignment,
        services: &Services,
        discount: f64,
    ) {
        let calls = &self.groundwork.calls;
        self.set_evidence(service, found);
        let shares =
            |call: MadeCallId| found.shares.get(call.index()).into_iter().flatten().copied();
        let received = match self.groundwork.words.is_empty() {
            true => ReceivedMessages::default(),
            false => ReceivedMessages::new(service, found, calls),
        };
        call_links::link_messages(
            calls,
            service.node_calls(),
            shares,
            |message, parents, spontaneous| {
                if !self.is_linked[message.index()] {
                    let (parents, spontaneous) = doubted::discount_ambiguous_parents(
                        calls,
                        message,
                        parents,
                        spontaneous,
                        discount,
                    );
                    match parents.iter().any(|(parent, _)| services.early.contains(parent)) {
                        true => self.early_work.push((message, parents, spontaneous)),
                        false => {
                            self.links.set_parents(message, &parents, spontaneous);
                            let best = self.likeliest_parent(message);
                            if self.is_better_by_words(message, best)
                                || received.unbound.contains(&message)
                                    && received
                                        .contradicts(best, self.surer_cause_by_words(message))
                            {
                                self.link_by_words(message);
                            }
                        }
                    }
                }
                self.is_linked[message.index()] = true;
            },
        );
        for call in &service.timer_calls {
            if let Some(request) = calls.request(*call) {
                self.links.set_parents(request, &[], 1.0);
                self.link_by_words(request);
                self.is_linked[request.index()] = true;
            }
        }
    }

    /// Sets what decided the requests of the calls of a service.
    fn set_evidence(&mut self, service: &Service, found: &Assignment) {
        let calls = &self.groundwork.calls;
        let is_of_context = |call: CallId| {
            let row = calls.request(call);
            row.and_then(|row| self.input.trace.message(row).src_tid).is_some_and(is_context)
        };
        let evidence = decided::evidence_of_calls(service, found, is_of_context);
        for (made, evidence) in service.made_calls.iter().zip(evidence) {
            if let Some(row) = calls.request(*made).filter(|row| !self.is_linked[row.index()]) {
                self.links.set_evidence(row, evidence);
            }
        }
    }

    /// Links the message to its cause by rare words, if these show one.
    fn link_by_words(&mut self, message: MessageId) {
        if let Some((_, sure)) = self.groundwork.words.cause(message) {
            self.groundwork.words.link(message, &mut self.links);
            if sure > 0.5 {
                self.by_words.push(message);
                if self.is_call(message) {
                    self.links.set_evidence(message, Some(CallEvidence::Words));
                }
            }
        }
    }

    /// Returns whether the message is a delivery out of a queue, or the request of a call of a node
    /// that serves requests.
    fn is_call(&self, message: MessageId) -> bool {
        let (calls, naming) = (&self.groundwork.calls, self.input.naming);
        self.groundwork.queues.causes(message).is_some()
            || calls.request(calls.call_of_message(message)) == Some(message)
                && !naming.nodes()[naming.src(message) as usize].client
    }

    /// The cause of the message by rare words, if it is almost certain, and no less likely than the
    /// likeliest parent of the message: if two observations contradict each other, the one that is
    /// less often wrong is preferred.
    fn surer_cause_by_words(&self, message: MessageId) -> Option<MessageId> {
        let parents = self.links.parents(message).map(|(_, share)| share);
        let known = parents.fold(DECIDING_RELIABILITY, f64::max);
        let cause = self.groundwork.words.cause(message);
        cause.filter(|(_, sure)| *sure >= known).map(|(cause, _)| cause)
    }

    fn likeliest_parent(&self, message: MessageId) -> Option<MessageId> {
        let parents = self.links.parents_here(message);
        parents.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(parent, _)| parent)
    }

    /// Returns whether the cause of the message by rare words is better than its links by the
    /// assignment of calls, with the likeliest parent `best`: if it seems to have no cause, if such
    /// messages are deliveries, which are no responses to what came last on their connection, or if
    /// the sender received a delivery after that parent.
    fn is_better_by_words(&self, message: MessageId, best: Option<MessageId>) -> bool {
        let Some((cause, _)) = self.groundwork.words.cause(message) else { return false };
        let came = |row: MessageId| self.input.trace.arrival_time(row);
        self.links.spontaneous_probability(message) > 0.5
            || self.is_delivery(message)
            || self.is_delivery(cause) && best.is_some_and(|parent| came(parent) < came(cause))
    }

    /// Returns whether the message is a delivery out of a queue, or such messages mostly are.
    fn is_delivery(&self, message: MessageId) -> bool {
        self.groundwork.queues.causes(message).is_some()
            || self.delivering.contains(self.input, &self.groundwork.calls, message)
    }

    /// Links the messages that no service explains: by the connection or call id, or else as
    /// message linking does.
    fn link_others(&mut self) {
        let InferenceInput { trace, naming, .. } = *self.input;
        let Groundwork { linked, calls, .. } = self.groundwork;
        for message in trace.ids() {
            if self.is_linked[message.index()] {
                continue;
            }
            if calls.is_control(calls.call_of_message(message)) {
                self.links.set_parents(message, &[], 1.0);
                continue;
            }
            let known = calls
                .request_of_fragment(message)
                .or_else(|| answered_by_another::request_of(trace, naming, calls, message));
            if let Some(request) = known {
                self.links.set_parents(message, &[(request, 1.0)], 0.0);
                continue;
            }
            let parents: Vec<(MessageId, f64)> = linked.parents_here(message).collect();
            self.links.set_parents(message, &parents, linked.spontaneous_probability(message));
            if self.is_call(message) && self.links.most_likely(message).is_some() {
                self.links.set_evidence(message, Some(CallEvidence::Inferred));
            }
            self.link_by_words(message);
        }
    }

    /// Links the messages of work that started before its announcement.
    fn link_early(&mut self) {
        for (message, parents, spontaneous) in std::mem::take(&mut self.early_work) {
            let (parents, spontaneous) =
                early::links(self.input.trace, &self.links, message, parents, spontaneous);
            self.links.set_parents(message, &parents, spontaneous);
        }
    }
}

/// The messages that a node received, by the requests to which an assignment of its calls gives
/// them.
#[derive(Default)]
struct ReceivedMessages {
    requests: FxHashMap<MessageId, RequestId>,
    /// The messages of the calls whose request is shown neither by their thread nor by words.
    unbound: FxHashSet<MessageId>,
}

impl ReceivedMessages {
    fn new(service: &Service, found: &Assignment, calls: &Calls) -> ReceivedMessages {
        let mut received = ReceivedMessages::default();
        for (request, item) in RequestId::ids().zip(&service.request_calls) {
            let call = item.call();
            let row = match item.is_delivery() {
                true => calls.response(call).or(calls.request(call)),
                false => calls.request(call),
            };
            received.requests.extend(row.map(|row| (row, request)));
        }
        for (call, made) in MadeCallId::ids().zip(&service.made_calls) {
            let request = found.request_of_call.get(call.index()).copied().flatten();
            let response = calls.response(*made);
            received.requests.extend(response.zip(request));
            let is_claimed = service.word_claims.contains_key(made);
            if service.bound_request(call).is_none() && !is_claimed {
                received.unbound.extend(calls.request(*made));
            }
        }
        received
    }

    /// Returns whether the assignment gives `cause` to another request than `parent`.
    fn contradicts(&self, parent: Option<MessageId>, cause: Option<MessageId>) -> bool {
        let request = |row: Option<MessageId>| row.and_then(|row| self.requests.get(&row));
        request(cause).is_some() && request(parent) != request(cause)
    }
}
