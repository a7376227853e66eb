//! What requests cost: the events of threads, files, sockets and locks that logs with resources
//! have, and who let whom go on.
//!
//! ```text
//!  logs ----> calls --------------------------------+--> events/sockcap.parquet
//!               |                                    |
//!               +--> happenings, by object --> matched --> handoffs.parquet
//!                                                    |          ^
//!  logs of Go -> goroutines --------------------------|----------+
//!                                                    |
//!  switches -> switch_file --> threads --------------+
//! ```

mod cached;
mod calls;
mod goroutines;
mod handoffs;
mod matched;
mod only_waiter;
mod own_event;
mod switch_file;
mod threads;
mod what;
mod write;

pub(crate) use calls::{Calls, HappeningRow, Sorters};
pub(crate) use goroutines::goroutines;
pub(crate) use matched::{HandoffRow, handoffs};
pub(crate) use own_event::OwnEvent;
pub(crate) use switch_file::threads;
pub(crate) use write::{events as write_events, handoffs as write_handoffs};

use own_event::Kind;
use threads::{Change, ThreadEvent};

/// The event of what a thread of `host` did at `time`, on the common clock.
pub(crate) fn thread_event(event: &ThreadEvent, host: u32, time: i64) -> OwnEvent {
    let ThreadEvent { thread, process, processor, change, .. } = *event;
    let own = |kind: Kind| OwnEvent {
        processor: i32::from(processor),
        ..OwnEvent::new(kind, time, host, process, thread as i32)
    };
    match change {
        Change::In => own(Kind::In),
        Change::Out { preempted } => own(Kind::Out).with([i64::from(preempted)]),
        Change::Start { creator } => own(Kind::Start).with([i64::from(creator)]),
        Change::Exit => own(Kind::Exit),
        Change::Unknown => own(Kind::Unknown),
        Change::Name(name) => {
            let (first, rest) = (i128::from_le_bytes(name) as i64, i128::from_le_bytes(name) >> 64);
            own(Kind::Name).with([first, rest as i64])
        }
    }
}
