//! Resources of requests: the events of threads, files, sockets and locks from logs with resources,
//! and hand-offs between threads.
//!
//! ```text
//! logs ----> calls --------------------------------+--> events/sockcap.parquet
//!              |                                    |
//!              +--> signals and waits, by object --> matched --> handoffs.parquet
//!                                                   |              ^
//! logs of Go -> goroutines --------------------------|--------------+
//!                                                   |
//! switches -> switch_file --> threads --------------+
//! ```

mod cached_reads;
mod calls;
mod goroutines;
mod handoff_kinds;
mod handoff_matching;
mod handoffs;
mod only_waiter;
mod own_event;
mod switch_file;
mod threads;
mod write;

pub(crate) use calls::{HandoffEventRow, ResourceCalls, ResourceSorters};
pub(crate) use goroutines::read_goroutine_handoffs;
pub(crate) use handoff_matching::{HandoffRow, match_handoffs};
pub(crate) use own_event::OwnEvent;
pub(crate) use switch_file::for_each_thread_event;
pub(crate) use write::{write_events, write_handoffs};

use crate::indices::HostIndex;
use own_event::OwnEventKind;
use threads::{ThreadChange, ThreadEvent};

/// Converts an event of a thread of `host` at `time`, on the common clock.
pub(crate) fn to_own_event(event: &ThreadEvent, host: HostIndex, time: i64) -> OwnEvent {
    let ThreadEvent { thread, process, processor, change, .. } = *event;
    let own = |kind: OwnEventKind| OwnEvent {
        processor: i32::from(processor),
        ..OwnEvent::new(kind, time, host, process, thread as i32)
    };
    match change {
        ThreadChange::In => own(OwnEventKind::In),
        ThreadChange::Out { preempted } => {
            own(OwnEventKind::Out).with_values([i64::from(preempted)])
        }
        ThreadChange::Start { creator } => {
            own(OwnEventKind::Start).with_values([i64::from(creator)])
        }
        ThreadChange::Exit => own(OwnEventKind::Exit),
        ThreadChange::Unknown => own(OwnEventKind::Unknown),
        ThreadChange::Name(name) => {
            let (first, rest) = (i128::from_le_bytes(name) as i64, i128::from_le_bytes(name) >> 64);
            own(OwnEventKind::Name).with_values([first, rest as i64])
        }
    }
}
