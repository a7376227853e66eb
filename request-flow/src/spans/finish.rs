//! Stands in for the join of spans until that is here.

use std::path::Path;

use clocks::Clocks;
use message_trace::{PathError, Progress};

use super::sink::SpanSink;
use crate::tables::RequestWriter;

/// What came of joining spans into requests.
#[derive(Clone, Debug, Default)]
pub struct Joined {
    /// Number of spans.
    pub spans: u64,
    /// Number of requests.
    pub requests: u64,
    /// Number of steps.
    pub steps: u64,
    /// Number of requests whose root is not a client's.
    pub torn: u64,
    /// Number of spans that were there twice.
    pub duplicates: u64,
    /// The hosts' clocks.
    pub clocks: Clocks,
}

impl SpanSink<'_> {
    /// Joins the spans into requests, and writes their tables.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(
        self,
        requests: &Path,
        steps: &Path,
        _progress: &dyn Progress,
    ) -> Result<Joined, PathError> {
        RequestWriter::create(requests, steps)?.finish(&self.names.into_names())?;
        Ok(Joined::default())
    }
}
