//! `sockcap man`: manual pages on standard output or in a directory.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, Parser};

use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::manual::{page, pages};
use crate::output;

const HELP: &str = "\
There is a page for each command: sockcap.1, sockcap-report.1,
sockcap-import-pcap.1.

Examples:
  sockcap man | man -l -
  sockcap man ~/.local/share/man/man1 && man sockcap-report";

/// Print the manual page, or write those of all commands
#[derive(Debug, Parser)]
#[command(name = "man", after_help = HELP)]
struct Man {
    /// Write the pages of all commands into this directory, which is made where it is missing
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The program whose pages these are.
    #[arg(skip)]
    program: Command,
}

pub(super) const COMMAND: Subcommand = Subcommand {
    define: Man::command,
    read: |given, program| {
        let arguments = Man::from_arg_matches(given)?;
        Ok(Box::new(Man { program: program.clone(), ..arguments }))
    },
};

impl Run for Man {
    fn run(&self) -> Result<ExitCode, Error> {
        let mut command = self.program.clone().disable_help_subcommand(true);
        command.build();
        match &self.directory {
            None => page(command, &mut output::machine())?,
            Some(directory) => {
                let refused = |source| Error::file(directory, source);
                fs::create_dir_all(directory).map_err(refused)?;
                pages(command, directory)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
