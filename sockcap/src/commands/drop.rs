//! `sockcap drop`: a trace without the messages that a slow sniffer drops.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use message_trace::MessageTrace;
use synth::made_import;
use synth::sniffer::Sniffer;
use synth::truth::Truth;

use crate::arguments::values::positive;
use crate::arguments::{Data, To};
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::output::{counted, tell};
use crate::{lock, stages, words};

const HELP: &str = "\
The messages of DIR that a sniffer captures are written to the other directory:
at its peak it captures so many a second, keeps some waiting, and drops what
comes when its queue is full. Each message is one packet. Project 5's sniffers
have a queue of 64.

Examples:
  sockcap drop --rate 200 --to captured
  sockcap drop --rate 200 --queue 16 --to captured";

/// Drop messages as a sniffer does that is too slow
#[derive(Debug, Parser)]
#[command(name = "drop", after_help = HELP)]
pub(crate) struct Drop {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    to: To,
    /// How many messages are captured a second
    #[arg(long, value_name = "N", value_parser = positive)]
    rate: f64,
    /// How many messages can wait
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    queue: u32,
    /// What really caused what in DIR
    #[arg(long, value_name = "FILE", requires = "truth_to")]
    truth: Option<PathBuf>,
    /// Write here what really caused what in what is left
    #[arg(long, value_name = "FILE", requires = "truth")]
    truth_to: Option<PathBuf>,
}

pub(super) const COMMAND: Subcommand = Subcommand::of::<Drop>();

impl Run for Drop {
    fn run(&self) -> Result<ExitCode, Error> {
        let (data, target) = (self.data.dir(), self.to.dir(&self.data)?);
        let made = target.root().create_dir_all();
        made.map_err(|source| Error::file(target.path(), source))?;
        let _locks = lock::work_on(&[&data, &target])?;
        let truth = self.truth.as_deref().map(Truth::read).transpose()?;
        stages::recorded_messages(&data)?;
        let trace = MessageTrace::read(data.messages(), data.nodes())?;
        let sniffer = Sniffer { rate: self.rate, queue: self.queue };
        let captured = sniffer.capture(&trace)?;
        let place = made_import::write(&captured.trace, &target, "captured")?;
        if let (Some(truth), Some(path)) = (&truth, &self.truth_to) {
            captured.truth(truth).write(path)?;
        }
        let (all, dropped) = (trace.len() as u64, captured.dropped());
        tell!(
            "sockcap: {} dropped ({:.2}%), {} in {}; next: sockcap report{}",
            counted(dropped, "message", "messages"),
            100.0 * dropped as f64 / all as f64,
            all - dropped,
            place.display(),
            words::same_directory(&target),
        );
        Ok(ExitCode::SUCCESS)
    }
}
