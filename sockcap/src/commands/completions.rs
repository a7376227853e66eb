//! `sockcap completions`: the script by which a shell completes commands, flags and their values.
//! It asks this program ([`complete`]).

use std::io::{self, Write};
use std::process::ExitCode;

use clap_complete::env::Shells;

use crate::cli::Completions;
use crate::complete;
use crate::error::Error;

/// The program as the script calls it: whichever is first in `PATH` when TAB is pressed.
const PROGRAM: &str = "sockcap";

pub(crate) fn run(arguments: &Completions) -> Result<ExitCode, Error> {
    let shell = arguments.shell.to_string();
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&shell) else {
        return Err(Error::Usage(format!("there are no completions for {shell}")));
    };
    let mut script = Vec::new();
    shell.write_registration(complete::VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
