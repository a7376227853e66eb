//! The arguments of the commands that show what there is: `sockcap report`, `info` and `dump`.

use std::path::PathBuf;

use clap::Args;
use report::SortKey;

use super::values::sort_key;
use super::{Data, Filter, Inference};

pub(super) const REPORT_HELP: &str = "\
Sort keys:
  total       expected count times duration     count  instances built
  expected    sum of their probabilities        mean   mean duration
  confidence  expected / count                  p99    99th percentile of it
  evidence    expected / sqrt(count)

Nodes and hops (--hosts, --hops) are ranked likewise, as if each message were a
path that takes as long as it is delayed; their share is of the time of all
paths, where branches that go on at once each count.

A filter by time or confidence chooses path instances, and all figures are made
again from those that are left; the report says on top what it is about. No
page is written then.

In a pager: sockcap report --color always | less -R

What is not said of the analysis is as in the last one of the directory;
'sockcap analyze' without options goes back to the defaults.

Examples:
  sockcap report
  sockcap report --sort p99 --limit 5
  sockcap report --node host                       hosts as nodes
  sockcap report --through AP1 --through DB2       paths that pass both
  sockcap report --pattern 3                       only #3 of the list
  sockcap report --from 10 --to 12.5               paths begun in these seconds
  sockcap report --from 2026-11-22T15:04:05Z --min-confidence 0.5
  sockcap report --hosts --sort p99                which node is slow at times?
  sockcap report --hops --pattern 3 --limit 50     the network's part in #3
  sockcap report --json | jq '.patterns[0]'";

pub(super) const INFO_HELP: &str = "\
Examples:
  sockcap info
  sockcap info --processes
  sockcap info --json";

pub(super) const DUMP_HELP: &str = "\
Examples:
  sockcap dump sockcap.data/hosts/web1/*.sclog
  sockcap dump sockcap.data/hosts/*/*.sclog | grep role";

#[derive(Debug, Args)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) data: Data,
    /// Show the latency of each node instead, whatever the path (hosts with --node host)
    #[arg(long, conflicts_with = "hops")]
    pub(crate) hosts: bool,
    /// Show the latency of the network between each two nodes instead, whatever the path
    #[arg(long)]
    pub(crate) hops: bool,
    /// Write the HTML page to this file, also where it is of some paths only [default:
    /// DIR/report.html]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["hosts", "hops"])]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON instead, with all patterns and all figures
    #[arg(long)]
    pub(crate) json: bool,
    /// What to rank the patterns by
    #[arg(long, value_name = "KEY", default_value_t = SortKey::default(), value_parser = sort_key(), hide_possible_values = true)]
    pub(crate) sort: SortKey,
    /// Print at most so many patterns, nodes or hops (the HTML page has up to 10000)
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: clap::ColorChoice,
    #[command(flatten)]
    pub(crate) filter: Filter,
    #[command(flatten)]
    pub(crate) inference: Inference,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) data: Data,
    /// Show each process with its command line, instead of each program
    #[arg(long)]
    pub(crate) processes: bool,
    /// Print JSON, with all processes and all figures
    #[arg(long, conflicts_with = "processes")]
    pub(crate) json: bool,
    /// A file that says what hosts and commands are to be called [default: DIR/aliases, if there is
    /// one]
    #[arg(long, value_name = "FILE")]
    pub(crate) aliases: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// The logs (*.sclog)
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
}
