//! `sockcap export`: a stage's table in another format, and traces and patterns for other tools.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use analyze::naming::Aliases;
use exports::{
    Chrome, Dot, Exporter, Folded, Mermaid, Needs, Otlp, Output, Perfetto, Source, TraceChoice,
    TraceCount, dot, otlp, tables,
};
use message_trace::DataDir;

use crate::cli::{Export, Exported, Format, Graph, Inference};
use crate::error::Error;
use crate::output::{Target, counted, say};
use crate::progress::Terminal;
use crate::stages;

pub(crate) fn run(arguments: &Export) -> Result<ExitCode, Error> {
    if let Some(why) = unsuited(arguments) {
        return Err(Error::Usage(why));
    }
    let exporter = exporter(arguments);
    exporter.check()?;
    if let Some(count) = write(&*exporter, arguments)? {
        if count.traces == 0 {
            // The output is well formed, and of no use.
            say("no trace was written: no call begins one of those that were asked for");
        }
        if let Some(url) = &arguments.to {
            let spans = counted(count.spans, "span", "spans");
            let traces = counted(count.traces, "trace", "traces");
            anstream::eprintln!("sockcap: {spans} of {traces} sent to {url}");
        }
    }
    Ok(ExitCode::SUCCESS)
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
