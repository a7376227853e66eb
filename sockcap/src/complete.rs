//! Completion of a command line when the user presses TAB. The script of `sockcap completions`
//! calls this program, which has its commands, flags and values, and the contents of the data
//! directory on the command line.

use std::env;
use std::process::ExitCode;

use clap_complete::CompleteEnv;

use crate::arguments::completion_candidates::COMPLETION_VARIABLE;
use crate::command_line;

/// Answers a shell that asks for completions, and returns the exit status; `None` if no shell asks.
pub(crate) fn answer_completion() -> Option<ExitCode> {
    env::var_os(COMPLETION_VARIABLE)?;
    let directory = env::current_dir().ok();
    let asked = CompleteEnv::with_factory(command_line::define_commands).var(COMPLETION_VARIABLE);
    match asked.try_complete(env::args_os(), directory.as_deref()) {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        // An error message would appear in the middle of the line being written.
        Err(_) => Some(ExitCode::FAILURE),
    }
}
