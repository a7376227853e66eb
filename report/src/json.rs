//! The report as one JSON document, for programs. It has every field of every pattern, named as in
//! the table of patterns, with the metrics by which patterns can be ranked. Times are in
//! nanoseconds; a value that was not measured is null.

mod connects;
mod delays;
mod operations;
mod patterns;
#[cfg(test)]
mod tests;
mod trace;

use std::io::{self, Write};

use crate::delays::DelayReport;
use crate::options::Options;
use crate::output::Output;
use crate::summary::Report;
use delays::DelayDocument;
use patterns::Document;

/// A writer of JSON documents: one object and a line feed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl Output for Json {
    fn write(&self, report: &Report<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let document = Document::of(report, options);
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }
}

impl Json {
    /// Writes delays by node or by hop as one JSON object and a line feed.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn write_delays(
        &self,
        report: &DelayReport<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let document = DelayDocument::of(report, options);
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }
}
