//! `sockcap completions`: the script by which a shell completes commands, flags and their values.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{Cli, Completions};
use crate::error::Error;

pub(crate) fn run(arguments: &Completions) -> Result<ExitCode, Error> {
    // The generator does not expect that writing fails, and a pipe may be closed: it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "sockcap", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
