//! `sockcap man`: manual pages on standard output or in a directory.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, Parser};

use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::manual::{write_page, write_pages};
use crate::output;

const HELP: &str = "\
There is a page for each command: sockcap.1, sockcap-report.1,
sockcap-import-pcap.1.

Examples:
  sockcap man | man -l -
  sockcap man ~/.local/share/man/man1 && man sockcap-report";

/// Print the manual page, or write the pages of all commands
#[derive(Debug, Parser)]
#[command(name = "man", after_help = HELP)]
struct ManCommand {
    /// Write the pages of all commands into this directory, which is created if necessary
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The program that the pages describe.
    #[arg(skip)]
    program: Command,
}

pub(super) const COMMAND: Subcommand = Subcommand {
    define: ManCommand::command,
    read: |given, program| {
        let arguments = ManCommand::from_arg_matches(given)?;
        Ok(Box::new(ManCommand { program: program.clone(), ..arguments }))
    },
};

impl RunnableCommand for ManCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let mut command = self.program.clone().disable_help_subcommand(true);
        command.build();
        match &self.directory {
            None => write_page(command, &mut output::machine_output())?,
            Some(directory) => {
                let refused = |source| CommandError::file_error(directory, source);
                fs::create_dir_all(directory).map_err(refused)?;
                write_pages(command, directory)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
