//! The table of calls, which no stage keeps: they follow from the messages and the links.

use analyze::calls::CallTable;
use analyze::infer::Links;
use message_trace::MessageTrace;
use message_trace::table::export::{Format, export_batches};

use crate::description::Description;
use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};

/// What it says of itself.
pub const DESCRIPTION: Description = Description {
    name: "calls",
    summary: "Table: who called whom, with the times at both ends, the call it was made for, and the \
              probability of that",
    opened_by: "",
};

/// Writes the calls, with the options of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Calls {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let path = source.data.messages();
        let trace = MessageTrace::read(&path, &source.data.nodes())?;
        let (options, links) = (source.analysis()?.options, Links::read(&source.data.links())?);
        let calls = CallTable::new(&trace, &links, &options, &path);
        let schema = CallTable::schema();
        export_batches(schema, calls, self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
