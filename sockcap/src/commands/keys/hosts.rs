//! `sockcap keys host`: a key for each host.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use collector::keys::{Authority, KeyBundle};

use super::directory::KeysDirectory;
use super::words::{format_day, owner_words};
use crate::arguments::values::{days_parser, host_name};
use crate::error::CommandError;
use crate::output::{self, count_noun, tell};

pub(super) const HELP: &str = "\
Examples:
  sockcap keys host web1 web2 db1
  sockcap keys host web1 --replace --days 90
  sockcap keys host node1 c1 c2 --together";

/// Number of days that the key of a host is valid unless the user says otherwise.
const HOST_DAYS: u32 = 365;

#[derive(Debug, Args)]
pub(super) struct HostKeysCommand {
    /// The hosts, by their names in the trace
    #[arg(required = true, value_name = "NAME", value_parser = host_name)]
    names: Vec<String>,
    #[command(flatten)]
    directory: KeysDirectory,
    /// How many days the keys are valid
    #[arg(long, value_name = "N", default_value_t = HOST_DAYS, value_parser = days_parser())]
    days: u32,
    /// Replace existing keys by new ones
    #[arg(long)]
    replace: bool,
    /// One key for all of them, named after the first: a machine and its containers
    #[arg(long)]
    together: bool,
}

impl HostKeysCommand {
    /// Makes a key for each host, or none if one of them cannot be made.
    pub(super) fn run(&self) -> Result<ExitCode, CommandError> {
        let directory = &self.directory.path;
        let authority = Authority::open(directory)?;
        let names: BTreeSet<&String> = self.names.iter().collect();
        // The hosts of each key; the key is named after the first of them.
        let keys: Vec<Vec<&String>> = match self.together {
            true => vec![self.names.iter().filter(first_occurrence()).collect()],
            false => names.into_iter().map(|name| vec![name]).collect(),
        };
        let mut made: Vec<(&String, KeyBundle)> = Vec::new();
        for hosts in keys {
            let Some(name) = hosts.first().copied() else { continue };
            let path = directory.join(format!("{name}.pem"));
            if !self.replace && path.exists() {
                return Err(CommandError::KeyThere(path));
            }
            made.push((name, authority.issue_host(&hosts, self.days)?));
        }
        let mut out = output::text_output();
        for (name, bundle) in &made {
            let path = directory.join(format!("{name}.pem"));
            authority.record_issued(bundle)?;
            bundle.write(&path, self.replace)?;
            let owner = owner_words(Some(bundle.role()), bundle.names());
            writeln!(
                out,
                "{}: the key of {owner}, until {}",
                path.display(),
                format_day(bundle.validity()[1])
            )?;
        }
        let (which, name) = match made.as_slice() {
            [(name, _)] => {
                (directory.join(format!("{name}.pem")).display().to_string(), name.as_str())
            }
            several => (count_noun(several.len() as u64, "key", "keys, each"), "NAME"),
        };
        out.flush()?;
        tell!(
            "sockcap: next: copy {which} to its host, keep no copy elsewhere; there: sockcap ship --to COLLECTOR:PORT \
         --key {name}.pem --follow"
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// A predicate that is true for the first occurrence of each name.
fn first_occurrence<'a>() -> impl FnMut(&&'a String) -> bool {
    let mut seen = BTreeSet::new();
    move |name| seen.insert(*name)
}
