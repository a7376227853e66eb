//! The table of path patterns.

use message_trace::table::export::{Format, export};

use crate::description::Description;
use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};

/// What it says of itself.
pub const DESCRIPTION: Description = Description {
    name: "patterns",
    summary: "Table: the path patterns, a row a hop",
    opened_by: "",
};

/// Writes the patterns, with the options of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patterns {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Patterns {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        export(&source.data.patterns(), self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
