//! `sockcap keys host`: a key for each host.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use collector::keys::{Authority, Bundle};

use super::directory::Directory;
use super::words::{day, whose};
use crate::arguments::values::{days, host_name};
use crate::error::Error;
use crate::output::{self, counted, tell};

pub(super) const HELP: &str = "\
Examples:
  sockcap keys host web1 web2 db1
  sockcap keys host web1 --replace --days 90
  sockcap keys host node1 c1 c2 --together";

#[derive(Debug, Args)]
pub(super) struct Hosts {
    /// The hosts, by the names that they have in the trace
    #[arg(required = true, value_name = "NAME", value_parser = host_name)]
    names: Vec<String>,
    #[command(flatten)]
    directory: Directory,
    /// How long the keys hold
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = days())]
    days: u32,
    /// Make new keys in the place of those that are there
    #[arg(long)]
    replace: bool,
    /// One key for all of them, called after the first: a machine and its containers
    #[arg(long)]
    together: bool,
}

impl Hosts {
    /// Makes a key for each host, or none if one of them cannot be made.
    pub(super) fn run(&self) -> Result<ExitCode, Error> {
        let directory = &self.directory.path;
        let authority = Authority::open(directory)?;
        let names: BTreeSet<&String> = self.names.iter().collect();
        // The hosts of each key; it is called after the first that was named.
        let keys: Vec<Vec<&String>> = match self.together {
            true => vec![self.names.iter().filter(unique()).collect()],
            false => names.into_iter().map(|name| vec![name]).collect(),
        };
        let mut made: Vec<(&String, Bundle)> = Vec::new();
        for hosts in keys {
            let Some(name) = hosts.first().copied() else { continue };
            let path = directory.join(format!("{name}.pem"));
            if !self.replace && path.exists() {
                return Err(Error::KeyThere(path));
            }
            made.push((name, authority.host(&hosts, self.days)?));
        }
        let mut out = output::text();
        for (name, bundle) in &made {
            let path = directory.join(format!("{name}.pem"));
            authority.note(bundle)?;
            bundle.write(&path, self.replace)?;
            let whose = whose(Some(bundle.role()), bundle.names());
            writeln!(
                out,
                "{}: the key of {whose}, until {}",
                path.display(),
                day(bundle.valid()[1])
            )?;
        }
        let (which, name) = match made.as_slice() {
            [(name, _)] => {
                (directory.join(format!("{name}.pem")).display().to_string(), name.as_str())
            }
            several => (counted(several.len() as u64, "key", "keys, each"), "NAME"),
        };
        out.flush()?;
        tell!(
            "sockcap: next: copy {which} to its host, keep no copy elsewhere; there: sockcap ship --to COLLECTOR:PORT \
         --key {name}.pem --follow"
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether something comes for the first time.
fn unique<'a>() -> impl FnMut(&&'a String) -> bool {
    let mut seen = BTreeSet::new();
    move |name| seen.insert(*name)
}
