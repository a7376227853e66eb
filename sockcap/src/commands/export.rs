//! `sockcap export`: a stage's table in another format, and traces and patterns for other tools.

mod patterns;
mod tables;
mod traces;

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use message_trace::PathError;

use crate::cli::{Export, Exported, Format, Graph};
use crate::error::Error;
use crate::output::Target;

pub(crate) fn run(arguments: &Export) -> Result<ExitCode, Error> {
    if let Some(why) = unsuited(arguments) {
        return Err(Error::Usage(why));
    }
    match arguments.exported {
        Exported::Otlp | Exported::Perfetto | Exported::Chrome => traces::run(arguments)?,
        Exported::Folded | Exported::Dot | Exported::Mermaid => patterns::run(arguments)?,
        _ => tables::run(arguments)?,
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
        move |source| Error::File(PathError::io(&path, source))
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
