//! OTLP, the format of OpenTelemetry, which Jaeger, Tempo and every collector take. Its messages
//! are in [`messages`].
//!
//! A file has a request a line as JSON, or the requests one after the other as protobuf, which
//! together are one message. So neither needs the whole in memory. A collector gets request by
//! request ([`Collector`]).

mod attributes;
mod contexts;
mod messages;
mod operations;
mod requests;
mod send;
mod spent;
mod writer;

use registry::{About, Flag, Given, values};

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, Format, LIMIT, PATTERN};
use crate::kind::Kind;
use crate::traces::{Operations, TraceChoice, write_traces};
use requests::{JsonLines, Protobuf};
use send::{Collector, Retries};
use spent::Spent;
use writer::{Known, RequestWriter};

/// The address of a collector.
static TO: Flag<String> =
    Flag::text("to", "URL", values::text, "Of otlp: send it to this collector, by OTLP over HTTP")
        .conflicts(&["output", "format"])
        .refused("--to is for otlp only");

/// Headers of each request.
static HEADER: Flag<String> = Flag::text(
    "header",
    "KEY=VALUE",
    values::text,
    "A header for the collector, such as 'authorization=Bearer TOKEN'; may be given again",
)
.repeated()
.requires(&["to"]);

/// The entry in the registry.
pub(crate) static OTLP: Kind = Kind {
    about: About {
        name: "otlp",
        summary: "Traces as spans of OpenTelemetry",
        examples: &[
            "sockcap export otlp --to http://localhost:4318",
            "sockcap export otlp --format protobuf -o traces.pb",
        ],
        ..About::NOTHING
    },
    opened_by: "Jaeger, Tempo, any OpenTelemetry back end",
    flags: &[&FORMAT, &PATTERN, &LIMIT, &TO, &HEADER],
    make: exporter,
};

/// An exporter of traces as OTLP, with its options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Otlp {
    /// The traces that are wanted.
    pub traces: TraceChoice,
    /// The encoding of a file.
    pub encoding: Encoding,
    /// The collector that the traces are sent to by OTLP over HTTP. Nothing is then written to the
    /// output.
    pub to: Option<Receiver>,
}

/// The encoding of requests in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// JSON, a request a line.
    #[default]
    Json,
    /// Protobuf, one message in all.
    Protobuf,
}

/// A collector, as the user names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Receiver {
    /// The address, such as `http://localhost:4318`. The path of traces may be left out.
    pub url: String,
    /// Headers for each request: `KEY=VALUE`.
    pub headers: Vec<String>,
}

/// The exporter that the user wants.
fn exporter(given: &Given) -> Result<Box<dyn Exporter>, String> {
    let encoding = match given.get(&FORMAT) {
        None | Some(Format::Json) => Encoding::Json,
        Some(Format::Protobuf) => Encoding::Protobuf,
        Some(Format::Csv | Format::Parquet) => return Err(FORMAT.spec.refusal()),
    };
    let to = given.get(&TO).map(|url| Receiver { url, headers: given.all(&HEADER) });
    Ok(Box::new(Otlp { traces: TraceChoice::of(given), encoding, to }))
}

impl Receiver {
    fn connect(&self) -> Result<Collector, Error> {
        Ok(Collector::new(&self.url, &self.headers, Retries::default())?)
    }
}

impl Exporter for Otlp {
    fn needs(&self) -> Needs {
        Needs::Resources
    }

    fn check(&self) -> Result<(), Error> {
        self.to.as_ref().map_or(Ok(()), |receiver| receiver.connect().map(drop))
    }

    fn sent_to(&self) -> Option<&str> {
        self.to.as_ref().map(|receiver| receiver.url.as_str())
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let file = &mut *output.writer;
        let spent = Spent::read(source.data)?;
        let operations = Operations::read(source.data)?;
        let known = Known { spent: Some(&spent), operations: &operations };
        let count = match (&self.to, self.encoding) {
            (Some(receiver), _) => {
                let mut writer = RequestWriter::new(receiver.connect()?, known);
                let count = write_traces(source, self.traces, &mut writer)?;
                writer.into_requests().all_were_wanted(&receiver.url)?;
                count
            }
            (None, Encoding::Json) => {
                let mut writer = RequestWriter::new(JsonLines(file), known);
                write_traces(source, self.traces, &mut writer)?
            }
            (None, Encoding::Protobuf) => {
                let mut writer = RequestWriter::new(Protobuf(file), known);
                write_traces(source, self.traces, &mut writer)?
            }
        };
        Ok(Some(count))
    }
}
