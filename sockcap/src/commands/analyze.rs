//! `sockcap analyze`: messages to links, paths and patterns.

use std::process::ExitCode;

use analyze::AnalysisResources;
use clap::Parser;
use reconcile::Reconciliation;
use registry::values;

use crate::arguments::values::parse_bytes;
use crate::arguments::{DataArguments, InferenceArguments};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::tell;
use crate::shown::ShownData;
use crate::{inference_limits, lock, stages, words};

const HELP: &str = "\
Examples:
  sockcap analyze
  sockcap analyze --node host --roles
  sockcap analyze --algorithm linking --window 500ms
  sockcap analyze --algorithm nesting --skew-window 5ms";

/// Infer which message caused which: messages to links, paths and patterns
#[derive(Debug, Parser)]
#[command(name = "analyze", after_help = HELP)]
pub(crate) struct AnalyzeCommand {
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    inference: InferenceArguments,
    /// Hold this much of the paths in memory, and the rest in temporary files
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_bytes,
        default_value = values::show_bytes(AnalysisResources::default().memory)
    )]
    memory: u64,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<AnalyzeCommand>();

impl RunnableCommand for AnalyzeCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let _locks = lock::lock_directories(&[&self.data.data_dir()])?;
        let shown = ShownData::choose_shown(self.data.data_dir(), None)?;
        let summary = stages::run_analyze(&shown, &self.inference, self.analyze_options())?;
        tell!(
            "sockcap: {}; next: sockcap report{}",
            words::analysis_line(&summary),
            shown.repeat_arguments()
        );
        let found = Reconciliation::read(&shown.data).ok();
        let decided = inference_limits::decided_calls(&summary, found.as_ref());
        words::evidence_lines(&decided).iter().for_each(|line| tell!("sockcap: {line}"));
        Ok(ExitCode::SUCCESS)
    }
}

impl AnalyzeCommand {
    pub(crate) fn analyze_options(&self) -> analyze::Options {
        let mut options = self.inference.apply_to(analyze::Options::default());
        options.resources.memory = self.memory;
        options
    }
}
