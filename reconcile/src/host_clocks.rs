//! Facts about the hosts' clocks from the logs and the collector, for the crate `clocks`.

pub(crate) mod exchanges;
pub(crate) mod facts;
