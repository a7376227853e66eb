//! Canonical request: the demands of a request, without the effects of scheduling (Magpie, section
//! 4).

use out_of_core::NameId;
use serde::Serialize;

use crate::demands::Demands;

mod flatten;
mod idle_wakes;
mod needless_waits;
mod parents;
mod plan;
mod schedule;
mod stitch;
mod threads;
mod tree_of_steps;

pub use stitch::{FragmentPacket, stitch_fragments};
pub use threads::{canonicalize_joined, canonicalize_recorded, role_by_kind};
pub use tree_of_steps::{canonicalize_steps, demands_of_step};

/// A request without the effects of scheduling: demands between synchronisation points, as the
/// binary tree of section 4.2 when it is flattened depth first.
///
/// An activation is what a thread does from the moment at which something starts or wakes it, to
/// the moment at which it cannot continue by itself. An activation is written as `Work`, then for
/// each thread that it wakes a `Signal` and the `Work` after that, and finally a `Wait`: the leaf.
/// The activations that it woke follow, the last one first, each preceded by a `Resume`. So the
/// list can be read back as the tree in only one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CanonicalRequest {
    /// The elements in their order.
    pub elements: Vec<CanonicalElement>,
}

/// An element of a canonical request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CanonicalElement {
    /// Act of the element.
    pub act: ElementAct,
    /// The role that performs it: the part that a thread plays (its program, or its node and
    /// operation), never its id. For [`ElementAct::Signal`], the signalled role. Unknown for work
    /// without a known cause.
    pub role: NameId,
    /// Demands of the element. Only work has demands.
    pub demands: Demands,
    /// Begin of the element with unlimited processors, in nanoseconds from the begin of the
    /// request, if nothing but processor time and synchronisation took time.
    pub begin: i64,
    /// End of the element with unlimited processors, in nanoseconds from the begin of the request.
    pub end: i64,
}

/// Act of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementAct {
    /// A thread works from one synchronisation point to the next.
    #[default]
    Work,
    /// The thread starts or wakes another thread: the fork of the tree.
    Signal,
    /// The thread cannot continue by itself: it waits for another thread, or is done. A leaf of the
    /// tree.
    Wait,
    /// The thread starts or continues, because another thread woke it.
    Resume,
}

impl CanonicalRequest {
    /// The total demands of the request.
    pub fn total_demands(&self) -> Demands {
        let mut all = Demands::default();
        self.elements.iter().for_each(|element| all += element.demands);
        all
    }

    /// Duration of the request with unlimited processors in nanoseconds, if nothing but processor
    /// time and synchronisation took time.
    pub fn ideal_duration(&self) -> i64 {
        self.elements.iter().map(|element| element.end).max().unwrap_or_default()
    }
}
