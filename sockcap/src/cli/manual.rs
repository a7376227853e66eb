//! The arguments of the commands that print what the definitions here say of themselves, in other
//! forms than `--help`: completions for a shell, and manual pages.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

pub(super) const COMPLETIONS_HELP: &str = "\
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

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

pub(super) const MAN_HELP: &str = "\
There is a page for each command: sockcap.1, sockcap-report.1,
sockcap-import-pcap.1.

Examples:
  sockcap man | man -l -
  sockcap man ~/.local/share/man/man1 && man sockcap-report";

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write the pages of all commands into this directory, which is made where it is missing
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}
