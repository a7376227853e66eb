//! The arguments of the commands that show what there is: `sockcap report`, `info` and `dump`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use report::SortKey;

use super::{Data, Inference};

pub(super) const REPORT_HELP: &str = "\
Sort keys:
  total       expected count times duration     count  instances built
  expected    sum of their probabilities        mean   mean duration
  confidence  expected / count                  p99    99th percentile of it
  evidence    expected / sqrt(count)

What is not said of the analysis is as in the last one of the directory; 'sockcap analyze' without
options goes back to the defaults.

Examples:
  sockcap report
  sockcap report --sort p99 --limit 5
  sockcap report --json | jq '.patterns[0]'";

pub(super) const INFO_HELP: &str = "\
Examples:
  sockcap info
  sockcap info -d made";

pub(super) const DUMP_HELP: &str = "\
Examples:
  sockcap dump sockcap.data/hosts/web1/*.sclog
  sockcap dump sockcap.data/hosts/*/*.sclog | grep role";

#[derive(Debug, Args)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) data: Data,
    /// Write the HTML page to this file [default: DIR/report.html]
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON instead, with all patterns and all figures
    #[arg(long)]
    pub(crate) json: bool,
    /// What to rank the patterns by
    #[arg(long, value_name = "KEY", default_value_t = SortKey::default(), value_parser = SortKey::from_str)]
    pub(crate) sort: SortKey,
    /// Print at most so many patterns (the HTML page has up to 10000)
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: clap::ColorChoice,
    #[command(flatten)]
    pub(crate) inference: Inference,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) data: Data,
    /// A file that says what hosts and commands are to be called [default: DIR/aliases, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) aliases: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// The logs (*.sclog)
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
}
