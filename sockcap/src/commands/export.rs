//! `sockcap export`: a stage's table in another format, and traces and patterns for other tools.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analyze::naming::Aliases;
use clap::{Parser, ValueEnum};
use exports::{
    Chrome, Dot, Exporter, Folded, Mermaid, Needs, Otlp, Output, Perfetto, Source, TraceChoice,
    TraceCount, dot, otlp, tables,
};
use message_trace::DataDir;

use crate::arguments::offers::patterns;
use crate::arguments::{Data, Inference};
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::output::{Target, counted, say};
use crate::progress::Terminal;
use crate::stages;

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
        let exporter = exporter(self);
        exporter.check()?;
        if let Some(count) = write(&*exporter, self)? {
            if count.traces == 0 {
                // The output is well formed, and of no use.
                say("no trace was written: no call begins one of those that were asked for");
            }
            if let Some(url) = &self.to {
                let spans = counted(count.spans, "span", "spans");
                let traces = counted(count.traces, "trace", "traces");
                anstream::eprintln!("sockcap: {spans} of {traces} sent to {url}");
            }
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

/// The exporter that was asked for, with its options.
fn exporter(arguments: &Export) -> Box<dyn Exporter> {
    let traces = TraceChoice { pattern: arguments.pattern, limit: arguments.limit };
    let (pattern, limit) = (arguments.pattern, arguments.limit);
    let format = match arguments.format {
        Some(Format::Json) => tables::Format::Json,
        Some(Format::Parquet) => tables::Format::Parquet,
        _ => tables::Format::Csv,
    };
    match arguments.exported {
        Exported::Messages => Box::new(tables::Messages { format }),
        Exported::Nodes => Box::new(tables::Nodes { format }),
        Exported::Calls => Box::new(tables::Calls { format }),
        Exported::Links => Box::new(tables::Links { format }),
        Exported::Paths => Box::new(tables::Paths { format }),
        Exported::Patterns => Box::new(tables::Patterns { format }),
        Exported::Otlp => {
            let encoding = match arguments.format {
                Some(Format::Protobuf) => otlp::Encoding::Protobuf,
                _ => otlp::Encoding::Json,
            };
            let headers = arguments.headers.clone();
            let to = arguments.to.clone().map(|url| otlp::Receiver { url, headers });
            Box::new(Otlp { traces, encoding, to })
        }
        Exported::Perfetto => Box::new(Perfetto { traces }),
        Exported::Chrome => Box::new(Chrome { traces }),
        Exported::Folded => Box::new(Folded { pattern, limit }),
        Exported::Dot => {
            let graph = match arguments.what.unwrap_or_default() {
                Graph::Pattern => dot::Graph::Pattern,
                Graph::Calls => dot::Graph::Calls,
                Graph::Delays => dot::Graph::Delays,
                Graph::Map => dot::Graph::Map,
            };
            Box::new(Dot { graph, pattern, limit })
        }
        Exported::Mermaid => Box::new(Mermaid { pattern }),
    }
}

/// Runs what is missing and writes the export, to the file that was named or standard output. A
/// file is tried out first and keeps what it holds until there is something to write.
fn write(exporter: &dyn Exporter, arguments: &Export) -> Result<Option<TraceCount>, Error> {
    let refused = |path: &Path| {
        let path = path.to_owned();
        |source| Error::File { path, source }
    };
    let path = arguments.output.as_deref();
    let target = path.map(|path| Target::try_out(path).map_err(refused(path))).transpose()?;
    let data = arguments.data.dir();
    let aliases = ready(exporter.needs(), &data, arguments)?;
    let source = Source { data: &data, aliases: &aliases, progress: &Terminal::new() };
    let (mut writer, name): (Box<dyn Write + Send>, &Path) = match (path, target) {
        (Some(path), Some(target)) => (Box::new(target.create().map_err(refused(path))?), path),
        _ => (Box::new(io::stdout()), Path::new("standard output")),
    };
    let mut writer = BufWriter::new(&mut writer);
    exporter.write(&source, &mut Output { writer: &mut writer, name }).map_err(
        |error| match error {
            exports::Error::Output(source) if source.kind() != io::ErrorKind::BrokenPipe => {
                refused(name)(source)
            }
            error => error.into(),
        },
    )
}

/// Sees to it that what is needed is there, and gives the user's names for it. What an analysis
/// makes has them already.
fn ready(needs: Needs, data: &DataDir, arguments: &Export) -> Result<Aliases, Error> {
    match needs {
        Needs::Messages => {
            stages::messages(data)?;
            stages::names(data, arguments.aliases.as_deref())
        }
        Needs::Analysis => {
            stages::analysis(data, &Inference::named_by(arguments.aliases.clone()))?;
            Ok(Aliases::default())
        }
    }
}
