//! Event: what happened at one moment in one thread, on one processor.

use out_of_core::NameId;
use serde::{Deserialize, Serialize};

/// What happened at one moment in one thread, on one processor. Its attributes are in its
/// [`EventBatch`](crate::EventBatch).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Time in nanoseconds since the Unix epoch.
    pub time: i64,
    /// Kind of the event, `provider/name`, such as `sched/sched_switch`.
    pub kind: NameId,
    /// Host; `NameInterner::UNKNOWN` if it is not known.
    pub host: NameId,
    /// Processor, or [`Event::NO_PROCESSOR`].
    pub processor: i32,
    /// Process id; 0 if it is not known.
    pub process: i32,
    /// Thread id; 0 if it is not known.
    pub thread: i32,
}

impl Event {
    /// Value of [`Event::processor`] for an unknown processor.
    pub const NO_PROCESSOR: i32 = -1;

    /// Provider: the part of a kind before its first `/`, empty without one.
    pub fn provider_of_kind(kind: &str) -> &str {
        kind.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// Name: the part of a kind after its first `/`.
    pub fn name_of_kind(kind: &str) -> &str {
        kind.split_once('/').map_or(kind, |(_, name)| name)
    }
}
