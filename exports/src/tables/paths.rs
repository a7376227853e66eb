//! The table of path instances.

use message_trace::table::export::{Format, export};

use crate::description::Description;
use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};

/// What it says of itself.
pub const DESCRIPTION: Description = Description {
    name: "paths",
    summary: "Table: the path instances, a row a message",
    opened_by: "",
};

/// Writes the paths, with the options of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Paths {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        export(&source.data.paths(), self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
