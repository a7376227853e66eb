//! `sockcap reconcile`: logs to messages.

use std::process::ExitCode;

use ::clocks::Clocks;

use crate::cli::Reconcile;
use crate::error::Error;
use crate::{clocks, stages, words};

pub(crate) fn run(arguments: &Reconcile) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    let reconciliation = stages::reconcile(&data, &arguments.options())?;
    anstream::eprintln!(
        "sockcap: {}; next: sockcap analyze{}",
        words::reconciliation(&reconciliation),
        words::same_directory(&data),
    );
    if let Some(line) = Clocks::read(&data.clocks()).ok().as_ref().and_then(clocks::contradiction) {
        anstream::eprintln!("sockcap: {line}");
    }
    Ok(ExitCode::SUCCESS)
}
