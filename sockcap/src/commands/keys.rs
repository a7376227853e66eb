//! `sockcap keys`: makes keys, and prints on which machine each file belongs and which command to
//! run there.

mod directory;
mod hosts;
mod new;
mod revoke;
mod show;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand as Subcommands};

use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use hosts::HostKeysCommand;
use new::NewKeysCommand;
use revoke::RevokeCommand;
use show::ShowKeysCommand;

const HELP: &str = "\
Hosts and collector authenticate each other by keys of your own authority: one
file for each machine, which is copied there and readable only by its owner.
docs/keys.md describes which machine has which file, and what to do if a key is
lost.

Examples:
  sockcap keys new                       the authority and the collector's key
  sockcap keys host web1 web2 db1        a key for each host
  sockcap keys host node1 c1 c2 --together   one key for three names
  sockcap keys revoke db1                a key that may have leaked
  sockcap keys show                      all keys, and which are valid";

/// Make the keys by which hosts and collector authenticate each other
#[derive(Debug, Parser)]
#[command(name = "keys", after_help = HELP)]
pub(crate) struct KeysCommand {
    #[command(subcommand)]
    what: KeysAction,
}

/// The action.
#[derive(Debug, Subcommands)]
enum KeysAction {
    /// Make an authority (authority.pem) and the collector's key (collector.pem)
    ///
    /// Existing files are kept: if only the collector's key is missing, only that is made.
    #[command(after_help = new::HELP)]
    New(NewKeysCommand),
    /// Make a key for each host (NAME.pem), which may send logs only under that name
    #[command(after_help = hosts::HELP)]
    Host(HostKeysCommand),
    /// Revoke the keys of hosts, or single keys: collectors no longer accept them (revoked.crl)
    #[command(after_help = revoke::HELP)]
    Revoke(RevokeCommand),
    /// Show the owner and the validity of keys, one per line
    #[command(after_help = show::HELP)]
    Show(ShowKeysCommand),
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<KeysCommand>();

impl RunnableCommand for KeysCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        match &self.what {
            KeysAction::New(new) => new.run(),
            KeysAction::Host(hosts) => hosts.run(),
            KeysAction::Revoke(keys) => keys.run(),
            KeysAction::Show(files) => files.run(),
        }
    }
}
