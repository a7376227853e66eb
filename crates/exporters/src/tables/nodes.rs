//! The table of nodes, with the names that the user gives to them.

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

/// An exporter of the table of nodes, with its options.
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
            // Only the messages tell which node accepts at which endpoint and has which address.
            let trace = MessageTrace::read(source.data.messages(), &table)?;
            let nodes = called(&trace, aliases);
            export_nodes(&nodes, &table, self.format, &mut *output.writer, output.name)?;
        }
        Ok(None)
    }
}
