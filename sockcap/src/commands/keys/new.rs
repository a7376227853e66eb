//! `sockcap keys new`: the authority and the collector's key.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use collector::keys::{self, AUTHORITY_FILE, Authority, COLLECTOR_FILE};

use super::directory::{KeysDirectory, same_keys};
use super::words::format_day;
use crate::arguments::values::days_parser;
use crate::error::CommandError;
use crate::output::{self, tell};

pub(super) const HELP: &str = "\
Examples:
  sockcap keys new
  sockcap keys new --keys other.keys --days 730";

/// Number of days that an authority is valid unless the user says otherwise.
const AUTHORITY_DAYS: u32 = 3650;

#[derive(Debug, Args)]
pub(super) struct NewKeysCommand {
    #[command(flatten)]
    directory: KeysDirectory,
    /// How many days authority and collector are valid; no host's key is valid for longer
    #[arg(long, value_name = "N", default_value_t = AUTHORITY_DAYS, value_parser = days_parser())]
    days: u32,
}

impl NewKeysCommand {
    /// Makes the missing parts of the authority and the collector's key.
    pub(super) fn run(&self) -> Result<ExitCode, CommandError> {
        let directory = &self.directory.path;
        let mut out = output::text_output();
        let path = directory.join(COLLECTOR_FILE);
        let authority = match Authority::create(directory, self.days) {
            Ok(authority) => {
                let until = format_day(authority.validity()?[1]);
                let path = directory.join(AUTHORITY_FILE);
                writeln!(out, "{}: the authority, until {until}; it stays here", path.display())?;
                authority
            }
            Err(keys::KeyError::Exists(_)) if !path.exists() => Authority::open(directory)?,
            Err(error) => return Err(error.into()),
        };
        let collector = authority.issue_collector(self.days)?;
        authority.record_issued(&collector)?;
        collector.write(&path, false)?;
        writeln!(
            out,
            "{}: the collector's key, until {}",
            path.display(),
            format_day(collector.validity()[1])
        )?;
        let same = same_keys(directory);
        out.flush()?;
        tell!(
            "sockcap: next: copy {} to the collector; there: sockcap collect --key {COLLECTOR_FILE}; \
         here: sockcap keys host NAME...{same}",
            path.display(),
        );
        Ok(ExitCode::SUCCESS)
    }
}
