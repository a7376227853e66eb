//! Joined request: the events that the temporal join found to belong to one request.

use out_of_core::NameId;

use crate::demands::{Demands, WaitTimes};

/// The events that the temporal join found to belong to one request (Magpie, section 3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JoinedRequest {
    /// Number of the request, from 0, in the order in which requests were emitted.
    pub number: u64,
    /// Kind of its seed event.
    pub seed: NameId,
    /// Name of the request, where the schema says which attribute names it; else that of the seed.
    pub name: NameId,
    /// Number of seed events in it. More than one is a sign that the schema merges requests.
    pub seeds: u32,
    /// Whether its valid-intervals were all closed. Else a time-out or the bound on memory ended
    /// it.
    pub whole: bool,
    /// Its events, in the order of time.
    pub events: Vec<JoinedEvent>,
    /// Synchronisation points, in the order of their sources.
    pub syncs: Vec<SyncEdge>,
    /// Everything that was used on its behalf.
    pub demands: Demands,
}

/// An event of a joined request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JoinedEvent {
    /// Time in nanoseconds since the Unix epoch.
    pub time: i64,
    /// Its kind, `provider/name`.
    pub kind: NameId,
    /// The host.
    pub host: NameId,
    /// The processor, -1 where it is not known.
    pub processor: i32,
    /// The process, 0 if it is not known.
    pub process: i32,
    /// The thread that worked for the request, 0 if it is not known.
    pub thread: i32,
    /// What was used between the event before it of the same thread in this request, and this one.
    pub demands: Demands,
    /// Why the thread could not go on in that time.
    pub waits: WaitTimes,
    /// Whether the schema has it as an event that blocks (WAIT).
    pub is_wait: bool,
}

/// A synchronisation of two threads of a request: what the source did before must come before what
/// the destination does after (Magpie, section 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncEdge {
    /// The event at which the source signals, as a place in [`JoinedRequest::events`].
    pub source: u32,
    /// The event at which the destination goes on, likewise.
    pub destination: u32,
}
