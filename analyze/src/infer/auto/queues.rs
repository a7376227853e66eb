//! Queues: responses that were caused by a message of another node. A worker that waits in a
//! blocking pop, a long poll or a subscription receives a response, or a message without having
//! asked, because a producer sent something to the broker. That message is the cause of the
//! delivery, and the time between the two is the time in the queue.
//!
//! No protocol is assumed. The events at a broker show it ([`broker`]): replies of one kind that
//! had to wait are sent shortly after the receipt of messages of another kind, from other nodes,
//! far more often than by chance ([`wakes`]). Then pushes are matched with deliveries in FIFO order
//! ([`in_order`]), so that a job that waited for a free worker finds its push, too. If hardly any
//! reply waits, because there is always work, a queue is recognised by its account: how many items
//! were pushed and how many delivered by each time ([`backlog`]). A worker acts for the job that it
//! received last ([`super::jobs`]).

mod backlog;
mod broker;
mod in_order;
mod wakes;

use message_trace::{FlowId, MessageId, MessageTrace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calls::{CallId, Calls};
use crate::links::Links;
use crate::naming::Naming;
use broker::{Broker, BrokerReply};
use wakes::ReplyQueue;

/// The deliveries of a trace.
#[derive(Debug, Default)]
pub(super) struct Queues {
    /// Causes of each delivery: pushes with their probabilities.
    causes: FxHashMap<MessageId, Vec<(MessageId, f64)>>,
    /// The calls that ask for work, whether they received any or not.
    polls: FxHashSet<CallId>,
    /// The calls of threads that wait for a delivery on behalf of a request of their own.
    for_requests: FxHashSet<CallId>,
    /// The flows on which deliveries seem to answer messages that do not ask for them.
    push_flows: FxHashSet<FlowId>,
}

impl Queues {
    /// Queues of all brokers in `trace`; `window` is the longest wait that is accepted without a
    /// request, in nanoseconds.
    ///
    /// A worker may report the result of a delivery. By the alternation of the connection the next
    /// delivery seems to answer that report, and deliveries that were sent together have another
    /// kind. So once these are known to be deliveries, they are examined again as unsolicited
    /// messages.
    pub(super) fn from_trace(
        trace: &MessageTrace,
        naming: &Naming,
        calls: &Calls,
        window: i64,
    ) -> Queues {
        let brokers = |unsolicited: &FxHashSet<FlowId>| {
            broker::brokers(trace, naming, calls, window, unsolicited)
        };
        let mut found = Queues::from_brokers(brokers(&FxHashSet::default()));
        if !found.push_flows.is_empty() {
            let again = Queues::from_brokers(brokers(&found.push_flows));
            if again.causes.len() >= found.causes.len() {
                found = again;
            }
        }
        found.add_unanswered(trace, naming, calls);
        found
    }

    /// The queues of these brokers, without the requests for work that were never answered.
    fn from_brokers(brokers: Vec<Broker>) -> Queues {
        let mut found = Queues::default();
        for broker in brokers {
            let mut queues = wakes::queues(&broker);
            found.causes.extend(in_order::causes(&broker, &queues));
            for replies in 0..broker.replies.len() {
                if queues.iter().all(|queue| queue.replies != replies)
                    && let Some((queue, deliveries)) = backlog::queue(&broker, replies)
                {
                    found.causes.extend(deliveries);
                    queues.push(queue);
                }
            }
            found.add_polls(&broker, &queues);
        }
        found
    }

    /// Adds requests for work that were never answered: a message of the same length on the same
    /// hop asks for work, too.
    fn add_unanswered(&mut self, trace: &MessageTrace, naming: &Naming, calls: &Calls) {
        let kind =
            |call: CallId| calls.request(call).map(|row| (naming.hop(row), trace.bytes(row)));
        let kinds: FxHashSet<(u32, i64)> =
            self.polls.iter().filter_map(|call| kind(*call)).collect();
        if kinds.is_empty() {
            return;
        }
        let asks_for_work = |call: &CallId| kind(*call).is_some_and(|kind| kinds.contains(&kind));
        // The last call of each connection.
        let mut last: FxHashMap<FlowId, CallId> = FxHashMap::default();
        for call in calls.iter().filter(asks_for_work) {
            last.extend(calls.request(call).map(|row| (trace.flow(row), call)));
        }
        self.polls.extend(last.into_values().filter(|call| calls.response(*call).is_none()));
    }

    /// Causes of the message, if it is a delivery: pushes with their probabilities, the
    /// likeliest first.
    pub(super) fn causes(&self, row: MessageId) -> Option<&[(MessageId, f64)]> {
        self.causes.get(&row).map(Vec::as_slice)
    }

    /// Links a delivery to its causes. A delivery does not answer the request on its connection,
    /// however likely a push other than these caused it, so the remaining probability is for no
    /// cause.
    pub(super) fn link(&self, row: MessageId, links: &mut Links) {
        let Some(causes) = self.causes(row) else { return };
        let rest = 1.0 - causes.iter().map(|(_, share)| share).sum::<f64>();
        links.set_parents(row, causes, rest.max(0.0));
    }

    /// All deliveries, in order.
    pub(super) fn deliveries(&self) -> Vec<MessageId> {
        let mut rows: Vec<MessageId> = self.causes.keys().copied().collect();
        rows.sort_unstable();
        rows
    }

    /// Returns whether the call asks for work.
    pub(super) fn is_poll(&self, call: CallId) -> bool {
        self.polls.contains(&call)
    }

    /// Returns whether the response of the call is delivered to a thread that waits for it on
    /// behalf of a request of its own, such as the reply of a call through a broker.
    pub(super) fn is_for_request(&self, call: CallId) -> bool {
        self.for_requests.contains(&call)
    }

    /// Adds requests for work: those that are sometimes answered with nothing, and those before the
    /// first delivery. If the first message of a kind comes after a delivery, it reports the result
    /// of that delivery, and the next delivery is not its response.
    fn add_polls(&mut self, broker: &Broker, queues: &[ReplyQueue]) {
        for queue in queues {
            let replies = &broker.replies[queue.replies].all;
            let is_for_request =
                |reply: &&BrokerReply| queue.is_for_requests && reply.is_for_request;
            let for_requests = replies.iter().filter(is_for_request);
            self.for_requests.extend(for_requests.map(|reply| reply.call));
            let asked =
                || replies.iter().filter(|reply| reply.request.is_some() && !is_for_request(reply));
            if !queue.empty.is_empty() || self.come_before_deliveries(broker, asked()) {
                self.polls.extend(asked().map(|reply| reply.call));
            } else {
                self.push_flows.extend(asked().map(|reply| reply.flow));
            }
        }
    }

    /// Returns whether on most connections nothing was delivered before the first of the requests
    /// that the replies in `asked` answer.
    fn come_before_deliveries<'broker>(
        &self,
        broker: &'broker Broker,
        asked: impl Iterator<Item = &'broker BrokerReply>,
    ) -> bool {
        let mut first: FxHashMap<FlowId, (i64, bool)> = FxHashMap::default();
        for reply in asked {
            first.entry(reply.flow).or_insert((reply.since, true));
        }
        let is_delivery =
            |reply: &&BrokerReply| reply.request.is_none() || self.causes.contains_key(&reply.row);
        for reply in broker.all_replies().filter(is_delivery) {
            if let Some((asked, is_first)) = first.get_mut(&reply.flow) {
                *is_first &= reply.time >= *asked;
            }
        }
        2 * first.values().filter(|(_, is_first)| *is_first).count() > first.len()
    }
}
