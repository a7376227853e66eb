//! Processor time, and the part of it that was charged to requests.

use serde::Serialize;

/// Processor time in nanoseconds, and the part of it that was charged to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProcessorTime {
    /// Processor time charged to requests, in nanoseconds.
    pub charged_ns: i64,
    /// Processor time of the processes that worked for requests, in nanoseconds.
    pub relevant_ns: i64,
    /// Processor time of all processes, in nanoseconds, if the source knows of other processes.
    pub all_ns: Option<i64>,
}

impl ProcessorTime {
    /// Share of the relevant processor time that was charged, from 0 to 1.
    pub fn charged_share(&self) -> Option<f64> {
        (self.relevant_ns > 0).then(|| self.charged_ns as f64 / self.relevant_ns as f64)
    }
}
