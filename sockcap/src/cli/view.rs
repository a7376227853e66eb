//! The arguments of `sockcap view`.

use clap::Args;
use report::SortKey;

use super::values::sort_key;
use super::{Data, Inference};

pub(super) const HELP: &str = "\
The page is served to this machine only, until Ctrl-C. It is the page that
'sockcap report' writes, with every instance of every pattern that it shows,
which are loaded as they are looked at.

Examples:
  sockcap view
  sockcap view -d gathered --sort p99
  sockcap view --no-browser --port 8080
  ssh -t -L 9714:127.0.0.1:9714 far-away sockcap view --no-browser --port 9714";

#[derive(Debug, Args)]
pub(crate) struct View {
    #[command(flatten)]
    pub(crate) data: Data,
    /// What to rank the patterns by at first
    #[arg(long, value_name = "KEY", default_value_t = SortKey::default(), value_parser = sort_key(), hide_possible_values = true)]
    pub(crate) sort: SortKey,
    /// The port to serve at; 0 for any that is free [default: 9714, or any where that is taken]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Do not open the browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    #[command(flatten)]
    pub(crate) inference: Inference,
}
