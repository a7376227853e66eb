//! The table of messages, with the endpoints as the user calls them.

use message_trace::table::export::{Format, export, export_renamed};

use crate::description::Description;
use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};

/// What it says of itself.
pub const DESCRIPTION: Description = Description {
    name: "messages",
    summary: "Table: who sent what to whom, with the time at both ends",
    opened_by: "",
};

/// Writes the messages, with the options of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Messages {
    fn needs(&self) -> Needs {
        Needs::Messages
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let (table, aliases) = (source.data.messages(), source.aliases);
        if aliases.is_empty() {
            export(&table, self.format, &mut *output.writer, output.name)?;
        } else {
            let call = |endpoint: &str| aliases.endpoint_text(endpoint);
            let columns = ["src_endpoint", "dst_endpoint"];
            export_renamed(&table, &columns, call, self.format, &mut *output.writer, output.name)?;
        }
        Ok(None)
    }
}
