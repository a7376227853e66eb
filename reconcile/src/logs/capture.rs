//! Capture: the data that is kept of all logs between the two readings: processes, their flows with
//! totals, and the names. The calls themselves are not kept: there may be more of them than memory
//! holds.

use message_trace::DataPath;
use std::ops::Range;

use out_of_core::{MemoryPool, SpillableVec};
use socket_log::{LogClock, WallClockStep};

use crate::indices::{LogFlowIndex, ProcessIndex};
use crate::logs::flow::{FlowNaming, LogFlow};
use crate::logs::lookup::LoggedLookup;
use crate::logs::process::TracedProcess;
use crate::socket_names::SocketNameInterner;

/// The captured data.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The memory of all tables.
    pub(crate) pool: MemoryPool,
    pub(crate) hosts: Vec<String>,
    /// The process of each readable log, with the same index as the log, followed by the processes
    /// that only other logs name.
    pub(crate) processes: Vec<TracedProcess>,
    pub(crate) logs: Vec<LogFile>,
    /// The flows of all logs, log by log.
    pub(crate) flows: SpillableVec<LogFlow>,
    /// Namings of flows' ends, flow by flow sorted by time.
    pub(crate) namings: SpillableVec<FlowNaming>,
    pub(crate) names: SocketNameInterner,
    /// The name lookups, each with the process of its log.
    pub(crate) lookups: Vec<(ProcessIndex, LoggedLookup)>,
}

impl Capture {
    /// An empty capture.
    pub(crate) fn new(pool: &MemoryPool) -> Capture {
        Capture {
            pool: pool.clone(),
            hosts: Vec::new(),
            processes: Vec::new(),
            logs: Vec::new(),
            flows: SpillableVec::new(pool),
            namings: SpillableVec::new(pool),
            names: SocketNameInterner::new(pool),
            lookups: Vec::new(),
        }
    }
}

/// A log, to be read again.
#[derive(Debug)]
pub(crate) struct LogFile {
    pub(crate) path: DataPath,
    /// The clock as if it had never been set: the times of a process are in the order of its
    /// actions.
    pub(crate) clock: LogClock,
    /// Settings of the host's wall clock.
    pub(crate) settings: Vec<WallClockStep>,
    /// The indices of the log's flows.
    pub(crate) flows: Range<LogFlowIndex>,
    /// Number of the log's records.
    pub(crate) records: u64,
    /// Whether the log has resources in addition to messages.
    pub(crate) resources: bool,
    /// Whether the log has snippets of messages.
    pub(crate) snippets: bool,
    /// Whether the log has goroutines.
    pub(crate) goroutines: bool,
    /// Whether the log has rare words of messages.
    pub(crate) rare_words: bool,
}

impl LogFile {
    /// The range of the log's flows.
    pub(crate) fn flow_range(&self) -> Range<usize> {
        self.flows.start.index()..self.flows.end.index()
    }
}
