//! `sockcap export`: a stage's table in another format.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::process::ExitCode;

use message_trace::table::export::export;

use crate::cli::{Export, Inference, Table};
use crate::error::Error;
use crate::stages;

pub(crate) fn run(arguments: &Export) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    // The file is opened before the work, so that a wrong name is told at once.
    let file = match &arguments.output {
        Some(path) => {
            let file = File::create(path).map_err(|source| Error::File { path: path.clone(), source })?;
            Some((path, file))
        }
        None => None,
    };
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
            stages::analysis(&data, &Inference::default())?;
        }
    }
    match file {
        Some((path, file)) => export(&table, arguments.format, BufWriter::new(file), path)?,
        None => {
            let stdout = BufWriter::new(io::stdout().lock());
            export(&table, arguments.format, stdout, Path::new("standard output"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
