//! `sockcap completions`: the script by which a shell completes commands, flags and their values.
//! The script calls this program (`complete.rs`).

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::arguments::completion_candidates;
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output;

/// The name by which the script calls the program: the first one in `PATH` when TAB is pressed.
const PROGRAM: &str = "sockcap";

const HELP: &str = "\
Where each shell reads the script:
  bash        source <(sockcap completions bash), in ~/.bashrc
  zsh         source <(sockcap completions zsh), after compinit in ~/.zshrc
  fish        ~/.config/fish/completions/sockcap.fish
  elvish      eval (sockcap completions elvish | slurp), in rc.elv
  powershell  sockcap completions powershell | Out-String | Invoke-Expression,
              in $PROFILE

The script calls sockcap itself, by that name in $PATH, so that the contents of
a data directory are completed, too: patterns, nodes, hosts.

Examples:
  source <(sockcap completions bash)
  sockcap completions fish > ~/.config/fish/completions/sockcap.fish";

/// Print what a shell needs to complete commands and flags
#[derive(Debug, Parser)]
#[command(name = "completions", after_help = HELP)]
pub(crate) struct CompletionsCommand {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<CompletionsCommand>();

impl RunnableCommand for CompletionsCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let shell = self.shell.to_string();
        let shells = Shells::builtins();
        let Some(shell) = shells.completer(&shell) else {
            return Err(CommandError::Usage(format!("there are no completions for {shell}")));
        };
        let mut script = Vec::new();
        shell.write_registration(
            completion_candidates::COMPLETION_VARIABLE,
            PROGRAM,
            PROGRAM,
            PROGRAM,
            &mut script,
        )?;
        let mut out = output::machine_output();
        out.write_all(&script)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
