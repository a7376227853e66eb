//! The table of messages, with the names that the user gives to endpoints.

use clap::Args;
use message_trace::table::export::{TableFormat, export_renamed, export_table};
use registry::{EntryHelp, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{FormatFlag, table_format};

/// The entry in the registry.
pub(crate) static MESSAGES: ExporterSpec = Spec {
    about: EntryHelp {
        name: "messages",
        summary: "Table: messages with sender and receiver, and the times at both ends",
        examples: &["sockcap export messages > messages.csv"],
        ..EntryHelp::NOTHING
    },
    flags: FormatFlag::augment_args,
    entry: ExporterEntry {
        opened_by: "",
        make: |given| Ok(Box::new(MessagesExporter { format: table_format(given)? })),
    },
};

/// An exporter of the table of messages, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MessagesExporter {
    /// The format of the table.
    pub format: TableFormat,
}

impl Exporter for MessagesExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Messages
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let (table, aliases) = (source.data.messages_path(), source.aliases);
        if aliases.is_empty() {
            export_table(&table, self.format, &mut *output.writer, output.name)?;
        } else {
            let call = |endpoint: &str| aliases.endpoint_text(endpoint);
            let columns = ["src_endpoint", "dst_endpoint"];
            export_renamed(&table, &columns, call, self.format, &mut *output.writer, output.name)?;
        }
        Ok(None)
    }
}
