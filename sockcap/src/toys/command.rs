//! A command that writes a word into the data directory.

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Data;
use crate::command::{Run, Subcommand};
use crate::error::Error;

const HELP: &str = "\
Examples:
  sockcap toy hop --times 3";

/// Write a word a few times
#[derive(Debug, Parser)]
#[command(name = "toy", after_help = HELP)]
struct Toy {
    /// The word
    #[arg(value_name = "WORD")]
    word: String,
    #[command(flatten)]
    data: Data,
    /// How often it is written
    #[arg(long, value_name = "N", default_value_t = 1)]
    times: usize,
}

pub(crate) const COMMAND: Subcommand = Subcommand::of::<Toy>();

impl Run for Toy {
    fn run(&self) -> Result<ExitCode, Error> {
        let words = vec![self.word.as_str(); self.times].join(" ");
        std::fs::write(self.data.dir().path().join("toy"), words)?;
        Ok(ExitCode::SUCCESS)
    }
}
