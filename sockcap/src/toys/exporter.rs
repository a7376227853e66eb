//! An exporter that draws the number of messages.

use exporters::{
    Error, ExportOutput, ExportSource, Exporter, ExporterEntry, ExporterSpec, RequiredStage,
    TraceCount,
};
use message_trace::MessageTrace;
use registry::{EntryHelp, Flag, FlagChoice, Spec, values};

static COLOUR: Flag<String> = Flag::one_of(
    "colour",
    "WHICH",
    || ["red", "green"].map(FlagChoice::without_help).to_vec(),
    values::parse_text,
    "Of toy: the colour [default: red]",
)
.refused("--colour is for toys only");

pub(crate) static KIND: ExporterSpec = Spec {
    about: EntryHelp {
        name: "toy",
        summary: "The number of messages, drawn",
        examples: &["sockcap export toy --colour green"],
        ..EntryHelp::NOTHING
    },
    flags: &[&COLOUR],
    entry: ExporterEntry {
        opened_by: "Crayons",
        make: |given| {
            let colour = given.get(&COLOUR).unwrap_or_else(|| "red".to_owned());
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
