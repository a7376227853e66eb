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
mod gap_notes;
mod help;
mod inference_limits;
mod kinds;
mod leftover_snippets;
mod lock;
mod manual;
mod operation_naming;
mod output;
mod own_logs;
mod page;
mod places;
mod progress;
mod remedies;
mod report_meta;
mod shown;
mod signals;
mod stages;
mod still_running;
mod table;
mod target;
mod tidy;
#[cfg(test)]
mod toys;
mod tuning;
mod visibility;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    arenas::limit_arenas();
    if let Some(status) = complete::answer_completion() {
        return status;
    }
    let command = match config::parse_command() {
        Ok(command) => command,
        Err(status) => return status,
    };
    command.run().unwrap_or_else(|error| error.report_error(command.failure_status()))
}
