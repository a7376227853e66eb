//! Counts of events by outcome.

use serde::Serialize;

/// Counts of events by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateCounts {
    /// Events of kinds that can begin requests.
    pub could_begin: u64,
    /// Events of kinds that can begin requests, without a known process.
    pub without_process: u64,
    /// Joined events.
    pub joined: u64,
    /// Events that matched no live interval.
    pub unjoined: u64,
    /// Intervals that were closed because they would have joined two requests.
    pub conflicts: u64,
    /// Events that were dropped from sets without a seed, as they were too many.
    pub forgotten: u64,
}

/// Counts of all events of a join by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JoinCounts {
    /// Received events.
    pub events: u64,
    /// Events of a kind in the schema.
    pub known: u64,
    /// Joined events; an event that the schema splits counts several times.
    pub joined: u64,
    /// Events that matched no live interval.
    pub unjoined: u64,
    /// Events that arrived after later ones had been joined.
    pub late: u64,
    /// Duplicate events.
    pub doubled: u64,
    /// How often a clock jumped back, which ends all requests.
    pub jumps: u64,
    /// Intervals that were closed because they would have joined two requests.
    pub conflicts: u64,
    /// Emitted requests.
    pub requests: u64,
    /// Requests that ended by a time-out.
    pub timed_out: u64,
    /// Requests that ended by the memory limit.
    pub crowded_out: u64,
    /// Sets without a seed that ended by a time-out or the memory limit.
    pub collected: u64,
    /// Events that were dropped from sets without a seed, as they were too many.
    pub forgotten: u64,
    /// How often all marks were forgotten, as there were too many.
    pub marks_forgotten: u64,
}
