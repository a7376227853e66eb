//! `sockcap export`: a stage's table in another format.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use analyze::AnalysisSummary;
use analyze::calls::CallTable;
use analyze::infer::Links;
use analyze::naming::{Aliases, called};
use message_trace::table::export::{export, export_batches, export_nodes, export_renamed};
use message_trace::{DataDir, MessageTrace};

use crate::cli::{Export, Inference, Table};
use crate::error::Error;
use crate::output::Target;
use crate::stages;

pub(crate) fn run(arguments: &Export) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    let refused = |path: &Path| {
        let path = path.to_owned();
        |source| Error::File { path, source }
    };
    let output = arguments.output.as_deref();
    let target = output.map(|path| Target::try_out(path).map_err(refused(path))).transpose()?;
    match arguments.table {
        Table::Messages | Table::Nodes => stages::messages(&data)?,
        Table::Calls | Table::Links | Table::Paths | Table::Patterns => {
            stages::analysis(&data, &Inference::named_by(arguments.aliases.clone()))?;
        }
    }
    // What an analysis makes has the user's names already.
    let aliases = match arguments.table {
        Table::Messages | Table::Nodes => stages::names(&data, arguments.aliases.as_deref())?,
        Table::Calls | Table::Links | Table::Paths | Table::Patterns => Aliases::default(),
    };
    match (output, target) {
        (Some(path), Some(target)) => {
            let file = target.create().map_err(refused(path))?;
            write(arguments, &data, &aliases, BufWriter::new(file), path)?;
        }
        _ => write(arguments, &data, &aliases, BufWriter::new(io::stdout()), Path::new("standard output"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the table to `output`, which is called `name`, with the names that `aliases` give.
fn write(
    arguments: &Export,
    data: &DataDir,
    aliases: &Aliases,
    output: impl Write + Send,
    name: &Path,
) -> Result<(), Error> {
    let format = arguments.format;
    let table = match arguments.table {
        Table::Calls => return write_calls(arguments, data, output, name),
        Table::Messages => data.messages(),
        Table::Nodes => data.nodes(),
        Table::Links => data.links(),
        Table::Paths => data.paths(),
        Table::Patterns => data.patterns(),
    };
    match arguments.table {
        _ if aliases.is_empty() => export(&table, format, output, name)?,
        Table::Messages => {
            let call = |endpoint: &str| aliases.endpoint_text(endpoint);
            export_renamed(&table, &["src_endpoint", "dst_endpoint"], call, format, output, name)?;
        }
        _ => {
            // Who accepts where, and who has which address, only the messages tell.
            let trace = MessageTrace::read(&data.messages(), &table)?;
            export_nodes(&called(&trace, aliases), &table, format, output, name)?;
        }
    }
    Ok(())
}

/// Writes the calls, which no stage keeps: they follow from the messages and the links.
fn write_calls(
    arguments: &Export,
    data: &DataDir,
    output: impl Write + Send,
    name: &Path,
) -> Result<(), Error> {
    let path = data.messages();
    let trace = MessageTrace::read(&path, &data.nodes())?;
    let options = AnalysisSummary::read(&data.analysis())?.options;
    let calls = CallTable::new(&trace, &Links::read(&data.links())?, &options, &path);
    Ok(export_batches(CallTable::schema(), calls, arguments.format, output, name)?)
}
