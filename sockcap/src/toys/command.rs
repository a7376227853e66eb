//! A command that writes a word into the data directory.

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::DataArguments;
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;

const HELP: &str = "\
Examples:
  sockcap toy hop --times 3";

/// How often the word is written unless the user says otherwise.
const TIMES: usize = 1;

/// Write a word a few times
#[derive(Debug, Parser)]
#[command(name = "toy", after_help = HELP)]
struct ToyCommand {
    /// The word
    #[arg(value_name = "WORD")]
    word: String,
    #[command(flatten)]
    data: DataArguments,
    /// How often it is written
    #[arg(long, value_name = "N", default_value_t = TIMES)]
    times: usize,
}

pub(crate) const COMMAND: Subcommand = Subcommand::with_arguments::<ToyCommand>();

impl RunnableCommand for ToyCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let words = vec![self.word.as_str(); self.times].join(" ");
        std::fs::write(self.data.data_dir().path().join("toy"), words)?;
        Ok(ExitCode::SUCCESS)
    }
}
