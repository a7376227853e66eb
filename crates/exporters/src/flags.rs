//! Flags that several exporters share.

use registry::{Flag, FlagChoice, FlagValues, ValueOffer, values};

use crate::tables;

/// An output format, by name; each exporter supports some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    Csv,
    Json,
    Parquet,
    Protobuf,
}

/// The format of tables and of OTLP.
pub(crate) static FORMAT: Flag<ExportFormat> = Flag::one_of(
    "format",
    "FORMAT",
    || ["csv", "json", "parquet", "protobuf"].map(FlagChoice::without_help).to_vec(),
    parse_format,
    "The format: for tables csv, json (one object per line) or parquet [default: csv]; for otlp \
     json (one request per line) or protobuf [default: json]; all others have a fixed format",
)
.unlisted()
.refused(
    "not a format for this export: tables have csv, json and parquet, otlp has json and protobuf, \
     and all others have a fixed format",
);

fn parse_format(name: &str) -> Result<ExportFormat, String> {
    match name {
        "csv" => Ok(ExportFormat::Csv),
        "json" => Ok(ExportFormat::Json),
        "parquet" => Ok(ExportFormat::Parquet),
        "protobuf" => Ok(ExportFormat::Protobuf),
        _ => Err(FORMAT.spec.refusal()),
    }
}

/// The format of a table.
///
/// # Errors
/// When tables do not support the format.
pub(crate) fn table_format(given: &FlagValues) -> Result<tables::TableFormat, String> {
    match given.get(&FORMAT) {
        None | Some(ExportFormat::Csv) => Ok(tables::TableFormat::Csv),
        Some(ExportFormat::Json) => Ok(tables::TableFormat::Json),
        Some(ExportFormat::Parquet) => Ok(tables::TableFormat::Parquet),
        Some(ExportFormat::Protobuf) => Err(FORMAT.spec.refusal()),
    }
}

/// The number of the only pattern to export.
pub(crate) static PATTERN: Flag<i64> = Flag::number(
    "pattern",
    "N",
    0,
    None,
    "Only the pattern of that number: its traces, or the pattern itself [default: all; dot and \
     mermaid: 0]",
)
.offers(ValueOffer::Patterns)
.refused("--pattern is for traces and for exports of patterns");

/// Maximum number of traces, patterns or edges.
pub(crate) static LIMIT: Flag<usize> = Flag::text(
    "limit",
    "N",
    values::parse_whole,
    "Maximum number of traces (the first ones), of patterns (those with the largest total time) or \
     of edges of a graph",
)
.refused("--limit is for exports of traces, patterns or edges");
