//! `sockcap reconcile`: logs to messages.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use clocks::ClockModel;
use reconcile::{InternalMessages, Options};
use registry::values;

use crate::arguments::DataArguments;
use crate::arguments::values::{parse_bytes, parse_duration, parse_share};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::tell;
use crate::{clock_words, lock, stages, words};

const HELP: &str = "\
Examples:
  sockcap reconcile
  sockcap reconcile --keep-internal --no-translation
  sockcap reconcile -d made --memory 2G";

/// Match sent with received data: logs to messages
///
/// A later stage that has to run it again, because there are new logs, does so without options.
#[derive(Debug, Parser)]
#[command(name = "reconcile", after_help = HELP)]
pub(crate) struct ReconcileCommand {
    #[command(flatten)]
    data: DataArguments,
    /// Merge adjacent messages of a flow and direction with pauses of up to this between them
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_duration,
        default_value = values::show_nanoseconds(Options::default().fat_gap.as_nanos() as i64)
    )]
    fat_gap: Duration,
    /// Keep what a process sends to itself, such as an event loop's wake-ups, whatever a node is;
    /// if threads are nodes, messages between them are kept anyway
    #[arg(long)]
    keep_internal: bool,
    /// Keep connections with different names at their two ends as two, each seen at one end
    #[arg(long)]
    no_translation: bool,
    /// Join ends with different names (due to a load balancer or a container's network between
    /// them) if the confidence is at least this, from 0 to 1
    #[arg(
        long,
        value_name = "CONFIDENCE",
        value_parser = parse_share,
        default_value_t = Options::default().translation.unwrap_or_default(),
        conflicts_with = "no_translation"
    )]
    translation: f64,
    /// Hold this much of the calls and messages in memory, and the rest in temporary files
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_bytes,
        default_value = values::show_bytes(Options::default().memory)
    )]
    memory: u64,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<ReconcileCommand>();

impl RunnableCommand for ReconcileCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let data = self.data.data_dir();
        let _locks = lock::lock_directories(&[&data])?;
        let reconciliation = stages::run_reconcile(&data, &self.reconcile_options())?;
        tell!(
            "sockcap: {}; next: sockcap analyze{}",
            words::reconciliation_line(&reconciliation),
            words::same_directory(&data),
        );
        if let Some(line) = ClockModel::read(data.clocks_path())
            .ok()
            .as_ref()
            .and_then(clock_words::contradiction_line)
        {
            tell!("sockcap: {line}");
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl ReconcileCommand {
    pub(crate) fn reconcile_options(&self) -> Options {
        Options {
            fat_gap: self.fat_gap,
            internal: if self.keep_internal {
                InternalMessages::Kept
            } else {
                InternalMessages::LeftOut
            },
            translation: Some(self.translation).filter(|_| !self.no_translation),
            memory: self.memory,
            ..Options::default()
        }
    }
}
