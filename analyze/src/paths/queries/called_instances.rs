//! The path instances as calls, from which request flows are made. Each instance comes with the
//! times of its messages, the labels of their hops, their calls, and their receivers. Row groups
//! are read by several threads and in any order, as by [`timed_instances`](super::timed_instances);
//! a message needs some 50 bytes more.

use message_trace::table::OperationIndex;
use message_trace::table::operations::OperationRow;
use message_trace::{DataDir, PathError};

use super::hop_ends::{EndLabels, HopEnd, HopEnds};
use super::message_ends::{EndsOfMessage, MessageEnds};
use super::timed_instance::{InstanceRow, TimedInstance};
use super::timed_instances::TimedInstances;
use crate::batches::TraceOverview;
use crate::naming::{NodeFacts, facts_of_all};
use crate::options::Options;
use crate::paths::call_tree::CallTree;

/// The tables of paths, patterns, messages and nodes, open for joint reading, and the table of
/// operations, with its rows in memory or in a temporary file.
pub struct CalledInstances {
    timed: TimedInstances,
    ends: MessageEnds,
    labels: HopEnds,
    /// By number of a hop's labels: the number of the labels of its response.
    answers: Vec<Option<u32>>,
    nodes: Vec<NodeFacts>,
    operations: OperationIndex,
}

/// The labels of a hop: names at the grain of the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopLabels<'a> {
    /// The sender.
    pub src: &'a str,
    /// The receiver.
    pub dst: &'a str,
    /// The receiver's port, `*` for an ephemeral one, or the name of another kind of endpoint.
    pub dst_port: &'a str,
    /// The protocol.
    pub protocol: message_trace::TransportProtocol,
    /// The operation of a request or one-way message, by its name; `None` if unknown.
    pub operation: Option<&'a str>,
}

/// The receiver of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageReceiver<'a> {
    /// The thread that received the message.
    pub tid: Option<i32>,
    /// The endpoint at which the message arrived.
    pub endpoint: &'a str,
    /// The node.
    pub node: &'a NodeFacts,
}

/// The threads that sent and received a message, each with its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageThreads {
    /// Process of the sender.
    pub from_process: Option<i32>,
    /// Thread that sent the message's first part.
    pub from: Option<i32>,
    /// Process of the receiver.
    pub to_process: Option<i32>,
    /// Thread that received the message's last part.
    pub to: Option<i32>,
}

/// An instance as calls.
pub struct CalledInstance<'group> {
    /// The messages of the instance with their times.
    pub timed: TimedInstance<'group>,
    /// The calls that the messages belong to.
    pub calls: &'group CallTree,
    all: &'group CalledInstances,
    ends: &'group [EndsOfMessage],
    endpoints: &'group [String],
}

impl CalledInstances {
    /// Opens the tables of `dir`, analyzed with `options`.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn open(dir: &DataDir, options: &Options) -> Result<CalledInstances, PathError> {
        let overview = TraceOverview::read(dir, options.resources.thread_count(), false)?;
        let labels = HopEnds::read(&dir.patterns_path(), HopEnd::Both)?;
        Ok(CalledInstances {
            timed: TimedInstances::open(dir)?,
            ends: MessageEnds::open(&dir.messages_path())?,
            answers: labels.reverse_labels(),
            labels,
            nodes: facts_of_all(&overview.outline, options),
            operations: OperationIndex::read(dir)?,
        })
    }

    /// Returns the number of row groups.
    pub fn group_count(&self) -> usize {
        self.timed.group_count()
    }

    /// Passes each instance of a row group to `each`, by number. The groups in sequence contain all
    /// instances by number.
    ///
    /// # Errors
    /// If a table cannot be read, or the tables do not match; and errors of `each`, which end the
    /// reading.
    pub fn read_group(
        &self,
        group: usize,
        mut each: impl FnMut(&CalledInstance<'_>) -> Result<(), PathError>,
    ) -> Result<(), PathError> {
        let messages = self.timed.messages_of_group(group)?;
        let read = self.ends.read_ends(&messages).map_err(|why| self.timed.lookup_error(why))?;
        let mut rest = read.ends.as_slice();
        let mut calls = CallTree::default();
        self.timed.read_group(
            group,
            |_| true,
            |instance| {
                let (ends, tail) = rest.split_at(instance.hops.len().min(rest.len()));
                rest = tail;
                let InstanceRow { pattern, .. } = instance.which;
                let hops = instance.hops;
                let parent = |hop: usize| hops[hop].parent.map(|parent| parent as usize);
                calls.find_calls(hops.len(), parent, |hop, call| {
                    let label = |hop| self.labels.labels_number(pattern, hop);
                    let answer = label(call).and_then(|label| self.answers.get(label as usize));
                    answer.is_some_and(|answer| answer.is_some() && *answer == label(hop))
                });
                each(&CalledInstance {
                    timed: *instance,
                    calls: &calls,
                    all: self,
                    ends,
                    endpoints: &read.endpoints,
                })
            },
        )
    }

    fn node_facts(&self, node: message_trace::NodeId) -> Option<&NodeFacts> {
        self.nodes.get(node.index())
    }
}

impl CalledInstance<'_> {
    /// Returns the labels of a hop; `None` if the table of patterns does not have the hop.
    pub fn hop_labels(&self, hop: usize) -> Option<HopLabels<'_>> {
        let key = self.all.labels.labels_number(self.timed.which.pattern, hop)?;
        let (EndLabels { src, dst, dst_port, protocol, .. }, _) =
            self.all.labels.labels_and_traced(key)?;
        let operation = self.all.labels.operation_name(self.timed.which.pattern, hop);
        Some(HopLabels { src, dst, dst_port, protocol: *protocol, operation })
    }

    /// Returns the operation of a message; `None` if it was not recorded.
    pub fn operation(&self, hop: usize) -> Option<OperationRow<'_>> {
        let message = self.timed.hops.get(hop)?.message;
        self.all.operations.operation_of_message(u64::try_from(message).ok()?)
    }

    /// Returns the sender of a message; `None` if the table of nodes does not have it.
    pub fn sender(&self, hop: usize) -> Option<&NodeFacts> {
        self.all.node_facts(self.ends.get(hop)?.src)
    }

    /// Returns the receiver of a message; `None` if the table of nodes does not have it.
    pub fn receiver(&self, hop: usize) -> Option<MessageReceiver<'_>> {
        let end = self.ends.get(hop)?;
        let endpoint = self.endpoints.get(end.dst_endpoint as usize).map_or("", String::as_str);
        Some(MessageReceiver { tid: end.dst_tid, endpoint, node: self.all.node_facts(end.dst)? })
    }

    /// Returns the threads that sent and received a message.
    pub fn threads(&self, hop: usize) -> MessageThreads {
        let Some(end) = self.ends.get(hop) else { return MessageThreads::default() };
        let process = |node| self.all.node_facts(node).and_then(|node| node.pid);
        MessageThreads {
            from_process: process(end.src),
            from: end.src_tid,
            to_process: process(end.dst),
            to: end.dst_tid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, collected};

    #[test]
    fn an_instance_comes_with_its_calls_and_receivers() {
        let mut trace = Fixture::new();
        trace.send("curl", "web", 0, 10).threads(1, 2).on(1);
        trace.send("web", "db", 20, 30).ports(50_000, 5432).threads(2, 3).on(2);
        trace.send("db", "web", 40, 50).ports(5432, 50_000).accepting().threads(3, 2).on(2);
        trace.send("web", "curl", 60, 70).ports(80, 40_000).accepting().threads(2, 1).on(1);
        let trace = trace.trace();
        let (_directory, dir) =
            collected(&trace, &[(0.5, &[(0, 0), (1, 1), (2, 2), (3, 3)]), (1.0, &[(1, 0)])]);
        trace.write(dir.messages_path(), dir.nodes_path()).unwrap();
        let called = CalledInstances::open(&dir, &Options::default()).unwrap();
        let mut seen = Vec::new();
        for group in 0..called.group_count() {
            called
                .read_group(group, |instance| {
                    let calls = instance.calls.calls.iter();
                    let calls: Vec<_> =
                        calls.map(|call| (call.request, call.response, call.parent)).collect();
                    let labels = instance.hop_labels(0).unwrap();
                    let receiver = instance.receiver(0).unwrap();
                    seen.push((
                        instance.timed.which.probability,
                        calls,
                        format!("{} > {}:{}", labels.src, labels.dst, labels.dst_port),
                        receiver.endpoint.to_owned(),
                        receiver.tid,
                        [instance.sender(0).unwrap().is_client, receiver.node.is_client],
                    ));
                    Ok(())
                })
                .unwrap();
        }
        let calls = vec![(0, Some(3), None), (1, Some(2), Some(0))];
        let whole = (
            0.5,
            calls,
            "curl > web:80".to_owned(),
            "10.0.0.2:80".to_owned(),
            Some(2),
            [true, false],
        );
        let lone = vec![(0, None, None)];
        let torn = (
            1.0,
            lone,
            "web > db:5432".to_owned(),
            "10.0.0.3:5432".to_owned(),
            Some(3),
            [false, false],
        );
        assert_eq!(seen, [whole, torn]);
    }
}
