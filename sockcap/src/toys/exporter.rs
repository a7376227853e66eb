//! An exporter that draws how many messages there are.

use exporters::{Error, Exporter, Kind, Needs, Output, Source, TraceCount};
use message_trace::MessageTrace;
use registry::{About, Choice, Flag, values};

static COLOUR: Flag<String> = Flag::one_of(
    "colour",
    "WHICH",
    || ["red", "green"].map(Choice::plain).to_vec(),
    values::text,
    "Of toy: the colour [default: red]",
)
.refused("--colour is for toys only");

pub(crate) static KIND: Kind = Kind {
    about: About {
        name: "toy",
        summary: "The number of messages, drawn",
        examples: &["sockcap export toy --colour green"],
        ..About::NOTHING
    },
    opened_by: "Crayons",
    flags: &[&COLOUR],
    make: |given| {
        let colour = given.get(&COLOUR).unwrap_or_else(|| "red".to_owned());
        Ok(Box::new(Drawing { colour }))
    },
};

struct Drawing {
    colour: String,
}

impl Exporter for Drawing {
    fn needs(&self) -> Needs {
        Needs::Messages
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let trace = MessageTrace::read(source.data.messages(), source.data.nodes())?;
        writeln!(output.writer, "{} messages in {}", trace.len(), self.colour)?;
        output.writer.flush()?;
        Ok(None)
    }
}
