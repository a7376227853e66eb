//! A line of `sockcap info` in a paragraph of its own.

use std::io::{self, Write};

use crate::output;
use crate::table::write_folded;

/// Writes the result of a stage in a paragraph of its own.
pub(super) fn write_paragraph(text: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out)?;
    write_folded(text, "", output::width_limit(), out)
}
