//! `sockcap skew`: a trace whose hosts' clocks are off, or no longer.

use std::process::ExitCode;

use message_trace::MessageTrace;
use synth::made_import;
use synth::skewer::{self, Skew};

use crate::cli;
use crate::error::Error;
use crate::output::counted;
use crate::{stages, words};

pub(crate) fn run(arguments: &cli::Skew) -> Result<ExitCode, Error> {
    let (data, target) = (arguments.data.dir(), arguments.to.dir(&arguments.data)?);
    stages::messages(&data)?;
    let trace = MessageTrace::read(&data.messages(), &data.nodes())?;
    let first = trace.messages().map(|message| message.time()).min().unwrap_or(0);
    let at = arguments.at.unwrap_or(first);
    let skew = Skew {
        clocks: arguments.clocks.clone(),
        at,
        remove: arguments.remove,
        uncorrected: arguments.uncorrected,
        one_time: arguments.one_time,
    };
    let place = made_import::write(&skewer::skew(&trace, &skew)?, &target, "skewed")?;
    anstream::eprintln!(
        "sockcap: {} with {} {} as of {at} in {}; next: sockcap report{}",
        counted(trace.len() as u64, "message", "messages"),
        counted(skew.clocks.len() as u64, "clock", "clocks"),
        if skew.remove { "set right" } else { "set wrong" },
        place.display(),
        words::same_directory(&target),
    );
    Ok(ExitCode::SUCCESS)
}
