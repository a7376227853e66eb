//! The table of operations: what each message does.

use clap::Args;
use message_trace::table::export::{TableFormat, export_table};
use registry::{EntryHelp, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{FormatFlag, table_format};

/// The entry in the registry.
pub(crate) static OPERATIONS: ExporterSpec = Spec {
    about: EntryHelp {
        name: "operations",
        summary: "Table: the operations of messages, if they were recorded",
        ..EntryHelp::NOTHING
    },
    flags: FormatFlag::augment_args,
    entry: ExporterEntry {
        opened_by: "",
        make: |given| Ok(Box::new(OperationsExporter { format: table_format(given)? })),
    },
};

/// An exporter of the table of operations, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OperationsExporter {
    /// The format of the table.
    pub format: TableFormat,
}

impl Exporter for OperationsExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Messages
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let table = source.data.operations_path();
        if !table.exists() {
            return Err(Error::NoOperations(source.data.path().to_owned()));
        }
        export_table(&table, self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
