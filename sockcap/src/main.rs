//! `sockcap`: the command line. It turns arguments into plain options, calls the stage that does
//! the work, and turns what comes back into words and an exit status. Nothing is worked out here.

mod arenas;
mod cli;
mod clocks;
mod commands;
mod complete;
mod config;
mod error;
mod help;
mod notes;
mod output;
mod page;
mod progress;
mod stages;
mod table;
mod tidy;
mod visibility;
mod ways_out;
mod words;

use std::process::ExitCode;

use cli::{Cli, Command};

fn main() -> ExitCode {
    arenas::limit();
    if let Some(status) = complete::answer() {
        return status;
    }
    let command = match config::parse() {
        Ok(Cli { command, .. }) => command,
        Err(status) => return status,
    };
    // As `env` and `timeout` have it, 125 says that it was not the command that failed.
    let failed = if matches!(command, Command::Record(_)) { 125 } else { 1 };
    let result = match command {
        Command::Record(arguments) => commands::record::run(&arguments),
        Command::Ship(arguments) => commands::ship::run(&arguments),
        Command::Collect(arguments) => commands::collect::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::Reconcile(arguments) => commands::reconcile::run(&arguments),
        Command::Analyze(arguments) => commands::analyze::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::View(arguments) => commands::view::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Info(arguments) => commands::info::run(&arguments),
        Command::Keys(arguments) => commands::keys::run(&arguments),
        Command::Dump(arguments) => commands::dump::run(&arguments),
        Command::Synth(arguments) => commands::synth::run(&arguments),
        Command::Skew(arguments) => commands::skew::run(&arguments),
        Command::Drop(arguments) => commands::drop::run(&arguments),
        Command::Score(arguments) => commands::score::run(&arguments),
        Command::Completions(arguments) => commands::completions::run(&arguments),
        Command::Man(arguments) => commands::man::run(&arguments),
    };
    result.unwrap_or_else(|error| error.report(failed))
}
