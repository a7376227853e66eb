//! The figures themselves: of each host, and of the collector as a whole.

use std::collections::BTreeMap;

/// A host's figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFigures {
    /// Its name.
    pub host: String,
    /// Its open connections: one, or two for a moment where a new one takes the place of one that
    /// is lost.
    pub connections: u64,
    /// When it was last told that something is on the disk, in nanoseconds since the Unix epoch.
    pub acknowledged: Option<i64>,
    /// Bytes that it said then it has yet to send.
    pub left: Option<u64>,
    /// Bytes of files that were written since the collector was started.
    pub stored: u64,
    /// Bytes that came over the wire for that.
    pub received: u64,
    /// Files that it has here.
    pub files: u64,
    /// Bytes of disk that they take.
    pub used: u64,
    /// Bytes of disk that it may have.
    pub quota: Option<u64>,
    /// Offset of its clock: nanoseconds ahead of the collector's, as last measured.
    pub clock_offset: Option<i64>,
    /// Round trip of that exchange, in nanoseconds.
    pub round_trip: Option<i64>,
}

/// The figures of a collector as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectorTotals {
    /// Connections of hosts.
    pub connections: u64,
    /// Connections that were refused, by cause.
    pub refused: BTreeMap<&'static str, u64>,
    /// Number of times that something could not be stored, by shortage.
    pub not_stored: BTreeMap<&'static str, u64>,
    /// Logs that name another host than the one that sends them.
    pub misnamed: u64,
    /// Events of hosts beyond [`MAX_HOSTS_WITH_FIGURES`](crate::tuning::MAX_HOSTS_WITH_FIGURES),
    /// which have no figures.
    pub untold: u64,
}
