//! Accounting: who uses a processor, and why a thread does not run (Magpie, section 3.3).

mod processors;
mod share;
mod threads;

pub(crate) use processors::Processors;
pub use share::Charged;
pub(crate) use share::Shares;
pub(crate) use threads::{Doing, Pending, Thread, Threads};
