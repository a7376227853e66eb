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
use crate::report_writer::ReportWriter;
use crate::summary::Report;
use delays::DelayDocument;
use patterns::PatternDocument;

/// A writer of JSON documents: one object and a line feed.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonWriter;

impl ReportWriter for JsonWriter {
    fn write_report(
        &self,
        report: &Report<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let document = PatternDocument::from_report(report, options);
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }
}

impl JsonWriter {
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
        let document = DelayDocument::from_report(report, options);
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }
}
