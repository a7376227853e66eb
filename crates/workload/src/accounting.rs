//! Accounting: which thread uses a processor, and why a thread does not run (Magpie, section 3.3).

mod processors;
mod share;
mod threads;

pub(crate) use processors::ProcessorStates;
pub use share::ChargedShare;
pub(crate) use share::UsageSums;
pub(crate) use threads::{PendingUsage, ThreadAccount, ThreadAccounts, ThreadRunState};
