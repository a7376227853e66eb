//! `sockcap synth`: a trace with known ground truth, from a configuration of tracelets.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use message_trace::DataDir;
use synth::maketrace::{self, ConfigChanges, TraceConfig, TruthTable};
use synth::operations;
use synth::synthetic_import;

use crate::arguments::DataArguments;
use crate::arguments::completion_candidates::configuration_completer;
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::lock;
use crate::output::{count_noun, tell};
use crate::progress::TerminalProgress;
use crate::words;

const HELP: &str = "\
CONFIG is a file (TOML; see docs/synth.md), or one of those included in sockcap:
  multi-tier, multi-tier-added-delay       the system of Project 5's Figure 10
  children-parallel, children-0-2, children-d-cc, penalty-breaker
                                           the pathological cases of Figure 18
  operations                               spans with times that depend on context

Examples:
  sockcap synth children-0-2 --truth t.csv && sockcap score --truth t.csv
  sockcap synth children-parallel --parallel 10 --seed 2 -d busy";

/// Make a trace with known ground truth
#[derive(Debug, Parser)]
#[command(name = "synth", after_help = HELP)]
pub(crate) struct SynthCommand {
    /// What the trace is made from
    #[arg(value_name = "CONFIG", add = configuration_completer())]
    config: String,
    #[command(flatten)]
    data: DataArguments,
    /// Write the ground truth to this file
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Another seed than the configuration's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of instances of each sequence of a tracelet; for operations, number of requests
    #[arg(long, value_name = "N")]
    instances: Option<u64>,
    /// Multiply the number of parallel sequences by N
    #[arg(long, value_name = "N")]
    parallel: Option<u64>,
    /// Multiply all standard deviations by this
    #[arg(long, value_name = "FACTOR", value_parser = parse_factor)]
    deviation: Option<f64>,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<SynthCommand>();

impl RunnableCommand for SynthCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let data = self.data.data_dir();
        let _locks = lock::make_and_lock(&data)?;
        let path = Path::new(&self.config);
        if let Some(config) = operations_config(&self.config, path)? {
            return self.make_operations(config, &data);
        }
        // A file takes precedence over an included configuration.
        let config = match maketrace::shipped_config(&self.config).filter(|_| !path.exists()) {
            Some(config) => config?,
            None if !path.exists() => {
                let known = maketrace::SHIPPED.iter().chain(&operations::SHIPPED);
                let known: Vec<&str> = known.map(|(name, _)| *name).collect();
                return Err(CommandError::NoConfig(path.to_owned(), known.join(", ")));
            }
            None => TraceConfig::read(path)?,
        };
        let config = config.with_changes(&self.config_changes());
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !config.call_ids && self.truth.is_some() {
            refuse_other_contents(&data, &name)?;
        }
        let made = maketrace::make_trace(&config, &TerminalProgress::new())?;
        let place = synthetic_import::write_trace(&made.trace, &data, &name)?;
        if let Some(truth) = &self.truth {
            made.truth.write(truth)?;
        }
        tell!(
            "sockcap: {} of {} in {}{}; next: sockcap report{}",
            count_noun(made.trace.len() as u64, "message", "messages"),
            count_noun(made.instances, "path instance", "path instances"),
            place.display(),
            match (&self.truth, &made.truth) {
                (Some(truth), TruthTable::Calls(_)) =>
                    format!(", the truth about calls in {}", truth.display()),
                (Some(truth), TruthTable::Messages(_)) =>
                    format!(", the truth about messages in {}", truth.display()),
                (None, _) => String::new(),
            },
            words::same_directory(&data),
        );
        Ok(ExitCode::SUCCESS)
    }
}

impl SynthCommand {
    /// Makes traces of operations: requests, as an import of spans.
    fn make_operations(
        &self,
        config: operations::OperationsConfig,
        data: &DataDir,
    ) -> Result<ExitCode, CommandError> {
        if self.parallel.is_some() {
            let why = "operations have no sequences, and so no --parallel; --instances N makes N requests";
            return Err(CommandError::Usage(why.to_owned()));
        }
        let config = config.with_changes(&self.config_changes());
        let name = config.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (made, place) = synthetic_import::write_requests(&data.spans_dir(), &name, |tables| {
            operations::make_operations(&config, tables, &TerminalProgress::new())
        })?;
        if let Some(truth) = &self.truth {
            operations::write_truth(&made.truth, truth)?;
        }
        tell!(
            "sockcap: {} of {} of {} in {}{}; next: sockcap contexts{}",
            count_noun(made.executions, "execution", "executions"),
            count_noun(made.requests, "request", "requests"),
            count_noun(made.classes, "class", "classes"),
            place.display(),
            match &self.truth {
                Some(truth) => format!(", the truth about contexts in {}", truth.display()),
                None => String::new(),
            },
            words::same_directory(data),
        );
        Ok(ExitCode::SUCCESS)
    }

    /// Differences from the configuration.
    pub(crate) fn config_changes(&self) -> ConfigChanges {
        let SynthCommand { seed, instances, parallel, deviation, .. } = *self;
        ConfigChanges { seed, instances, parallel, deviation }
    }
}

/// The configuration with the given name or at the given path, if it is one of operations. A file
/// takes precedence over an included one.
fn operations_config(
    name: &str,
    path: &Path,
) -> Result<Option<operations::OperationsConfig>, CommandError> {
    if !path.exists() {
        return Ok(operations::shipped_config(name).transpose()?);
    }
    let text =
        std::fs::read_to_string(path).map_err(|source| CommandError::file_error(path, source))?;
    Ok(operations::OperationsConfig::parse(path, &text)?)
}

/// A factor: 0 or more.
fn parse_factor(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("'{text}' is not a number of 0 or more"))
}

/// Refuses a directory with other contents: messages would not have the numbers that the truth
/// gives them.
fn refuse_other_contents(data: &DataDir, name: &str) -> Result<(), CommandError> {
    let alone = data.log_paths()?.is_empty()
        && data.imported_messages()?.iter().all(|import| import.name == name);
    if alone { Ok(()) } else { Err(CommandError::NotAlone(data.path().to_owned())) }
}
