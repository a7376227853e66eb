//! The table of nodes, with the names that the user gives to them.

use analyze::naming::apply_aliases;
use clap::Args;
use message_trace::MessageTrace;
use message_trace::table::export::{TableFormat, export_nodes, export_table};
use registry::{EntryHelp, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{FormatFlag, table_format};

/// The entry in the registry.
pub(crate) static NODES: ExporterSpec = Spec {
    about: EntryHelp {
        name: "nodes",
        summary: "Table: the senders and receivers of messages",
        ..EntryHelp::NOTHING
    },
    flags: FormatFlag::augment_args,
    entry: ExporterEntry {
        opened_by: "",
        make: |given| Ok(Box::new(NodesExporter { format: table_format(given)? })),
    },
};

/// An exporter of the table of nodes, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NodesExporter {
    /// The format of the table.
    pub format: TableFormat,
}

impl Exporter for NodesExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Messages
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let (table, aliases) = (source.data.nodes_path(), source.aliases);
        if aliases.is_empty() {
            export_table(&table, self.format, &mut *output.writer, output.name)?;
        } else {
            // Only the messages show which node accepts at which endpoint and has which address.
            let trace = MessageTrace::read(source.data.messages_path(), &table)?;
            let nodes = apply_aliases(&trace, aliases);
            export_nodes(&nodes, &table, self.format, &mut *output.writer, output.name)?;
        }
        Ok(None)
    }
}
