//! Figures of each host, and of the collector as a whole.

use std::collections::BTreeMap;

/// A host's figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFigures {
    /// Name of the host.
    pub host: String,
    /// Open connections of the host: one, or briefly two while a new one replaces a lost one.
    pub connections: u64,
    /// Time of the last acknowledgement, in nanoseconds since the Unix epoch.
    pub acknowledged: Option<i64>,
    /// Bytes that the host had yet to send at that time, by its own count.
    pub left: Option<u64>,
    /// Bytes of files that were written since the collector was started.
    pub stored: u64,
    /// Bytes on the wire for the bytes `stored`.
    pub received: u64,
    /// Number of the host's files at the collector.
    pub files: u64,
    /// Bytes of disk that these files use.
    pub used: u64,
    /// Bytes of disk that the host may use.
    pub quota: Option<u64>,
    /// Offset of the host's clock: nanoseconds ahead of the collector's, as last measured.
    pub clock_offset: Option<i64>,
    /// Round trip of the exchange that measured `clock_offset`, in nanoseconds.
    pub round_trip: Option<i64>,
}

/// The figures of a collector as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectorTotals {
    /// Open connections of hosts.
    pub connections: u64,
    /// Connections that were refused, by cause.
    pub refused: BTreeMap<&'static str, u64>,
    /// Number of times that something could not be stored, by shortage.
    pub not_stored: BTreeMap<&'static str, u64>,
    /// Number of logs that name another host than their sender.
    pub misnamed: u64,
    /// Number of events of hosts beyond
    /// [`MAX_HOSTS_WITH_FIGURES`](crate::tuning::MAX_HOSTS_WITH_FIGURES), which have no figures.
    pub untold: u64,
}
