//! `sockcap names`: what messages say they do, in place of the heads that a recording kept.

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Data;
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::lock;
use crate::naming::{name_all, said};
use crate::output::{counted, tell};
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
pub(crate) struct Names {
    #[command(flatten)]
    data: Data,
    /// As root, name the logs of all users, not only root's and those of root's recordings
    #[arg(long)]
    all_users: bool,
}

pub(super) const COMMAND: Subcommand = Subcommand::of::<Names>();

impl Run for Names {
    fn run(&self) -> Result<ExitCode, Error> {
        let data = self.data.dir();
        let _locks = lock::work_on(&[&data])?;
        own_logs::tell_left_out(&data)?;
        let named = name_all(&data, &OwnLogs::of(&data, self.all_users))?;
        own_logs::tell_foreign(named.foreign, &format!(" sockcap names{}", same_directory(&data)));
        tell!("sockcap: {}", said(&named));
        if named.running > 0 {
            tell!(
                "sockcap: {} may still be written to, so its heads stay; run this again when its \
                 process has ended",
                counted(named.running, "log", "logs"),
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}
