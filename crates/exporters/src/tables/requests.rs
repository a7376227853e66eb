//! The table of requests.

use clap::Args;
use message_trace::table::export::{TableFormat, export_table};
use registry::{EntryHelp, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{FormatFlag, table_format};

/// The entry in the registry.
pub(crate) static REQUESTS: ExporterSpec = Spec {
    about: EntryHelp {
        name: "requests",
        summary: "Table: the requests, one row each",
        ..EntryHelp::NOTHING
    },
    flags: FormatFlag::augment_args,
    entry: ExporterEntry {
        opened_by: "",
        make: |given| Ok(Box::new(RequestsExporter { format: table_format(given)? })),
    },
};

/// An exporter of the table of requests, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestsExporter {
    /// The format of the table.
    pub format: TableFormat,
}

impl Exporter for RequestsExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Requests
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        export_table(source.data.requests_path(), self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
