//! Event: what happened at one moment in one thread, on one processor.

use out_of_core::NameId;
use serde::{Deserialize, Serialize};

/// What happened at one moment in one thread, on one processor, without its attributes: those are
/// of its [`EventBatch`](crate::EventBatch).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Time in nanoseconds since the Unix epoch.
    pub time: i64,
    /// Its kind, `provider/name`, such as `sched/sched_switch`.
    pub kind: NameId,
    /// The host; `NameInterner::UNKNOWN` where it is not known.
    pub host: NameId,
    /// The processor, or [`Event::NO_PROCESSOR`].
    pub processor: i32,
    /// Id of the process; 0 where it is not known.
    pub process: i32,
    /// Id of the thread; 0 where it is not known.
    pub thread: i32,
}

impl Event {
    /// Value of [`Event::processor`] where it is not known.
    pub const NO_PROCESSOR: i32 = -1;

    /// Part of a kind before its first `/`: who tells of it. Empty where there is none.
    pub fn provider_of_kind(kind: &str) -> &str {
        kind.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// Part of a kind behind its first `/`: what it is called.
    pub fn name_of_kind(kind: &str) -> &str {
        kind.split_once('/').map_or(kind, |(_, name)| name)
    }
}
