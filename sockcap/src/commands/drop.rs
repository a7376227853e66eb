//! `sockcap drop`: a trace without the messages that a slow sniffer drops.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use message_trace::MessageTrace;
use synth::ground_truth::GroundTruth;
use synth::sniffer::Sniffer;
use synth::synthetic_import;

use crate::arguments::values::parse_positive;
use crate::arguments::{DataArguments, DestinationArguments};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::{count_noun, tell};
use crate::{lock, stages, words};

const HELP: &str = "\
The messages of DIR that a sniffer would capture are written to the other
directory: it captures messages at a maximum rate, queues some, and drops those
that arrive when its queue is full. Each message is one packet. Project 5's
sniffers have a queue of 64.

Examples:
  sockcap drop --rate 200 --to captured
  sockcap drop --rate 200 --queue 16 --to captured";

/// Number of messages that the queue of a sniffer holds unless the user says otherwise, as in
/// Project 5.
const QUEUE_MESSAGES: u32 = 64;

/// Drop messages like a sniffer that is too slow
#[derive(Debug, Parser)]
#[command(name = "drop", after_help = HELP)]
pub(crate) struct DropCommand {
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    to: DestinationArguments,
    /// How many messages are captured per second
    #[arg(long, value_name = "N", value_parser = parse_positive)]
    rate: f64,
    /// How many messages can wait in the queue
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        default_value_t = QUEUE_MESSAGES
    )]
    queue: u32,
    /// The ground truth about DIR
    #[arg(long, value_name = "FILE", requires = "truth_to")]
    truth: Option<PathBuf>,
    /// Write the ground truth about the remaining messages to this file
    #[arg(long, value_name = "FILE", requires = "truth")]
    truth_to: Option<PathBuf>,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<DropCommand>();

impl RunnableCommand for DropCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let (data, target) = (self.data.data_dir(), self.to.destination_dir(&self.data)?);
        let made = target.root_path().create_dir_all();
        made.map_err(|source| CommandError::file_error(target.path(), source))?;
        let _locks = lock::lock_directories(&[&data, &target])?;
        let truth = self.truth.as_deref().map(GroundTruth::read).transpose()?;
        stages::ensure_recorded_messages(&data)?;
        let trace = MessageTrace::read(data.messages_path(), data.nodes_path())?;
        let sniffer = Sniffer { rate: self.rate, queue: self.queue };
        let captured = sniffer.capture_trace(&trace)?;
        let place = synthetic_import::write_trace(&captured.trace, &target, "captured")?;
        if let (Some(truth), Some(path)) = (&truth, &self.truth_to) {
            captured.captured_truth(truth).write(path)?;
        }
        let (all, dropped) = (trace.len() as u64, captured.dropped_messages());
        tell!(
            "sockcap: {} dropped ({:.2}%), {} in {}; next: sockcap report{}",
            count_noun(dropped, "message", "messages"),
            100.0 * dropped as f64 / all as f64,
            all - dropped,
            place.display(),
            words::same_directory(&target),
        );
        Ok(ExitCode::SUCCESS)
    }
}
