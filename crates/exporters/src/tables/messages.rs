//! The table of messages, with the names that the user gives to endpoints.

use message_trace::table::export::{Format, export, export_renamed};
use registry::About;

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, table_format};
use crate::kind::Kind;

/// The entry in the registry.
pub(crate) static MESSAGES: Kind = Kind {
    about: About {
        name: "messages",
        summary: "Table: who sent what to whom, with the time at both ends",
        examples: &["sockcap export messages > messages.csv"],
        ..About::NOTHING
    },
    opened_by: "",
    flags: &[&FORMAT],
    make: |given| Ok(Box::new(Messages { format: table_format(given)? })),
};

/// An exporter of the table of messages, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Messages {
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
