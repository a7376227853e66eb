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
'sockcap record --protocols' keeps snippets of messages, such as request lines
and statements with all their values. This command derives names from them,
such as 'GET /cart/{}' or 'SELECT books', writes these next to each log and
blanks the snippets, whose contents are lost. 'record --protocols' does so at
its end, and 'sockcap ship' never sends a snippet; use this command for
recordings that did not end normally, and for programs with a manually
preloaded library.

Examples:
  sockcap names
  sockcap names -d /tmp/run1";

/// Replace the snippets of messages by names, and drop their contents
#[derive(Debug, Parser)]
#[command(name = "names", after_help = HELP)]
pub(crate) struct NamesCommand {
    #[command(flatten)]
    data: DataArguments,
    /// As root, name the logs of all users, not only those of root and of root's recordings
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
                "sockcap: {} may still be written to, so its snippets are kept; run this again \
                 when its process has ended",
                count_noun(named.running, "log", "logs"),
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}
