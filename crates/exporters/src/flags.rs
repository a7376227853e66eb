//! Flags that several exporters share.

use std::str::FromStr;

use clap::{ArgMatches, Args, FromArgMatches};
use registry::Refusal;
use registry::values::one_of;

use crate::tables::TableFormat;

/// The message with which an export refuses a format.
pub(crate) const FORMAT_REFUSAL: &str = "not a format for this export: tables have csv, json and \
     parquet, otlp has json and protobuf, and all others have a fixed format";

/// The message with which an export refuses `--pattern`.
pub(crate) const PATTERN_REFUSAL: &str = "--pattern is for traces and for exports of patterns";

/// The message with which an export refuses `--limit`.
pub(crate) const LIMIT_REFUSAL: &str = "--limit is for exports of traces, patterns or edges";

/// `--format FORMAT`: the format of tables and of OTLP.
#[derive(Args)]
pub(crate) struct FormatFlag {
    #[arg(
        long,
        value_name = "FORMAT",
        help = format_help(),
        value_parser = one_of::<ExportFormat>(ExportFormat::ALL.map(ExportFormat::name)),
        hide_possible_values = true,
        add = Refusal(FORMAT_REFUSAL)
    )]
    pub(crate) format: Option<ExportFormat>,
}

fn format_help() -> String {
    format!(
        "The format: for tables csv, json (one object per line) or parquet [default: {}]; for otlp \
         json (one request per line) or protobuf [default: {}]; all others have a fixed format",
        ExportFormat::OF_TABLES.name(),
        ExportFormat::OF_OTLP.name()
    )
}

/// `--pattern N`: the only pattern to export.
#[derive(Args)]
pub(crate) struct PatternFlag {
    /// Only the pattern of that number: its traces, or the pattern itself [default: all; dot and
    /// mermaid: 0]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(i64).range(0..),
        add = Refusal(PATTERN_REFUSAL)
    )]
    pub(crate) pattern: Option<i64>,
}

/// Flags that select what is exported.
#[derive(Args)]
pub(crate) struct SelectionFlags {
    #[command(flatten)]
    pub(crate) only: PatternFlag,
    /// Maximum number of traces (the first ones), of patterns (those with the largest total time)
    /// or of edges of a graph
    #[arg(long, value_name = "N", add = Refusal(LIMIT_REFUSAL))]
    pub(crate) limit: Option<usize>,
}

/// An output format, by name; each exporter supports some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    Csv,
    Json,
    Parquet,
    Protobuf,
}

impl ExportFormat {
    /// All formats, in the order in which they are offered.
    const ALL: [ExportFormat; 4] =
        [ExportFormat::Csv, ExportFormat::Json, ExportFormat::Parquet, ExportFormat::Protobuf];

    /// The format of tables unless the user chooses another.
    const OF_TABLES: ExportFormat = ExportFormat::Csv;

    /// The format of OTLP unless the user chooses another.
    pub(crate) const OF_OTLP: ExportFormat = ExportFormat::Json;

    /// The name on the command line.
    fn name(self) -> &'static str {
        match self {
            ExportFormat::Csv => "csv",
            ExportFormat::Json => "json",
            ExportFormat::Parquet => "parquet",
            ExportFormat::Protobuf => "protobuf",
        }
    }
}

impl FromStr for ExportFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<ExportFormat, String> {
        let named = ExportFormat::ALL.into_iter().find(|format| format.name() == text);
        named.ok_or_else(|| FORMAT_REFUSAL.to_owned())
    }
}

/// Reads the flags of an exporter.
///
/// # Errors
/// When the exporter does not declare these flags.
pub(crate) fn read_flags<F: FromArgMatches>(given: &ArgMatches) -> Result<F, String> {
    F::from_arg_matches(given).map_err(|error| error.to_string())
}

/// The format of a table.
///
/// # Errors
/// When tables do not support the format.
pub(crate) fn table_format(given: &ArgMatches) -> Result<TableFormat, String> {
    match read_flags::<FormatFlag>(given)?.format.unwrap_or(ExportFormat::OF_TABLES) {
        ExportFormat::Csv => Ok(TableFormat::Csv),
        ExportFormat::Json => Ok(TableFormat::Json),
        ExportFormat::Parquet => Ok(TableFormat::Parquet),
        ExportFormat::Protobuf => Err(FORMAT_REFUSAL.to_owned()),
    }
}
