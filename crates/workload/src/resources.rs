//! Resources of steps, from the activity of the threads that worked for them: whether the service
//! was computing, or waiting for the disk, for a lock, or for a processor.
//!
//! ```text
//! events of threads --gather--+
//!                             +--> timelines, by thread and time
//! messages of steps --gather--+        |  chain     threads between two messages of a step
//!                                      |  ledger    classification of each moment
//!                                      v
//!                 processor + runnable + disk + lock + peer + asleep + unknown + calls = duration
//! ```
//!
//! - A thread that handled two consecutive messages of a step worked for the step in between. If
//!   different threads handled them, hand-offs lead from one to the other: the first worked until
//!   it signalled, and the other from then on. Without a known chain of hand-offs, the time is
//!   unknown. A thread that waits for another one which it had signalled itself is not waiting for
//!   a lock: the other one works for the step (Magpie, section 3.5).
//! - A thread that serves several steps concurrently works for the step that its last message
//!   belongs to (Magpie, section 3.3). A poll ends that.
//! - Work takes precedence over calls, and calls over waits, as described in [`moment_sums`].

mod charged_time;
mod fill_resources;
mod moment_sums;
mod recorded_threads;
mod request_threads;
mod step_resources;
#[cfg(test)]
mod tests;
mod timeline_builder;
mod timeline_entry;
mod timeline_events;
mod timelines;
mod wake_chain;

pub use charged_time::ChargedTime;
pub use fill_resources::{RequestTablePaths, fill_resources};
pub use recorded_threads::{RecordedThreads, ThreadName, ThreadSlice, ThreadWake};
pub use request_threads::{LaneWake, RequestThreads, ThreadLane};
