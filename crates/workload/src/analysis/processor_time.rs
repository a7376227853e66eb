//! Processor time, and how much of it requests were charged with.

use serde::Serialize;

/// Processor time in nanoseconds, and how much of it requests were charged with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProcessorTime {
    /// What requests were charged with.
    pub charged_ns: i64,
    /// What the processes used that worked for requests.
    pub relevant_ns: i64,
    /// What all processes used that the source knows of, where it knows of others.
    pub all_ns: Option<i64>,
}

impl ProcessorTime {
    /// Share of the relevant processor time that was charged, from 0 to 1.
    pub fn charged_share(&self) -> Option<f64> {
        (self.relevant_ns > 0).then(|| self.charged_ns as f64 / self.relevant_ns as f64)
    }
}
