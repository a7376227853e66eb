//! The arguments of `sockcap keys`: the authority, keys for machines, and what a key file is.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::values::host_name;

pub(super) const HELP: &str = "\
Hosts and collector know each other by keys of an authority of your own: one
file for each machine, which is copied there and only its owner may read.
docs/keys.md says who holds what, and what to do when a key is lost.

Examples:
  sockcap keys new                       the authority and the collector's key
  sockcap keys host web1 web2 db1        a key for each host
  sockcap keys host node1 c1 c2 --together   one key for three names
  sockcap keys revoke db1                a key that somebody else may have
  sockcap keys show                      all keys that were made, and which hold";

const NEW_HELP: &str = "\
Examples:
  sockcap keys new
  sockcap keys new --keys other.keys --days 730";

const HOST_HELP: &str = "\
Examples:
  sockcap keys host web1 web2 db1
  sockcap keys host web1 --replace --days 90
  sockcap keys host node1 c1 c2 --together";

const REVOKE_HELP: &str = "\
Copy revoked.crl to the collector, beside its key or where its --revoked says. A collector that
runs reads it within a second, ends the connections of these keys and accepts no more of them.

Examples:
  sockcap keys revoke db1
  sockcap keys revoke sockcap.keys/web1.pem && sockcap keys host web1 --replace";

const SHOW_HELP: &str = "\
Examples:
  sockcap keys show
  sockcap keys show sockcap.keys/*.pem";

/// Where the keys are unless the user says otherwise.
pub(crate) const DEFAULT_KEYS: &str = "sockcap.keys";

#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) what: What,
}

/// What is done.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// Make an authority (authority.pem) and the collector's key (collector.pem)
    ///
    /// What is there already stays: beside an authority without a collector's key, only that is
    /// made.
    #[command(after_help = NEW_HELP)]
    New(New),
    /// Make a key for each host (NAME.pem), which may send logs under that name only
    #[command(after_help = HOST_HELP)]
    Host(Hosts),
    /// Revoke the keys of hosts, or single keys: collectors accept them no more (revoked.crl)
    #[command(after_help = REVOKE_HELP)]
    Revoke(Revoke),
    /// Say whose keys these are and until when they hold, a line each
    #[command(after_help = SHOW_HELP)]
    Show(Show),
}

/// Where the authority is.
#[derive(Debug, Args)]
pub(crate) struct Directory {
    /// The authority's directory
    #[arg(long = "keys", value_name = "DIR", default_value = DEFAULT_KEYS)]
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    #[command(flatten)]
    pub(crate) directory: Directory,
    /// How long authority and collector hold; no host's key holds longer
    #[arg(long, value_name = "N", default_value_t = 3650, value_parser = days())]
    pub(crate) days: u32,
}

#[derive(Debug, Args)]
pub(crate) struct Hosts {
    /// The hosts, by the names that they have in the trace
    #[arg(required = true, value_name = "NAME", value_parser = host_name)]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) directory: Directory,
    /// How long the keys hold
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = days())]
    pub(crate) days: u32,
    /// Make new keys in the place of those that are there
    #[arg(long)]
    pub(crate) replace: bool,
    /// One key for all of them, called after the first: a machine and its containers
    #[arg(long)]
    pub(crate) together: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// Hosts, of which all keys are revoked that were made so far, or key files
    #[arg(required = true, value_name = "NAME|FILE")]
    pub(crate) keys: Vec<String>,
    #[command(flatten)]
    pub(crate) directory: Directory,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Key files [default: all keys that the authority has made]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) directory: Directory,
}

/// At most a hundred years.
fn days() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=36_525)
}
