//! A line of `sockcap info` that is a part of its own.

use std::io::{self, Write};

use crate::output;
use crate::table::folded;

/// Writes the result of a stage, as a part of its own.
pub(super) fn line(text: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out)?;
    folded(text, "", output::limit(), out)
}
