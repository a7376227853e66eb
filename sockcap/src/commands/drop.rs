//! `sockcap drop`: what a sniffer that is too slow leaves of a trace.

use std::process::ExitCode;

use message_trace::MessageTrace;
use synth::made_import;
use synth::sniffer::Sniffer;
use synth::truth::Truth;

use crate::cli::Drop;
use crate::error::Error;
use crate::output::counted;
use crate::{stages, words};

pub(crate) fn run(arguments: &Drop) -> Result<ExitCode, Error> {
    let (data, target) = (arguments.data.dir(), arguments.to.dir(&arguments.data)?);
    let truth = arguments.truth.as_deref().map(Truth::read).transpose()?;
    stages::messages(&data)?;
    let trace = MessageTrace::read(&data.messages(), &data.nodes())?;
    let sniffer = Sniffer { rate: arguments.rate, queue: arguments.queue };
    let captured = sniffer.capture(&trace)?;
    let place = made_import::write(&captured.trace, &target, "captured")?;
    if let (Some(truth), Some(path)) = (&truth, &arguments.truth_to) {
        captured.truth(truth).write(path)?;
    }
    let (all, dropped) = (trace.len() as u64, captured.dropped());
    anstream::eprintln!(
        "sockcap: {} dropped ({:.2}%), {} in {}; next: sockcap report{}",
        counted(dropped, "message", "messages"),
        100.0 * dropped as f64 / all as f64,
        all - dropped,
        place.display(),
        words::same_directory(&target),
    );
    Ok(ExitCode::SUCCESS)
}
