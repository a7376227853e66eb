//! The trait of all forms of the report.

use std::io::{self, Write};

use crate::options::Options;
use crate::summary::Report;

/// A form of the report.
pub trait ReportWriter {
    /// Writes the whole of `report` to `out`.
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
