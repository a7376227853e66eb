//! Suspects: the nodes that the change over all categories comes from (beyond Spectroscope).
//!
//! ```text
//! call sites --tests--> evidence: own time, network, calls, failures
//!                          |
//!                       blame: a node for its own time, what it calls and its failures;
//!                          |   of an edge's time the end whose other edges changed, too
//!                          v
//!                       suspects, the heaviest first
//! ```
//!
//! A slow node makes every hop next to it slow, and a slow network makes hops into and out of a
//! node slow while its own time stays. What waits longer because another is slow has no longer own
//! time ([`crate::exclusive_times`]), and so is not to blame.

mod blame;
mod calls;
mod evidence;
mod gather;
mod pools;

pub use blame::{SuspectNode, rank_suspects};
pub use evidence::{CallChange, ChangeDirection, EvidenceKind, SiteEvidence};
pub use gather::gather_evidence;
pub use pools::drop_known;
