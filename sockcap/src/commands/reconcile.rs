//! `sockcap reconcile`: logs to messages.

use std::process::ExitCode;

use crate::cli::Reconcile;
use crate::error::Error;
use crate::{stages, words};

pub(crate) fn run(arguments: &Reconcile) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    let reconciliation = stages::reconcile(&data, &arguments.options())?;
    anstream::eprintln!(
        "sockcap: {}; next: sockcap analyze{}",
        words::reconciliation(&reconciliation),
        words::same_directory(&data),
    );
    Ok(ExitCode::SUCCESS)
}
