//! `sockcap score`: how well the last analysis agrees with the truth.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use analyze::Evidence;
use analyze::infer::Links;
use clap::Parser;
use message_trace::MessageTrace;
use synth::ground_truth::GroundTruth;

use crate::arguments::completion_candidates::node_candidates;
use crate::arguments::{DataArguments, InferenceArguments};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::lock;
use crate::output::{self, tell};
use crate::progress::TerminalProgress;
use crate::stages;

const HELP: &str = "\
The ground truth is a table as CSV, plain or compressed: call_id,parent_call_id
(by the ids of the calls in 'sockcap export calls'), or child,parent (by the
numbers of messages in 'sockcap export links'). An empty parent means none.
docs/synth.md defines the measures.

If programs send the ids of a tracer's traces (traceparent, b3) and were
recorded with --protocols, --traces uses these as the ground truth. An analysis
uses them, too; with --without operations it infers the traces instead.

Examples:
  sockcap import calls calls.csv.gz && sockcap score --truth truth.csv.gz
  sockcap score --truth truth.csv --json | jq .trace_accuracy
  sockcap analyze --without operations && sockcap score --traces";

/// Measure how well the last analysis agrees with a ground truth
#[derive(Debug, Parser)]
#[command(name = "score", after_help = HELP)]
pub(crate) struct ScoreCommand {
    #[command(flatten)]
    data: DataArguments,
    /// The ground truth: what really caused what
    #[arg(long, value_name = "FILE", required_unless_present = "traces")]
    truth: Option<PathBuf>,
    /// Use the traces of tracers, by the ids in the messages, as the ground truth
    #[arg(long, conflicts_with = "truth")]
    traces: bool,
    /// Leave out the calls that this node makes (may be given several times)
    #[arg(long, value_name = "NODE", add = node_candidates())]
    exclude: Vec<String>,
    /// Print JSON, with all figures
    #[arg(long)]
    json: bool,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<ScoreCommand>();

impl RunnableCommand for ScoreCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let data = self.data.data_dir();
        let _locks = lock::lock_directories(&[&data])?;
        let options =
            stages::ensure_recorded_analysis(&data, &InferenceArguments::default())?.options;
        let mut trace = MessageTrace::read(data.messages_path(), data.nodes_path())?;
        let truth = match &self.truth {
            Some(file) => GroundTruth::read(file)?,
            None => GroundTruth::from_tracers(&data, &trace)?,
        };
        if self.traces && !options.without.contains(&Evidence::Operations) {
            tell!(
                "sockcap: the analysis used the traces; 'sockcap analyze --without operations' \
                 infers them"
            );
        }
        analyze::attach_operations(&mut trace, &data, &options)?;
        let links = Links::read(data.links_path())?;
        let score = synth::score::score_links(
            &trace,
            &links,
            &options,
            &truth,
            &self.exclude,
            &TerminalProgress::new(),
        )?;
        let printed = match self.json {
            true => {
                let mut out = output::machine_output();
                writeln!(out, "{}", score.to_json()?).and_then(|()| out.flush())
            }
            false => {
                let mut out = output::text_output();
                write!(out, "{score}").and_then(|()| out.flush())
            }
        };
        printed.map_err(CommandError::Output)?;
        Ok(ExitCode::SUCCESS)
    }
}
