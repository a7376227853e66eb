//! Joined request: the events that the temporal join assigned to one request.

use out_of_core::NameId;

use crate::demands::{Demands, WaitTimes};

/// The events that the temporal join assigned to one request (Magpie, section 3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JoinedRequest {
    /// Number of the request, from 0, in the order in which requests were emitted.
    pub number: u64,
    /// Kind of the request's seed event.
    pub seed: NameId,
    /// Name of the request, if the schema names an attribute for it; otherwise the seed's kind.
    pub name: NameId,
    /// Number of seed events in the request. More than one is a sign that the schema merges
    /// requests.
    pub seeds: u32,
    /// Whether the valid-intervals of the request were all closed. Otherwise a time-out or the
    /// memory limit ended it.
    pub whole: bool,
    /// Events of the request, in the order of time.
    pub events: Vec<JoinedEvent>,
    /// Synchronisation points, in the order of their sources.
    pub syncs: Vec<SyncEdge>,
    /// Total usage on behalf of the request.
    pub demands: Demands,
}

/// An event of a joined request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JoinedEvent {
    /// Time in nanoseconds since the Unix epoch.
    pub time: i64,
    /// Kind of the event, `provider/name`.
    pub kind: NameId,
    /// The host.
    pub host: NameId,
    /// The processor, -1 if it is not known.
    pub processor: i32,
    /// The process, 0 if it is not known.
    pub process: i32,
    /// The thread that worked for the request, 0 if it is not known.
    pub thread: i32,
    /// Usage between the previous event of the same thread in this request, and this one.
    pub demands: Demands,
    /// Times for which the thread was blocked since its previous event in the request, by reason.
    pub waits: WaitTimes,
    /// Whether the event blocks according to the schema (WAIT).
    pub is_wait: bool,
}

/// A synchronisation of two threads of a request: the source's actions before it must precede the
/// destination's actions after it (Magpie, section 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncEdge {
    /// The event at which the source signals, as an index of [`JoinedRequest::events`].
    pub source: u32,
    /// The event at which the destination continues, as an index of [`JoinedRequest::events`].
    pub destination: u32,
}
