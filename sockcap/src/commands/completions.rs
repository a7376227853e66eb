//! `sockcap completions`: the script by which a shell completes commands, flags and their values.
//! It asks this program (`complete.rs`).

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::arguments::offers;
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::output;

/// The name by which the script calls the program: the first one in `PATH` when TAB is pressed.
const PROGRAM: &str = "sockcap";

const HELP: &str = "\
Where each shell takes it from:
  bash        source <(sockcap completions bash), in ~/.bashrc
  zsh         source <(sockcap completions zsh), behind compinit in ~/.zshrc
  fish        ~/.config/fish/completions/sockcap.fish
  elvish      eval (sockcap completions elvish | slurp), in rc.elv
  powershell  sockcap completions powershell | Out-String | Invoke-Expression,
              in $PROFILE

The script asks sockcap itself, by that name in $PATH, so that also what a data
directory holds is completed: patterns, nodes, hosts.

Examples:
  source <(sockcap completions bash)
  sockcap completions fish > ~/.config/fish/completions/sockcap.fish";

/// Print what a shell needs to complete commands and flags
#[derive(Debug, Parser)]
#[command(name = "completions", after_help = HELP)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) const COMMAND: Subcommand = Subcommand::of::<Completions>();

impl Run for Completions {
    fn run(&self) -> Result<ExitCode, Error> {
        let shell = self.shell.to_string();
        let shells = Shells::builtins();
        let Some(shell) = shells.completer(&shell) else {
            return Err(Error::Usage(format!("there are no completions for {shell}")));
        };
        let mut script = Vec::new();
        shell.write_registration(offers::VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
        let mut out = output::machine();
        out.write_all(&script)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
