//! Sockets: the flows of all processes that hold one kernel socket, made one.
//!
//! `of_flows` makes them, `seen_twice` finds those that two sources saw. `addresses` and `reach`
//! say which socket can be meant by a name.

pub(crate) mod addresses;
pub(crate) mod duplicates;
pub(crate) mod flow_grouping;
pub(crate) mod routing;
pub(crate) mod socket;
