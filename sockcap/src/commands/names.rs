//! `sockcap names`: names of operations, in place of the snippets that a recording kept.

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::DataArguments;
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::lock;
use crate::operation_naming::{name_all_logs, summary_words};
use crate::output::{count_noun, tell};
use crate::own_logs::{self, OwnLogs};
use crate::words::same_directory;

const HELP: &str = "\
'sockcap record --protocols' keeps the heads of messages, with all that a request
line or a statement says. This command works out what they name, 'GET /cart/{}'
or 'SELECT books', writes that beside each log and makes the heads blank. What
they said is gone from then on. 'record --protocols' does so at its end, and
'sockcap ship' never sends a head; the command is for recordings that did not
come to their end, and for programs that ran under the library by hand.

Examples:
  sockcap names
  sockcap names -d /tmp/run1";

/// Put names in place of the heads of messages, and drop what they said
#[derive(Debug, Parser)]
#[command(name = "names", after_help = HELP)]
pub(crate) struct NamesCommand {
    #[command(flatten)]
    data: DataArguments,
    /// As root, name the logs of all users, not only root's and those of root's recordings
    #[arg(long)]
    all_users: bool,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<NamesCommand>();

impl RunnableCommand for NamesCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let data = self.data.data_dir();
        let _locks = lock::lock_directories(&[&data])?;
        own_logs::print_skipped(&data)?;
        let named = name_all_logs(&data, &OwnLogs::of_user(&data, self.all_users))?;
        own_logs::print_foreign(named.foreign, &format!(" sockcap names{}", same_directory(&data)));
        tell!("sockcap: {}", summary_words(&named));
        if named.running > 0 {
            tell!(
                "sockcap: {} may still be written to, so its heads stay; run this again when its \
                 process has ended",
                count_noun(named.running, "log", "logs"),
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}
