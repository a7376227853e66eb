//! The arguments of the commands that print what the definitions here say of themselves, in other forms than `--help`:
//! completions for a shell, and manual pages.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

pub(super) const COMPLETIONS_HELP: &str = "\
Where each shell looks for it:
  bash        ~/.local/share/bash-completion/completions/sockcap
  zsh         a file _sockcap in a directory of $fpath
  fish        ~/.config/fish/completions/sockcap.fish
  elvish      eval (sockcap completions elvish | slurp), in ~/.config/elvish/rc.elv
  powershell  sockcap completions powershell | Out-String | Invoke-Expression, in $PROFILE

Examples:
  sockcap completions bash > ~/.local/share/bash-completion/completions/sockcap
  sockcap completions fish > ~/.config/fish/completions/sockcap.fish";

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

pub(super) const MAN_HELP: &str = "\
There is a page for each command: sockcap.1, sockcap-report.1, sockcap-import-pcap.1.

Examples:
  sockcap man | man -l -
  sockcap man ~/.local/share/man/man1 && man sockcap-report";

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write the pages of all commands into this directory, which is made where it is missing
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}
