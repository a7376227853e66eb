//! A stage's table as CSV, JSON or Parquet.

use std::io::Write;
use std::path::Path;

use analyze::AnalysisSummary;
use analyze::calls::CallTable;
use analyze::infer::Links;
use analyze::naming::{Aliases, called};
use message_trace::table::export::{
    Format as TableFormat, export, export_batches, export_nodes, export_renamed,
};
use message_trace::{DataDir, MessageTrace};

use super::{Export, Exported, Format};
use crate::arguments::Inference;
use crate::error::Error;
use crate::stages;

pub(super) fn run(arguments: &Export) -> Result<(), Error> {
    let data = arguments.data.dir();
    // What an analysis makes has the user's names already.
    let ready = || match arguments.exported {
        Exported::Messages | Exported::Nodes => {
            stages::messages(&data)?;
            stages::names(&data, arguments.aliases.as_deref())
        }
        _ => {
            stages::analysis(&data, &Inference::named_by(arguments.aliases.clone()))?;
            Ok(Aliases::default())
        }
    };
    super::to_output(arguments, ready, |aliases, output, name| {
        write(arguments, &data, &aliases, output, name)
    })
}

/// Writes the table to `output`, which is called `name`, with the names that `aliases` give.
fn write(
    arguments: &Export,
    data: &DataDir,
    aliases: &Aliases,
    output: impl Write + Send,
    name: &Path,
) -> Result<(), Error> {
    let format = format(arguments);
    let table = match arguments.exported {
        Exported::Calls => return write_calls(format, data, output, name),
        Exported::Messages => data.messages(),
        Exported::Nodes => data.nodes(),
        Exported::Links => data.links(),
        Exported::Paths => data.paths(),
        _ => data.patterns(),
    };
    match arguments.exported {
        _ if aliases.is_empty() => export(&table, format, output, name)?,
        Exported::Messages => {
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

/// The format that was asked for.
fn format(arguments: &Export) -> TableFormat {
    match arguments.format {
        Some(Format::Json) => TableFormat::Json,
        Some(Format::Parquet) => TableFormat::Parquet,
        _ => TableFormat::Csv,
    }
}

/// Writes the calls, which no stage keeps: they follow from the messages and the links.
fn write_calls(
    format: TableFormat,
    data: &DataDir,
    output: impl Write + Send,
    name: &Path,
) -> Result<(), Error> {
    let path = data.messages();
    let trace = MessageTrace::read(&path, &data.nodes())?;
    let options = AnalysisSummary::read(&data.analysis())?.options;
    let calls = CallTable::new(&trace, &Links::read(&data.links())?, &options, &path);
    Ok(export_batches(CallTable::schema(), calls, format, output, name)?)
}
