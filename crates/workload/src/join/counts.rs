//! Counts: what became of events.

use serde::Serialize;

/// What became of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateCounts {
    /// Events of kinds that begin requests.
    pub could_begin: u64,
    /// Events of these kinds whose process is not known.
    pub without_process: u64,
    /// Events that were joined.
    pub joined: u64,
    /// Events that no live interval took.
    pub unjoined: u64,
    /// Intervals that would have joined two requests, and were ended.
    pub conflicts: u64,
    /// Events that were taken away from sets without a seed, as they were too many.
    pub forgotten: u64,
}

/// What became of all events of a join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JoinCounts {
    /// Events that came.
    pub events: u64,
    /// Events whose kind the schema has.
    pub known: u64,
    /// Joined events; an event that the schema splits can be several.
    pub joined: u64,
    /// Events that no live interval took.
    pub unjoined: u64,
    /// Events that came after later ones had been joined.
    pub late: u64,
    /// Events that came twice.
    pub doubled: u64,
    /// How often a clock jumped back, which ended all requests.
    pub jumps: u64,
    /// Intervals that would have joined two requests, and were ended.
    pub conflicts: u64,
    /// Requests that were emitted.
    pub requests: u64,
    /// Requests that a time-out ended.
    pub timed_out: u64,
    /// Requests that the bound on memory ended.
    pub crowded_out: u64,
    /// Sets without a seed that a time-out or the bound on memory ended.
    pub collected: u64,
    /// Events that sets without a seed lost, as they were too many.
    pub forgotten: u64,
    /// How often all marks were forgotten, as there were too many.
    pub marks_forgotten: u64,
}
