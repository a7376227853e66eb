//! Processor time, and the part of it that was charged to requests.

use serde::Serialize;

/// Processor time in nanoseconds, and the part of it that was charged to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProcessorTime {
    /// Time charged to requests.
    pub charged_ns: i64,
    /// Time of the processes that worked for requests.
    pub relevant_ns: i64,
    /// Time of all processes known to the source, if it knows of others.
    pub all_ns: Option<i64>,
}

impl ProcessorTime {
    /// Share of the relevant processor time that was charged, from 0 to 1.
    pub fn charged_share(&self) -> Option<f64> {
        (self.relevant_ns > 0).then(|| self.charged_ns as f64 / self.relevant_ns as f64)
    }
}
