//! Resources of steps, by what the threads did that worked for them: was the service computing,
//! waiting for the disk, for a lock, or for a processor?
//!
//! ```text
//! events of threads --gather--+
//!                             +--> timelines, by thread and time
//! messages of steps --gather--+        |  chain     who worked between two messages of a step
//!                                      |  ledger    what each moment of that was
//!                                      v
//!                 processor + runnable + disk + lock + peer + asleep + unknown + calls = duration
//! ```
//!
//! - Between two messages of a step that one thread handled, that thread worked for it. Where
//!   different threads handled them, hand-offs lead from one to the other: the first worked until
//!   it signalled, and the other from then on. Where no chain of hand-offs is known, the time is
//!   unknown. A thread that waits for another, which it had signalled itself before, is waited for
//!   no more: the other one works for the step (Magpie, section 3.5).
//! - A thread that serves several steps at once works for the one whose message it handled last
//!   (Magpie, section 3.3). A poll ends that.
//! - Work wins over calls, and calls over waits, as [`moment_sums`] says.

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
