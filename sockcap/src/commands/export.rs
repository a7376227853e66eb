//! `sockcap export`: a stage's table in another format, and traces and patterns for other tools.

mod patterns;
mod tables;
mod traces;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::arguments::Data;
use crate::arguments::offers::patterns;
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::output::Target;

const HELP: &str = "\
What opens what:
  otlp      Jaeger, Tempo, any OpenTelemetry back end
  perfetto  https://ui.perfetto.dev
  chrome    chrome://tracing, Perfetto, Speedscope
  folded    flamegraph.pl, inferno, Speedscope
  dot       Graphviz
  mermaid   GitHub, GitLab, wikis

Examples:
  sockcap export messages > messages.csv
  sockcap export calls --format parquet -o calls.parquet
  sockcap export patterns --format json -o patterns.jsonl
  sockcap export otlp --to http://localhost:4318
  sockcap export otlp --format protobuf -o traces.pb
  sockcap export perfetto -o trace.perfetto --pattern 2 --limit 100
  sockcap export folded | flamegraph.pl --countname ns > flames.svg
  sockcap export dot --what map | dot -Tsvg > map.svg
  sockcap export mermaid --pattern 0";

/// Write tables, traces and patterns for other tools
#[derive(Debug, Parser)]
#[command(name = "export", after_help = HELP)]
pub(crate) struct Export {
    /// What is written
    #[arg(value_enum, value_name = "WHAT")]
    exported: Exported,
    #[command(flatten)]
    data: Data,
    /// The format: of tables csv, json (an object a line) or parquet [default: csv]; of otlp json
    /// (a request a line) or protobuf [default: json]; the others have one
    #[arg(long, value_name = "FORMAT", value_enum, hide_possible_values = true)]
    format: Option<Format>,
    /// Of dot: which graph
    #[arg(long, value_name = "GRAPH", value_enum)]
    what: Option<Graph>,
    /// Only the pattern of that number: traces that begin as it does, or the pattern itself
    /// [default: all; dot and mermaid: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..), add = patterns())]
    pattern: Option<i64>,
    /// No more than so many traces, the first ones; patterns, those with the largest total time; or
    /// edges of a graph
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Of otlp: send it to this collector, by OTLP over HTTP
    #[arg(long, value_name = "URL", conflicts_with_all = ["output", "format"])]
    to: Option<String>,
    /// A header for the collector, such as 'authorization=Bearer TOKEN'; may be given again
    #[arg(long = "header", value_name = "KEY=VALUE", requires = "to")]
    headers: Vec<String>,
    /// A file that says what addresses, hosts, commands and endpoints are to be called [default:
    /// DIR/aliases, if there is one]
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) const COMMAND: Subcommand = Subcommand::of::<Export>();

impl Run for Export {
    fn run(&self) -> Result<ExitCode, Error> {
        if let Some(why) = unsuited(self) {
            return Err(Error::Usage(why));
        }
        match self.exported {
            Exported::Otlp | Exported::Perfetto | Exported::Chrome => traces::run(self)?,
            Exported::Folded | Exported::Dot | Exported::Mermaid => patterns::run(self)?,
            _ => tables::run(self)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Exported {
    /// Table: who sent what to whom, with the time at both ends
    Messages,
    /// Table: who the messages went between
    Nodes,
    /// Table: who called whom, with the times at both ends, the call it was made for, and the
    /// probability of that
    Calls,
    /// Table: which message caused which, with a probability
    Links,
    /// Table: the path instances, a row a message
    Paths,
    /// Table: the path patterns, a row a hop
    Patterns,
    /// Traces as spans of OpenTelemetry
    Otlp,
    /// Traces as Perfetto's track events
    Perfetto,
    /// Traces as Chrome's trace events
    Chrome,
    /// Patterns as folded stacks, for flame graphs
    Folded,
    /// A pattern, the map of the system or the paper's figures as a graph of Graphviz
    Dot,
    /// A pattern as a sequence diagram
    Mermaid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Json,
    Parquet,
    Protobuf,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Graph {
    /// A pattern, message by message
    #[default]
    Pattern,
    /// A pattern, call by call: Figure 8 of Project 5
    #[value(alias = "figure8")]
    Calls,
    /// The delays that the convolution algorithm finds: Figure 9 of Project 5
    #[value(alias = "figure9")]
    Delays,
    /// Who calls whom, how often, and how long it takes
    Map,
}

/// Why these arguments do not go together, if they do not.
fn unsuited(arguments: &Export) -> Option<String> {
    use Exported::{Chrome, Dot, Folded, Mermaid, Otlp, Perfetto};
    let exported = arguments.exported;
    let is_table = !matches!(exported, Otlp | Perfetto | Chrome | Folded | Dot | Mermaid);
    let graph = arguments.what.unwrap_or_default();
    let formats: &[Format] = match exported {
        Otlp => &[Format::Json, Format::Protobuf],
        _ if is_table => &[Format::Csv, Format::Json, Format::Parquet],
        _ => &[],
    };
    let no_pattern = is_table || (exported == Dot && matches!(graph, Graph::Map | Graph::Delays));
    let no_limit = is_table || exported == Mermaid || (exported == Dot && !no_pattern);
    let told = [
        (arguments.to.is_some() && exported != Otlp, "--to is for otlp only"),
        (arguments.what.is_some() && exported != Dot, "--what is for dot only"),
        (
            arguments.pattern.is_some() && no_pattern,
            "--pattern is for traces and for what shows a pattern",
        ),
        (
            arguments.limit.is_some() && no_limit,
            "--limit is for what may show many traces, patterns or edges",
        ),
        (
            arguments.format.is_some_and(|format| !formats.contains(&format)),
            "there is no such format of it: tables have csv, json and parquet, otlp has json and protobuf, and the others \
             one only",
        ),
    ];
    told.into_iter()
        .find(|(is, _)| *is)
        .map(|(_, why)| format!("{why}; 'sockcap export --help' has examples"))
}

/// Lets `ready` make what is to be written and then writes it, to the file that was named or
/// standard output. A file is tried out first and keeps what it holds until there is something to
/// write.
fn to_output<T>(
    arguments: &Export,
    ready: impl FnOnce() -> Result<T, Error>,
    write: impl FnOnce(T, &mut (dyn Write + Send), &Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let refused = |path: &Path| {
        let path = path.to_owned();
        |source| Error::File { path, source }
    };
    let output = arguments.output.as_deref();
    let target = output.map(|path| Target::try_out(path).map_err(refused(path))).transpose()?;
    let made = ready()?;
    match (output, target) {
        (Some(path), Some(target)) => {
            let file = target.create().map_err(refused(path))?;
            write(made, &mut BufWriter::new(file), path)
        }
        _ => write(made, &mut BufWriter::new(io::stdout()), Path::new("standard output")),
    }
}
