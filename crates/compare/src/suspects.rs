//! Suspects: the nodes that caused the change over all categories (beyond Spectroscope).
//!
//! ```text
//! call sites --tests--> evidence: own time, network, calls, failures
//!                          |
//!                       blame: a node for its own time, what it calls and its failures;
//!                          |   for an edge's time the end with other changed edges
//!                          v
//!                       suspects, the heaviest first
//! ```
//!
//! A slow node makes every adjacent hop slow, and a slow network makes hops into and out of a node
//! slow while its own time stays the same. The own time of a step that only waits longer does not
//! grow ([`crate::exclusive_times`]), so it is not blamed.

mod blame;
mod calls;
mod evidence;
mod gather;
mod pools;

pub use blame::{SuspectNode, rank_suspects};
pub use evidence::{CallChange, ChangeDirection, EvidenceKind, SiteEvidence};
pub use gather::gather_evidence;
pub use pools::drop_redundant;
