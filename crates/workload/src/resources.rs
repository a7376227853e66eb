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
//! - Work wins over calls, and calls over waits, as [`ledger`] says.

mod chain;
mod charged;
mod entry;
mod fill;
mod gather;
mod kinds;
mod ledger;
mod of_request;
mod of_step;
#[cfg(test)]
mod tests;
mod threads;
mod timelines;

pub use charged::Charged;
pub use fill::{Tables, fill};
pub use of_request::{LaneWake, RequestThreads, ThreadLane};
pub use threads::{ThreadName, ThreadSlice, ThreadWake, Threads};
