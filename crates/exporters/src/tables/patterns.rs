//! The table of path patterns.

use clap::Args;
use message_trace::table::export::{TableFormat, export_table};
use registry::{EntryHelp, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{FormatFlag, table_format};

/// The entry in the registry.
pub(crate) static PATTERNS: ExporterSpec = Spec {
    about: EntryHelp {
        name: "patterns",
        summary: "Table: the path patterns, one row per hop",
        examples: &["sockcap export patterns --format json -o patterns.jsonl"],
        ..EntryHelp::NOTHING
    },
    flags: FormatFlag::augment_args,
    entry: ExporterEntry {
        opened_by: "",
        make: |given| Ok(Box::new(PatternsExporter { format: table_format(given)? })),
    },
};

/// An exporter of the table of patterns, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PatternsExporter {
    /// The format of the table.
    pub format: TableFormat,
}

impl Exporter for PatternsExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Analysis
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        export_table(source.data.patterns_path(), self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
