//! `sockcap skew`: gives hosts of a trace wrong clocks, or corrects them.

use std::process::ExitCode;

use clap::Parser;
use jiff::SignedDuration;
use message_trace::MessageTrace;
use synth::skewer::{self, SkewedClock};
use synth::synthetic_import;

use crate::arguments::{DataArguments, DestinationArguments};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::{count_noun, tell};
use crate::{lock, stages, words};

const HELP: &str = "\
The messages of DIR are written to the other directory with the times that the
hosts' clocks would have shown. Their times on the common clock are left out,
so that 'sockcap reconcile' estimates the clocks there; with --uncorrected they
are as wrong as the clocks, and nothing corrects them.

Examples:
  sockcap skew --host WS2=30ms --uncorrected --to skewed
  sockcap skew --host WS2=-2s,50 --host DB1=1ms --at 0 --to skewed
  sockcap skew -d skewed --at 0 --remove --to back --host WS2=-2s,50";

/// Give hosts clocks that are off, or correct them
#[derive(Debug, Parser)]
#[command(name = "skew", after_help = HELP)]
pub(crate) struct SkewCommand {
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    to: DestinationArguments,
    /// By how much a host's clock is ahead, and how much faster it runs, in millionths
    #[arg(long = "host", required = true, value_name = "NAME=OFFSET[,PPM]", value_parser = parse_clock)]
    pub(crate) clocks: Vec<SkewedClock>,
    /// When the clocks are ahead by that, in nanoseconds [default: the first time of the trace]
    #[arg(long, value_name = "NS", allow_negative_numbers = true)]
    at: Option<i64>,
    /// Correct such clocks instead
    #[arg(long)]
    remove: bool,
    /// Also shift the times on the common clock
    #[arg(long)]
    uncorrected: bool,
    /// Give each message only one time, its sender's, at both ends, as in Project 5; nothing
    /// corrects it
    #[arg(long)]
    one_time: bool,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<SkewCommand>();

impl RunnableCommand for SkewCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let (data, target) = (self.data.data_dir(), self.to.destination_dir(&self.data)?);
        let made = target.root_path().create_dir_all();
        made.map_err(|source| CommandError::file_error(target.path(), source))?;
        let _locks = lock::lock_directories(&[&data, &target])?;
        stages::ensure_recorded_messages(&data)?;
        let trace = MessageTrace::read(data.messages_path(), data.nodes_path())?;
        let first = trace.messages().map(|message| message.sort_time()).min().unwrap_or(0);
        let at = self.at.unwrap_or(first);
        let skew = skewer::TraceSkew {
            clocks: self.clocks.clone(),
            at,
            remove: self.remove,
            uncorrected: self.uncorrected,
            one_time: self.one_time,
        };
        let place =
            synthetic_import::write_trace(&skewer::skew_trace(&trace, &skew)?, &target, "skewed")?;
        tell!(
            "sockcap: {} with {} {} as of {at} in {}; next: sockcap report{}",
            count_noun(trace.len() as u64, "message", "messages"),
            count_noun(skew.clocks.len() as u64, "clock", "clocks"),
            if skew.remove { "set right" } else { "set wrong" },
            place.display(),
            words::same_directory(&target),
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// Parses the errors of a host's clock.
fn parse_clock(text: &str) -> Result<SkewedClock, String> {
    let how = || format!("'{text}' is not a clock; write it like web=30ms or web=-2s,50");
    let (host, off) = text.split_once('=').ok_or_else(how)?;
    let (offset, ppm) = off.split_once(',').unwrap_or((off, "0"));
    let offset =
        offset.parse().ok().and_then(|span: SignedDuration| i64::try_from(span.as_nanos()).ok());
    let skew_ppm =
        ppm.trim_end_matches("ppm").trim().parse().ok().filter(|ppm: &f64| ppm.is_finite());
    let (offset, skew_ppm) = offset.zip(skew_ppm).ok_or_else(how)?;
    Ok(SkewedClock { host: host.to_owned(), offset, skew_ppm })
}
