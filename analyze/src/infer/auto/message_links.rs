//! The links of all messages of a batch, from its queues, services and processes. Each message gets
//! its links once, from the first of these that explains it.

use super::assignment::Assignment;
use super::groundwork::Groundwork;
use super::service::Service;
use super::services::Services;
use super::{answered_by_another, doubted, early};
use crate::infer::call_links;
use crate::infer::input::InferenceInput;
use crate::links::Links;
use crate::warnings::WarningCounts;

/// A message, its possible parents with their probabilities, and the probability that it has no
/// parent.
type MessageParents = (usize, Vec<(u32, f64)>, f64);

/// The links under construction.
struct MessageLinks<'a> {
    input: &'a InferenceInput<'a>,
    groundwork: &'a Groundwork,
    links: Links,
    /// Whether each message has its links.
    is_linked: Vec<bool>,
    /// Messages of work that started before its announcement: their links are set after all others.
    of_early: Vec<MessageParents>,
}

/// The links of all messages. Warnings about them are recorded in `warnings`.
pub(super) fn links(
    input: &InferenceInput<'_>,
    groundwork: &Groundwork,
    services: &Services,
    assignments: &[Assignment],
    warnings: &mut WarningCounts,
) -> Links {
    let InferenceInput { trace, naming, options, .. } = *input;
    let mut all = MessageLinks {
        input,
        groundwork,
        links: Links::spontaneous_only(trace.len()),
        is_linked: vec![false; trace.len()],
        of_early: Vec::new(),
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
    all.links
}

impl MessageLinks<'_> {
    /// Links each delivery out of a queue to the message that put it there.
    fn link_deliveries(&mut self) {
        let queues = &self.groundwork.queues;
        for row in queues.deliveries() {
            queues.link(row, &mut self.links);
            self.is_linked[row as usize] = true;
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
        let shares = |call: usize| found.shares.get(call).into_iter().flatten().copied();
        call_links::link_messages(
            calls,
            service.node_calls(),
            shares,
            |message, parents, spontaneous| {
                if !self.is_linked[message] {
                    let (parents, spontaneous) = doubted::discount_ambiguous_parents(
                        calls,
                        message,
                        parents,
                        spontaneous,
                        discount,
                    );
                    match parents.iter().any(|(parent, _)| services.early.contains(parent)) {
                        true => self.of_early.push((message, parents, spontaneous)),
                        false => self.links.set_parents(message, &parents, spontaneous),
                    }
                }
                self.is_linked[message] = true;
            },
        );
        for call in &service.timer_calls {
            if let Some(request) = calls.request(*call as usize) {
                self.links.set_parents(request, &[], 1.0);
                self.is_linked[request] = true;
            }
        }
    }

    /// Links the messages that no service explains: by the connection or call id, or else as
    /// message linking does.
    fn link_others(&mut self) {
        let InferenceInput { trace, naming, .. } = *self.input;
        let Groundwork { linked, calls, .. } = self.groundwork;
        for message in (0..trace.len()).filter(|message| !self.is_linked[*message]) {
            if calls.is_control(calls.call_of_message(message)) {
                self.links.set_parents(message, &[], 1.0);
                continue;
            }
            let known = calls
                .request_of_fragment(message)
                .or_else(|| answered_by_another::request_of(trace, naming, calls, message));
            if let Some(request) = known {
                self.links.set_parents(message, &[(request as u32, 1.0)], 0.0);
                continue;
            }
            let parents: Vec<(u32, f64)> = linked.parents(message).collect();
            self.links.set_parents(message, &parents, linked.spontaneous_probability(message));
        }
    }

    /// Links the messages of work that started before its announcement.
    fn link_early(&mut self) {
        for (message, parents, spontaneous) in std::mem::take(&mut self.of_early) {
            let (parents, spontaneous) =
                early::links(self.input.trace, &self.links, message, parents, spontaneous);
            self.links.set_parents(message, &parents, spontaneous);
        }
    }
}
