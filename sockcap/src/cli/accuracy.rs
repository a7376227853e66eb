//! The arguments of the commands that make traces whose truth is known, and that judge a result by a truth.

use std::path::PathBuf;

use clap::Args;

use super::Data;

pub(super) const SCORE_HELP: &str = "\
The truth is a table as CSV, plain or compressed: call_id,parent_call_id (by the ids of the calls, as
'sockcap export calls' has them), or child,parent (by the numbers of messages, as 'sockcap export
links' has them). A parent that is empty is none. docs/synth.md says what each measure is.

Examples:
  sockcap import calls calls.csv.gz && sockcap score --truth truth.csv.gz
  sockcap score --truth truth.csv --json | jq .trace_accuracy";

#[derive(Debug, Args)]
pub(crate) struct Score {
    #[command(flatten)]
    pub(crate) data: Data,
    /// What really caused what
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: PathBuf,
    /// Leave out the calls that this node makes (may be given several times)
    #[arg(long, value_name = "NODE")]
    pub(crate) exclude: Vec<String>,
    /// Print JSON, with all figures
    #[arg(long)]
    pub(crate) json: bool,
}
