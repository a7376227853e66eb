//! Internal traffic: flows within one process, such as an event loop's wake-up socket, threads that
//! talk over loopback or a socketpair, or a server that calls itself. If a node is a process, they
//! show nothing of the system's structure and would be treated as causes. If a node is a thread,
//! flows between threads are communication like any other (WAP5 section 2.5 goes down to threads).

use serde::{Deserialize, Serialize};

use crate::indices::ProcessIndex;

/// Which messages of a process to itself are in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InternalMessages {
    /// None: they are only counted.
    #[default]
    LeftOut,
    /// Messages of flows on which several of its threads sent or received: for an analysis with
    /// threads as nodes. They are still counted apart from all other messages.
    BetweenThreads,
    /// All of them, as if they went between processes.
    Kept,
}

/// Treatment of the messages of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InternalTreatment {
    /// Messages like any others.
    Ordinary,
    /// Messages in the trace that are counted as internal.
    CountedApart,
    /// Messages that are only counted.
    LeftOut,
}

impl InternalMessages {
    /// Returns the treatment of a flow with this scope.
    pub(crate) fn treatment_of_flow(self, scope: FlowScope) -> InternalTreatment {
        match (self, scope) {
            (_, FlowScope::Processes) | (InternalMessages::Kept, _) => InternalTreatment::Ordinary,
            (InternalMessages::BetweenThreads, FlowScope::Threads) => {
                InternalTreatment::CountedApart
            }
            _ => InternalTreatment::LeftOut,
        }
    }
}

/// Parties between which the messages of a flow go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowScope {
    /// A thread and itself.
    Thread,
    /// Threads of one process.
    Threads,
    /// Several processes.
    Processes,
}

/// The processes and threads that sent and received on a flow, as far as its messages were read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowCallers {
    process: Option<ProcessIndex>,
    tid: Option<i32>,
    has_processes: bool,
    has_threads: bool,
}

impl FlowCallers {
    /// Adds the process at an end of a message, and its thread if known.
    pub(crate) fn add(&mut self, process: ProcessIndex, tid: Option<i32>) {
        self.has_processes |= *self.process.get_or_insert(process) != process;
        if let Some(tid) = tid {
            self.has_threads |= *self.tid.get_or_insert(tid) != tid;
        }
    }

    /// Adds an end with an unknown process.
    pub(crate) fn add_unknown(&mut self) {
        self.has_processes = true;
    }

    /// The scope of the messages.
    pub(crate) fn flow_scope(&self) -> FlowScope {
        match (self.has_processes, self.has_threads) {
            (true, _) => FlowScope::Processes,
            (false, true) => FlowScope::Threads,
            (false, false) => FlowScope::Thread,
        }
    }
}

/// Flows and messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowsAndMessages {
    /// Number of flows.
    pub flows: u64,
    /// Number of their messages.
    pub messages: u64,
}

/// Messages of processes to themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InternalTraffic {
    /// Number of flows.
    pub flows: u64,
    /// Number of their messages.
    pub messages: u64,
    /// Flows and messages among these that went between threads.
    pub between_threads: FlowsAndMessages,
}

impl InternalTraffic {
    /// Adds a flow of this scope with its number of messages.
    pub(crate) fn add_flow(&mut self, scope: FlowScope, messages: u64) {
        self.flows += 1;
        self.messages += messages;
        if scope == FlowScope::Threads {
            self.between_threads.flows += 1;
            self.between_threads.messages += messages;
        }
    }

    /// Adds the counts of a part of the work.
    pub(crate) fn absorb(&mut self, part: InternalTraffic) {
        self.flows += part.flows;
        self.messages += part.messages;
        self.between_threads.flows += part.between_threads.flows;
        self.between_threads.messages += part.between_threads.messages;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_messages_are_in_the_trace_as_far_as_requested() {
        use InternalMessages::{BetweenThreads, LeftOut};
        let reach = |ends: &[(usize, Option<i32>)]| {
            let mut callers = FlowCallers::default();
            ends.iter()
                .for_each(|(process, tid)| callers.add(ProcessIndex::from_index(*process), *tid));
            callers.flow_scope()
        };
        let standing = |reach| {
            [LeftOut, BetweenThreads, InternalMessages::Kept]
                .map(|asked| asked.treatment_of_flow(reach))
        };
        let (out, kept, ordinary) = (
            InternalTreatment::LeftOut,
            InternalTreatment::CountedApart,
            InternalTreatment::Ordinary,
        );
        for ends in [&[][..], &[(1, Some(7)), (1, Some(7))], &[(1, Some(7)), (1, None)]] {
            assert_eq!(standing(reach(ends)), [out, out, ordinary], "{ends:?}");
        }
        let threads = [(1, Some(7)), (1, None), (1, Some(8)), (1, Some(7))];
        assert_eq!(standing(reach(&threads)), [out, kept, ordinary]);
        let processes = [(1, Some(7)), (1, Some(8)), (2, None)];
        assert_eq!(standing(reach(&processes)), [ordinary; 3]);
        let mut unknown = FlowCallers::default();
        unknown.add(ProcessIndex::from_index(1), Some(7));
        unknown.add_unknown();
        assert_eq!(standing(unknown.flow_scope()), [ordinary; 3]);
    }
}
