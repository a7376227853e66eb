//! The table of nodes, with the names that the user gives them.

use analyze::naming::called;
use message_trace::MessageTrace;
use message_trace::table::export::{Format, export, export_nodes};
use registry::About;

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, table_format};
use crate::kind::Kind;

/// The entry in the registry.
pub(crate) static NODES: Kind = Kind {
    about: About {
        name: "nodes",
        summary: "Table: who the messages went between",
        ..About::NOTHING
    },
    opened_by: "",
    flags: &[&FORMAT],
    make: |given| Ok(Box::new(Nodes { format: table_format(given)? })),
};

/// Writes the nodes, with the options of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Nodes {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Nodes {
    fn needs(&self) -> Needs {
        Needs::Messages
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let (table, aliases) = (source.data.nodes(), source.aliases);
        if aliases.is_empty() {
            export(&table, self.format, &mut *output.writer, output.name)?;
        } else {
            // Who accepts where, and who has which address, only the messages tell.
            let trace = MessageTrace::read(&source.data.messages(), &table)?;
            let nodes = called(&trace, aliases);
            export_nodes(&nodes, &table, self.format, &mut *output.writer, output.name)?;
        }
        Ok(None)
    }
}
