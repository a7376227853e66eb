//! The trait of all output forms of the report.

use std::io::{self, Write};

use crate::options::Options;
use crate::summary::Report;

/// An output form of the report.
pub trait ReportWriter {
    /// Writes all of `report` to `out`.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    fn write_report(
        &self,
        report: &Report<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()>;
}
