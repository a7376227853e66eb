//! Sockets: the flows of all processes that hold one kernel socket, merged.
//!
//! `flow_grouping` merges them, `duplicates` finds sockets that two sources saw. `addresses` and
//! `routing` determine which sockets a name can refer to.

pub(crate) mod addresses;
pub(crate) mod connect_return;
pub(crate) mod duplicates;
pub(crate) mod flow_grouping;
pub(crate) mod routing;
pub(crate) mod socket;
