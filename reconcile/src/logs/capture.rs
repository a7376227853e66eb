//! What is kept of all logs between the two readings: processes, their flows with totals, and the
//! names. The calls themselves are not: there may be more of them than memory holds.

use message_trace::DataPath;
use std::ops::Range;

use out_of_core::{MemoryPool, SpillableVec};
use socket_log::{LogClock, WallClockStep};

use crate::logs::flow::{FlowNaming, LogFlow};
use crate::logs::lookup::LoggedLookup;
use crate::logs::process::TracedProcess;
use crate::socket_names::SocketNameInterner;

/// What was captured.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The memory of all tables.
    pub(crate) pool: MemoryPool,
    pub(crate) hosts: Vec<String>,
    /// The process of each log that could be read, whose place is also the log's, and behind them
    /// those that others' logs tell of.
    pub(crate) processes: Vec<TracedProcess>,
    pub(crate) logs: Vec<LogFile>,
    /// The flows of all logs, those of one log in a row.
    pub(crate) flows: SpillableVec<LogFlow>,
    /// What became known of the names of flows' ends, flow by flow in the order of time.
    pub(crate) namings: SpillableVec<FlowNaming>,
    pub(crate) names: SocketNameInterner,
    /// The lookups of names, each with the place of its log.
    pub(crate) lookups: Vec<(u32, LoggedLookup)>,
}

impl Capture {
    /// Nothing yet.
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
    /// The clock as if it had never been set: a process's times are in the order of what it did.
    pub(crate) clock: LogClock,
    /// Settings of its clock.
    pub(crate) settings: Vec<WallClockStep>,
    /// The places of its flows.
    pub(crate) flows: Range<u32>,
    /// Number of its records.
    pub(crate) records: u64,
    /// Whether it has resources beside messages.
    pub(crate) resources: bool,
    /// Whether it has heads of messages.
    pub(crate) snippets: bool,
    /// Whether it has goroutines.
    pub(crate) goroutines: bool,
}
