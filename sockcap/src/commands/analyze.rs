//! `sockcap analyze`: messages to links, paths and patterns.

use std::process::ExitCode;

use crate::cli::Analyze;
use crate::error::Error;
use crate::{stages, words};

pub(crate) fn run(arguments: &Analyze) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    stages::messages(&data)?;
    let options = arguments.options();
    let summary =
        stages::analyze(&data, stages::with_names(&data, &arguments.inference, options)?)?;
    anstream::eprintln!(
        "sockcap: {}; next: sockcap report{}",
        words::analysis(&summary),
        words::same_directory(&data),
    );
    Ok(ExitCode::SUCCESS)
}
