//! `sockcap analyze`: messages to links, paths and patterns.

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::values::bytes;
use crate::arguments::{Data, Inference};
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::output::tell;
use crate::shown::Shown;
use crate::{lock, stages, words};

const HELP: &str = "\
Examples:
  sockcap analyze
  sockcap analyze --node host --roles
  sockcap analyze --algorithm linking --window 500ms
  sockcap analyze --algorithm nesting --skew-window 5ms";

/// Infer which message caused which: messages to links, paths and patterns
#[derive(Debug, Parser)]
#[command(name = "analyze", after_help = HELP)]
pub(crate) struct Analyze {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    inference: Inference,
    /// Hold this much of the paths in memory, and the rest in temporary files [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
}

pub(super) const COMMAND: Subcommand = Subcommand::of::<Analyze>();

impl Run for Analyze {
    fn run(&self) -> Result<ExitCode, Error> {
        let _locks = lock::work_on(&[&self.data.dir()])?;
        let shown = Shown::of(self.data.dir(), None)?;
        let summary = stages::analyze(&shown, &self.inference, self.options())?;
        tell!("sockcap: {}; next: sockcap report{}", words::analysis(&summary), shown.again());
        Ok(ExitCode::SUCCESS)
    }
}

impl Analyze {
    pub(crate) fn options(&self) -> analyze::Options {
        let mut options = self.inference.applied_to(analyze::Options::default());
        options.resources.memory = self.memory.unwrap_or(options.resources.memory);
        options
    }
}
