//! What logs and the collector tell of the hosts' clocks, for the crate `clocks`.

pub(crate) mod exchanges;
pub(crate) mod facts;
