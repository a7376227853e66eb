//! Tuned figures of the naming of nodes and ports.

/// Minimum number of such ports of a program; fewer tell nothing.
pub(crate) const MIN_PORTS: usize = 16;
/// Smallest share of a program's ports that must be such ports.
pub(crate) const PASSING_SHARE: f64 = 0.9;
/// Maximum number of connections accepted at such a port: a range of ports is gone through again.
pub(crate) const MAX_CONNECTIONS: usize = 8;
/// Longest use of a connection at such a port, as a share of the trace's time.
pub(crate) const MAX_TIME_SHARE: f64 = 0.02;
