//! What every form of the report does: it writes all of it.

use std::io::{self, Write};

use crate::options::Options;
use crate::summary::Report;

/// One form of the report.
pub trait Output {
    /// Writes the whole of `report` to `out`.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    fn write(&self, report: &Report<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()>;
}
