//! The table of links.

use message_trace::table::export::{Format, export};

use crate::description::Description;
use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};

/// What it says of itself.
pub const DESCRIPTION: Description = Description {
    name: "links",
    summary: "Table: which message caused which, with a probability",
    opened_by: "",
};

/// Writes the links, with the options of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Links {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        export(&source.data.links(), self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
