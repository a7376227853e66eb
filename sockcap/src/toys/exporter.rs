//! An exporter that draws the number of messages.

use clap::{Args, FromArgMatches};
use exporters::{
    Error, ExportOutput, ExportSource, Exporter, ExporterEntry, ExporterSpec, RequiredStage,
    TraceCount,
};
use message_trace::MessageTrace;
use registry::{EntryHelp, Refusal, ShownDefault, Spec};

/// The colour of a drawing, unless the user chooses another.
const COLOUR: &str = "red";

#[derive(Args)]
struct ToyFlags {
    /// Of toy: the colour
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = [COLOUR, "green"],
        add = ShownDefault::new(COLOUR),
        add = Refusal("--colour is for toys only")
    )]
    colour: Option<String>,
}

pub(crate) static KIND: ExporterSpec = Spec {
    about: EntryHelp {
        name: "toy",
        summary: "The number of messages, drawn",
        examples: &["sockcap export toy --colour green"],
        ..EntryHelp::NOTHING
    },
    flags: ToyFlags::augment_args,
    entry: ExporterEntry {
        opened_by: "Crayons",
        make: |given| {
            let flags = ToyFlags::from_arg_matches(given).map_err(|error| error.to_string())?;
            let colour = flags.colour.unwrap_or_else(|| COLOUR.to_owned());
            Ok(Box::new(ToyExporter { colour }))
        },
    },
};

struct ToyExporter {
    colour: String,
}

impl Exporter for ToyExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Messages
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let trace = MessageTrace::read(source.data.messages_path(), source.data.nodes_path())?;
        writeln!(output.writer, "{} messages in {}", trace.len(), self.colour)?;
        output.writer.flush()?;
        Ok(None)
    }
}
