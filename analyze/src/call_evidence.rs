//! What decided the parents of calls, as a report states it: the execution context, shared words,
//! or nothing but inference. [`Evidence`](crate::Evidence) has the kinds of evidence that can be
//! switched off; here each call has the one that made its request certain, if there is one.

use serde::{Deserialize, Serialize};

use crate::warnings::is_significant;

/// What decided for which request a service made a call, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallEvidence {
    /// The execution context that a runtime switches between: a goroutine, a task, a request of
    /// Node.js.
    Tasks,
    /// The thread, which worked for one request at a time.
    Threads,
    /// Recorded hand-offs between threads.
    HandOffs,
    /// Ids of tracers in both messages.
    Ids,
    /// Rare words that both messages have.
    Words,
    /// No other request was open at that time.
    OneRequest,
    /// None of these: delays, orders and other properties that were learned from the trace.
    Inferred,
}

impl CallEvidence {
    /// All kinds, the surest first.
    pub const ALL: [CallEvidence; 7] = [
        CallEvidence::Tasks,
        CallEvidence::Threads,
        CallEvidence::HandOffs,
        CallEvidence::Ids,
        CallEvidence::Words,
        CallEvidence::OneRequest,
        CallEvidence::Inferred,
    ];

    /// The name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            CallEvidence::Tasks => "tasks",
            CallEvidence::Threads => "threads",
            CallEvidence::HandOffs => "hand_offs",
            CallEvidence::Ids => "ids",
            CallEvidence::Words => "words",
            CallEvidence::OneRequest => "one_request",
            CallEvidence::Inferred => "inferred",
        }
    }

    /// The name for people, to be followed by a share of the calls.
    pub fn label(self) -> &'static str {
        match self {
            CallEvidence::HandOffs => "hand-offs",
            CallEvidence::OneRequest => "only one request open",
            _ => self.name(),
        }
    }

    /// The kind with this name in tables.
    pub(crate) fn from_name(name: &str) -> Option<CallEvidence> {
        CallEvidence::ALL.into_iter().find(|evidence| evidence.name() == name)
    }
}

/// Numbers of calls by what decided their requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EvidenceCounts {
    tasks: u64,
    threads: u64,
    hand_offs: u64,
    ids: u64,
    words: u64,
    one_request: u64,
    inferred: u64,
}

impl EvidenceCounts {
    /// The number of calls that this evidence decided.
    pub fn count(&self, evidence: CallEvidence) -> u64 {
        match evidence {
            CallEvidence::Tasks => self.tasks,
            CallEvidence::Threads => self.threads,
            CallEvidence::HandOffs => self.hand_offs,
            CallEvidence::Ids => self.ids,
            CallEvidence::Words => self.words,
            CallEvidence::OneRequest => self.one_request,
            CallEvidence::Inferred => self.inferred,
        }
    }

    /// The number of all calls.
    pub fn total(&self) -> u64 {
        CallEvidence::ALL.into_iter().map(|evidence| self.count(evidence)).sum()
    }

    /// Adds calls that this evidence decided.
    pub fn add(&mut self, evidence: CallEvidence, calls: u64) {
        let count = match evidence {
            CallEvidence::Tasks => &mut self.tasks,
            CallEvidence::Threads => &mut self.threads,
            CallEvidence::HandOffs => &mut self.hand_offs,
            CallEvidence::Ids => &mut self.ids,
            CallEvidence::Words => &mut self.words,
            CallEvidence::OneRequest => &mut self.one_request,
            CallEvidence::Inferred => &mut self.inferred,
        };
        *count += calls;
    }

    /// Adds the counts of `more`.
    pub fn absorb(&mut self, more: &EvidenceCounts) {
        CallEvidence::ALL.into_iter().for_each(|evidence| self.add(evidence, more.count(evidence)));
    }

    /// The kinds with any call, each with the share of all calls, the surest first.
    pub fn shares(&self) -> Vec<(CallEvidence, f64)> {
        let total = self.total() as f64;
        let counts = CallEvidence::ALL.map(|evidence| (evidence, self.count(evidence)));
        let some = counts.into_iter().filter(|(_, count)| *count > 0);
        some.map(|(evidence, count)| (evidence, count as f64 / total)).collect()
    }
}

/// What decided the calls of one service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceEvidence {
    /// The name of the service in reports.
    pub service: String,
    /// The calls by what decided their requests.
    pub calls: EvidenceCounts,
    /// The inferred calls that were made by threads which received no requests, in processes
    /// without recorded hand-offs.
    #[serde(skip_serializing_if = "is_zero")]
    pub inferred_of_workers: u64,
    /// The runtimes of the service that switch threads between tasks which are not followed, such
    /// as `Python 3.15`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfollowed: Vec<String>,
}

impl ServiceEvidence {
    /// Returns whether many calls are inferred, and most of these were made by threads that receive
    /// no requests, so that recorded hand-offs between threads would decide them.
    pub fn is_mostly_of_workers(&self) -> bool {
        2 * self.inferred_of_workers > self.calls.count(CallEvidence::Inferred)
            && is_significant(self.inferred_of_workers, self.calls.total())
    }
}

/// Returns whether a count is 0.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_counted_separately_and_has_a_name() {
        let mut counts = EvidenceCounts::default();
        for (calls, evidence) in (1..).zip(CallEvidence::ALL) {
            counts.add(evidence, calls);
            assert_eq!(CallEvidence::from_name(evidence.name()), Some(evidence));
        }
        assert_eq!(counts.total(), 28);
        assert_eq!(CallEvidence::ALL.map(|kind| counts.count(kind)), [1, 2, 3, 4, 5, 6, 7]);
        let text = serde_json::to_string(&counts).unwrap();
        for evidence in CallEvidence::ALL {
            let pair = format!("\"{}\":{}", evidence.name(), counts.count(evidence));
            assert!(text.contains(&pair), "{text}");
        }
        assert_eq!(serde_json::from_str::<EvidenceCounts>(&text).unwrap(), counts);
        let mut twice = counts;
        twice.absorb(&counts);
        assert_eq!(twice.total(), 56);
        let mut two = EvidenceCounts::default();
        two.add(CallEvidence::Inferred, 1);
        two.add(CallEvidence::Tasks, 3);
        let shares = [(CallEvidence::Tasks, 0.75), (CallEvidence::Inferred, 0.25)];
        assert_eq!(two.shares(), shares);
        assert_eq!(CallEvidence::from_name("luck"), None);
    }
}
