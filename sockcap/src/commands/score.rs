//! `sockcap score`: how well the last analysis agrees with the truth.

use std::process::ExitCode;

use analyze::infer::Links;
use message_trace::MessageTrace;
use synth::truth::Truth;

use crate::cli::{Inference, Score};
use crate::error::Error;
use crate::progress::Terminal;
use crate::stages;

pub(crate) fn run(arguments: &Score) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    let truth = Truth::read(&arguments.truth)?;
    let options = stages::analysis(&data, &Inference::default())?.options;
    let trace = MessageTrace::read(&data.messages(), &data.nodes())?;
    let links = Links::read(&data.links())?;
    let score = synth::score::score(
        &trace,
        &links,
        &options,
        &truth,
        &arguments.exclude,
        &Terminal::new(),
    )?;
    if arguments.json {
        anstream::println!("{}", score.json()?);
    } else {
        anstream::print!("{score}");
    }
    Ok(ExitCode::SUCCESS)
}
