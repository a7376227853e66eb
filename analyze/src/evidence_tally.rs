//! Counts of what decided the requests of calls, by service, over all batches of a trace.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use message_trace::{FROM_CONNECTING, MessageId, MessageTrace, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::call_evidence::{CallEvidence, ServiceEvidence};
use crate::handoffs::Handoff;
use crate::links::Links;
use crate::naming::{Naming, is_context};

/// What decided the calls of all services so far, by the services' names.
#[derive(Debug, Default)]
pub(crate) struct EvidenceTally(BTreeMap<String, ServiceEvidence>);

/// What is counted of one service in a batch.
#[derive(Default)]
struct BatchCounts {
    evidence: ServiceEvidence,
    /// Processes with a runtime that switches threads between tasks which are not followed.
    unfollowed: BTreeSet<NodeId>,
}

impl EvidenceTally {
    /// Counts the calls among the messages `own` of a batch, which have these `links`.
    pub(crate) fn count_batch(
        &mut self,
        trace: &MessageTrace,
        naming: &Naming,
        links: &Links,
        own: Range<usize>,
        handoffs: &[Handoff],
    ) {
        let mut counts: FxHashMap<u32, BatchCounts> = FxHashMap::default();
        let mut workers: Option<WorkerThreads> = None;
        for row in MessageId::of_rows(own) {
            let Some(node) = naming.nodes().get(naming.src(row) as usize) else { continue };
            let sender = || trace.message(row).src;
            let evidence = links.evidence(row).filter(|_| !trace.is_connect(row));
            let is_request = trace.direction(row) == FROM_CONNECTING && !node.client;
            let is_unfollowed = is_request
                && trace.nodes.get(sender()).is_some_and(|node| !node.unfollowed.is_empty());
            if evidence.is_none() && !is_unfollowed {
                continue;
            }
            let service = counts.entry(node.name).or_default();
            if is_unfollowed {
                service.unfollowed.insert(sender());
            }
            let Some(evidence) = evidence else { continue };
            service.evidence.calls.add(evidence, 1);
            if evidence == CallEvidence::Inferred {
                let workers =
                    workers.get_or_insert_with(|| WorkerThreads::from_trace(trace, handoffs));
                service.evidence.inferred_of_workers += u64::from(workers.has_sent(trace, row));
            }
        }
        for (name, found) in counts {
            let name = naming.label_text(name);
            let of = self.0.entry(name.to_owned()).or_insert_with(|| ServiceEvidence {
                service: name.to_owned(),
                ..ServiceEvidence::default()
            });
            of.calls.absorb(&found.evidence.calls);
            of.inferred_of_workers += found.evidence.inferred_of_workers;
            let runtimes = found.unfollowed.into_iter().filter_map(|node| trace.nodes.get(node));
            of.unfollowed.extend(runtimes.map(|node| node.unfollowed.clone()));
            of.unfollowed.sort_unstable();
            of.unfollowed.dedup();
        }
    }

    /// The services, the one with the most inferred calls first.
    pub(crate) fn into_services(self) -> Vec<ServiceEvidence> {
        let mut services: Vec<ServiceEvidence> = self.0.into_values().collect();
        services.sort_by_key(|of| Reverse(of.calls.count(CallEvidence::Inferred)));
        services
    }
}

/// The threads of a batch that receive requests, and the processes with recorded hand-offs.
struct WorkerThreads {
    receivers: FxHashSet<(NodeId, i32)>,
    with_handoffs: FxHashSet<NodeId>,
}

impl WorkerThreads {
    fn from_trace(trace: &MessageTrace, handoffs: &[Handoff]) -> WorkerThreads {
        let requests = trace.ids().filter(|row| trace.direction(*row) == FROM_CONNECTING);
        let receivers = requests.filter_map(|row| {
            let message = trace.message(row);
            Some((message.dst, message.dst_tid?))
        });
        WorkerThreads {
            receivers: receivers.collect(),
            with_handoffs: handoffs.iter().map(|handoff| handoff.node).collect(),
        }
    }

    /// Returns whether the message was sent by a worker thread: one that receives no requests and
    /// is no execution context such as a goroutine, in a process without recorded hand-offs.
    fn has_sent(&self, trace: &MessageTrace, row: MessageId) -> bool {
        let message = trace.message(row);
        message.src_tid.is_some_and(|thread| {
            !is_context(thread)
                && !self.with_handoffs.contains(&message.src)
                && !self.receivers.contains(&(message.src, thread))
        })
    }
}

#[cfg(test)]
#[path = "evidence_tally_tests.rs"]
mod tests;
