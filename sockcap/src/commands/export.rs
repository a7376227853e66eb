//! `sockcap export`: a stage's table in another format.

use std::io::{self, BufWriter};
use std::path::Path;
use std::process::ExitCode;

use message_trace::table::export::export;

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
    let table = match arguments.table {
        Table::Messages => data.messages(),
        Table::Nodes => data.nodes(),
        Table::Links => data.links(),
        Table::Paths => data.paths(),
        Table::Patterns => data.patterns(),
    };
    match arguments.table {
        Table::Messages | Table::Nodes => stages::messages(&data)?,
        Table::Links | Table::Paths | Table::Patterns => {
            stages::analysis(&data, &Inference::named_by(arguments.aliases.clone()))?;
        }
    }
    match (output, target) {
        (Some(path), Some(target)) => {
            let file = target.create().map_err(refused(path))?;
            export(&table, arguments.format, BufWriter::new(file), path)?;
        }
        _ => {
            let stdout = BufWriter::new(io::stdout().lock());
            export(&table, arguments.format, stdout, Path::new("standard output"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
