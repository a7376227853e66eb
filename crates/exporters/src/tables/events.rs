//! The tables of events, combined.

use clap::Args;
use message_trace::table::export::TableFormat;
use registry::{EntryHelp, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{FormatFlag, table_format};

/// The entry in the registry.
pub(crate) static EVENTS: ExporterSpec = Spec {
    about: EntryHelp {
        name: "events",
        summary: "Table: the events of all imports and recordings, in the order of time",
        ..EntryHelp::NOTHING
    },
    flags: FormatFlag::augment_args,
    entry: ExporterEntry {
        opened_by: "",
        make: |given| Ok(Box::new(EventsExporter { format: table_format(given)? })),
    },
};

/// An exporter of the tables of events, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EventsExporter {
    /// The format of the table.
    pub format: TableFormat,
}

impl Exporter for EventsExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Events
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let tables = ::events::find_tables(source.data.events_dir())?;
        if tables.is_empty() {
            return Err(Error::NoEvents(source.data.path().to_owned()));
        }
        ::events::export_events(&tables, self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
