//! Canonical request: what a request asks for, without what the scheduler did (Magpie, section 4).

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

/// A request without what the scheduler did: demands between synchronisation points, as the binary
/// tree of section 4.2 gives them when it is flattened depth first.
///
/// An activation is what a thread does from the moment at which something lets it begin or go on,
/// to the moment at which it goes on no more by itself. It is written as `Work`, then for each
/// thread that it lets go on a `Signal` and the `Work` after that, and at last a `Wait`: the leaf.
/// The activations that it let go on follow, the last one first, each with a `Resume` before it.
/// So the list can be read back as the tree in one way only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CanonicalRequest {
    /// The elements in their order.
    pub elements: Vec<CanonicalElement>,
}

/// An element of a canonical request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CanonicalElement {
    /// What happens.
    pub act: ElementAct,
    /// Who does it: the part that a thread plays (its program, or its node and operation), never
    /// its id. For [`ElementAct::Signal`], who is signalled. Unknown for work that nothing led to.
    pub role: NameId,
    /// What it demands. Nothing but work demands something.
    pub demands: Demands,
    /// When it begins on endless processors, in nanoseconds from the begin of the request, if
    /// nothing but processor time and synchronisation took time.
    pub begin: i64,
    /// When it ends there.
    pub end: i64,
}

/// What happens in an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementAct {
    /// A thread works from one synchronisation point to the next.
    #[default]
    Work,
    /// It lets another one begin or go on: the fork of the tree.
    Signal,
    /// It goes on no more by itself: it waits for another, or is done. A leaf of the tree.
    Wait,
    /// It begins or goes on, because another let it.
    Resume,
}

impl CanonicalRequest {
    /// Everything that the request demands.
    pub fn total_demands(&self) -> Demands {
        let mut all = Demands::default();
        self.elements.iter().for_each(|element| all += element.demands);
        all
    }

    /// Its duration on endless processors in nanoseconds, if nothing but processor time and
    /// synchronisation took time.
    pub fn ideal_duration(&self) -> i64 {
        self.elements.iter().map(|element| element.end).max().unwrap_or_default()
    }
}
