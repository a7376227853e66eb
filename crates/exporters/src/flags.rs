//! Flags that several exporters share.

use registry::{Choice, Flag, Given, Offer, values};

use crate::tables;

/// A format by its name: each exporter has some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Csv,
    Json,
    Parquet,
    Protobuf,
}

/// The format of tables and of OTLP.
pub(crate) static FORMAT: Flag<Format> = Flag::one_of(
    "format",
    "FORMAT",
    || ["csv", "json", "parquet", "protobuf"].map(Choice::plain).to_vec(),
    format,
    "The format: of tables csv, json (an object a line) or parquet [default: csv]; of otlp json (a \
     request a line) or protobuf [default: json]; the others have one",
)
.unlisted()
.refused(
    "there is no such format of it: tables have csv, json and parquet, otlp has json and protobuf, \
     and the others one only",
);

fn format(name: &str) -> Result<Format, String> {
    match name {
        "csv" => Ok(Format::Csv),
        "json" => Ok(Format::Json),
        "parquet" => Ok(Format::Parquet),
        "protobuf" => Ok(Format::Protobuf),
        _ => Err(FORMAT.spec.refusal()),
    }
}

/// The format of a table.
///
/// # Errors
/// When tables do not have it.
pub(crate) fn table_format(given: &Given) -> Result<tables::Format, String> {
    match given.get(&FORMAT) {
        None | Some(Format::Csv) => Ok(tables::Format::Csv),
        Some(Format::Json) => Ok(tables::Format::Json),
        Some(Format::Parquet) => Ok(tables::Format::Parquet),
        Some(Format::Protobuf) => Err(FORMAT.spec.refusal()),
    }
}

/// The number of the only pattern that is wanted.
pub(crate) static PATTERN: Flag<i64> = Flag::number(
    "pattern",
    "N",
    0,
    None,
    "Only the pattern of that number: traces that begin as it does, or the pattern itself \
     [default: all; dot and mermaid: 0]",
)
.offers(Offer::Patterns)
.refused("--pattern is for traces and for what shows a pattern");

/// Maximum number of traces, patterns or edges.
pub(crate) static LIMIT: Flag<usize> = Flag::text(
    "limit",
    "N",
    values::whole,
    "No more than so many traces, the first ones; patterns, those with the largest total time; or \
     edges of a graph",
)
.refused("--limit is for what may show many traces, patterns or edges");
