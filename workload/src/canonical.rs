//! Canonical request: what a request asks for, without what the scheduler did (Magpie, section 4).

use out_of_core::NameId;

use crate::demands::Demands;

/// A request without what the scheduler did: demands between synchronisation points, as the binary
/// tree of section 4.2 gives them when it is flattened depth first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Canonical {
    /// The elements in their order.
    pub elements: Vec<Element>,
}

/// An element of a canonical request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Element {
    /// What happens.
    pub act: Act,
    /// Who does it: the part that a thread plays (its program, or its node and operation), never
    /// its id. For [`Act::Signal`], who is signalled.
    pub role: NameId,
    /// What it demands.
    pub demands: Demands,
    /// When it begins on endless processors, in nanoseconds from the begin of the request.
    pub begin: i64,
    /// When it ends there.
    pub end: i64,
}

/// What happens in an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Act {
    /// A thread works from one synchronisation point to the next.
    #[default]
    Work,
    /// It lets another one begin or go on: the fork of the tree.
    Signal,
    /// It waits for another: a leaf of the tree.
    Wait,
    /// It goes on after a wait.
    Resume,
}
