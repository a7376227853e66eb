#![doc = include_str!("../README.md")]

mod arenas;
mod arguments;
mod clock_words;
mod command;
mod command_line;
mod commands;
mod complete;
mod config;
mod decisions;
mod error;
mod help;
mod kinds;
mod lock;
mod manual;
mod naming;
mod notes;
mod output;
mod own_logs;
mod page;
mod places;
mod progress;
mod report_meta;
mod shown;
mod signals;
mod snippets_left;
mod stages;
mod still_running;
mod table;
mod target;
mod tidy;
#[cfg(test)]
mod toys;
mod tuning;
mod visibility;
mod ways_out;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    arenas::limit();
    if let Some(status) = complete::answer() {
        return status;
    }
    let command = match config::parse() {
        Ok(command) => command,
        Err(status) => return status,
    };
    command.run().unwrap_or_else(|error| error.report(command.failed()))
}
