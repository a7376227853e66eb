//! OTLP, the format of OpenTelemetry, which Jaeger, Tempo and every collector accept. The messages
//! of the format are in [`messages`].
//!
//! A file has one request per line as JSON, or concatenated requests as protobuf, which together
//! are one message. Neither form needs the whole export in memory. A collector receives request by
//! request ([`CollectorClient`]).

mod attributes;
mod contexts;
mod messages;
mod operations;
mod request_sink;
mod send;
mod spent;
mod writer;

use clap::{ArgMatches, Args};
use registry::{EntryHelp, Refusal, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{ExportFormat, FORMAT_REFUSAL, FormatFlag, SelectionFlags, read_flags};
use crate::traces::{OperationLookup, TraceChoice, write_traces};
use request_sink::{JsonLines, ProtobufFile};
use send::{CollectorClient, RetryPolicy};
use spent::SpentTimes;
use writer::{CallDetails, OtlpWriter};

/// The flags of OTLP.
#[derive(Args)]
struct OtlpFlags {
    #[command(flatten)]
    format: FormatFlag,
    #[command(flatten)]
    selection: SelectionFlags,
    /// For otlp: send the traces to this collector, by OTLP over HTTP
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["output", "format"],
        add = Refusal("--to is for otlp only")
    )]
    to: Option<String>,
    /// A header for the collector, such as 'authorization=Bearer TOKEN'; may be given several times
    #[arg(long, value_name = "KEY=VALUE", requires = "to")]
    header: Vec<String>,
}

/// The entry in the registry.
pub(crate) static OTLP: ExporterSpec = Spec {
    about: EntryHelp {
        name: "otlp",
        summary: "Traces as spans of OpenTelemetry",
        examples: &[
            "sockcap export otlp --to http://localhost:4318",
            "sockcap export otlp --format protobuf -o traces.pb",
        ],
        ..EntryHelp::NOTHING
    },
    flags: OtlpFlags::augment_args,
    entry: ExporterEntry {
        opened_by: "Jaeger, Tempo, any OpenTelemetry back end",
        make: build_exporter,
    },
};

/// An exporter of traces as OTLP, with its options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OtlpExporter {
    /// The traces to export.
    pub traces: TraceChoice,
    /// The encoding of a file.
    pub encoding: OtlpEncoding,
    /// The collector that receives the traces by OTLP over HTTP. Nothing is written to the output
    /// then.
    pub to: Option<CollectorAddress>,
}

/// The encoding of requests in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OtlpEncoding {
    /// JSON, one request per line.
    #[default]
    Json,
    /// Protobuf, one message in all.
    Protobuf,
}

/// A collector, as given by the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CollectorAddress {
    /// The address, such as `http://localhost:4318`. The path of traces may be omitted.
    pub url: String,
    /// Headers for each request: `KEY=VALUE`.
    pub headers: Vec<String>,
}

/// Builds the exporter from the user's options.
fn build_exporter(given: &ArgMatches) -> Result<Box<dyn Exporter>, String> {
    let OtlpFlags { format, selection, to, header } = read_flags(given)?;
    let encoding = match format.format.unwrap_or(ExportFormat::OF_OTLP) {
        ExportFormat::Json => OtlpEncoding::Json,
        ExportFormat::Protobuf => OtlpEncoding::Protobuf,
        ExportFormat::Csv | ExportFormat::Parquet => return Err(FORMAT_REFUSAL.to_owned()),
    };
    let to = to.map(|url| CollectorAddress { url, headers: header });
    Ok(Box::new(OtlpExporter { traces: selection.into(), encoding, to }))
}

impl CollectorAddress {
    fn connect(&self) -> Result<CollectorClient, Error> {
        Ok(CollectorClient::new(&self.url, &self.headers, RetryPolicy::default())?)
    }
}

impl Exporter for OtlpExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Resources
    }

    fn check_options(&self) -> Result<(), Error> {
        self.to.as_ref().map_or(Ok(()), |receiver| receiver.connect().map(drop))
    }

    fn sent_to(&self) -> Option<&str> {
        self.to.as_ref().map(|receiver| receiver.url.as_str())
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let file = &mut *output.writer;
        let spent = SpentTimes::read_spent(source.data)?;
        let operations = OperationLookup::read_operations(source.data)?;
        let known = CallDetails { spent: Some(&spent), operations: &operations };
        let count = match (&self.to, self.encoding) {
            (Some(receiver), _) => {
                let mut writer = OtlpWriter::new(receiver.connect()?, known);
                let count = write_traces(source, self.traces, &mut writer)?;
                writer.into_requests().check_all_accepted(&receiver.url)?;
                count
            }
            (None, OtlpEncoding::Json) => {
                let mut writer = OtlpWriter::new(JsonLines(file), known);
                write_traces(source, self.traces, &mut writer)?
            }
            (None, OtlpEncoding::Protobuf) => {
                let mut writer = OtlpWriter::new(ProtobufFile(file), known);
                write_traces(source, self.traces, &mut writer)?
            }
        };
        Ok(Some(count))
    }
}
