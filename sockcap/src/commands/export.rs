//! `sockcap export`: a stage's table in another format, and traces and patterns for other tools.
//! The formats and their flags come from the registry of exporters.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use analyze::naming::Aliases;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use exporters::{ExportOutput, ExportSource, Exporter, ExporterSpec, RequiredStage, TraceCount};

use crate::arguments::completion_candidates::pattern_candidates;
use crate::arguments::{DataArguments, InferenceArguments, SourceChoice};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::{count_noun, print_message, tell};
use crate::progress::TerminalProgress;
use crate::shown::ShownData;
use crate::target::ResultTarget;
use crate::{kinds, lock, stages};

/// Export in one format.
#[derive(Debug)]
struct ExportCommand {
    kind: &'static ExporterSpec,
    /// The command line, which each exporter reads its flags from.
    given: ArgMatches,
    data: DataArguments,
    source: SourceChoice,
    to: ExportDestination,
}

/// The requested export.
#[derive(Debug, Args)]
struct ExportChoice {
    /// What is written
    #[arg(value_name = "WHAT", value_parser = exporter_parser())]
    exported: &'static ExporterSpec,
}

/// The names of nodes, and the destination of the export.
#[derive(Debug, Args)]
struct ExportDestination {
    /// A file with names for addresses, hosts, commands and endpoints [default: DIR/aliases, if
    /// there is one]
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) const COMMAND: Subcommand = Subcommand { define: define_export, read: read_export };

fn define_export() -> Command {
    let all = kinds::exporters();
    let command = DataArguments::augment_args(ExportChoice::augment_args(Command::new("export")))
        .args(registry::union_of_flags(&all).into_iter().map(offer_values));
    ExportDestination::augment_args(SourceChoice::augment_args(command))
        .about("Write tables, traces and patterns for other tools")
        .after_help(export_help(&all))
}

fn exporter_parser() -> impl TypedValueParser<Value = &'static ExporterSpec> {
    let choice = |kind: &ExporterSpec| PossibleValue::new(kind.about.name).help(kind.about.summary);
    let find = |name: String| {
        registry::find_entry(&kinds::exporters(), &name).ok_or("there is no such export")
    };
    PossibleValuesParser::new(kinds::exporters().into_iter().map(choice)).try_map(find)
}

/// Adds the values that TAB offers, which are in the data directory.
fn offer_values(flag: Arg) -> Arg {
    match flag.get_long() {
        Some("pattern") => flag.add(pattern_candidates()),
        _ => flag,
    }
}

/// The end of help: the tools that open each format, and examples.
fn export_help(all: &[&ExporterSpec]) -> String {
    let mut text = "Programs that open each format:\n".to_owned();
    for kind in all.iter().filter(|kind| !kind.opened_by.is_empty()) {
        text += &format!("  {:9} {}\n", kind.about.name, kind.opened_by);
    }
    let examples: Vec<&str> = all.iter().flat_map(|kind| kind.about.examples).copied().collect();
    text + "\nExamples:\n  " + &examples.join("\n  ")
}

fn read_export(
    matches: &ArgMatches,
    _program: &Command,
) -> Result<Box<dyn RunnableCommand>, clap::Error> {
    Ok(Box::new(ExportCommand {
        kind: ExportChoice::from_arg_matches(matches)?.exported,
        given: matches.clone(),
        data: DataArguments::from_arg_matches(matches)?,
        source: SourceChoice::from_arg_matches(matches)?,
        to: ExportDestination::from_arg_matches(matches)?,
    }))
}

impl RunnableCommand for ExportCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let exporter = self.build_exporter().map_err(|why| {
            CommandError::Usage(format!("{why}; 'sockcap export --help' has examples"))
        })?;
        exporter.check_options()?;
        if let Some(count) = self.write_export(&*exporter)? {
            if count.traces == 0 {
                // The output is well-formed but useless.
                print_message("no trace was written: no call begins a requested trace");
            }
            if let Some(url) = exporter.sent_to() {
                let spans = count_noun(count.spans, "span", "spans");
                let traces = count_noun(count.traces, "trace", "traces");
                tell!("sockcap: {spans} of {traces} sent to {url}");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl ExportCommand {
    /// The requested exporter.
    fn build_exporter(&self) -> Result<Box<dyn Exporter>, String> {
        match registry::refusal_of_flags(&kinds::exporters(), self.kind, &self.given) {
            Some(why) => Err(why),
            None => (self.kind.make)(&self.given),
        }
    }

    /// Runs the missing stages and writes the export, to the named file or standard output. A file
    /// is tried out first and keeps its content until there is output to write.
    fn write_export(&self, exporter: &dyn Exporter) -> Result<Option<TraceCount>, CommandError> {
        let path = self.to.output.as_deref();
        let mut target = ResultTarget::try_out(path)?;
        let locks = lock::lock_directories(&[&self.data.data_dir()])?;
        let shown = self.source.choose_source(&self.data)?;
        let aliases = self.prepare_stages(exporter.required_stage(), &shown)?;
        // A reader of standard output may wait for the lock.
        let _locks = path.is_some().then_some(locks);
        let source = ExportSource {
            data: &shown.data,
            aliases: &aliases,
            progress: &TerminalProgress::new(),
        };
        let name = target.name().to_owned();
        let mut writer = BufWriter::new(&mut target);
        let written =
            exporter.write_export(&source, &mut ExportOutput { writer: &mut writer, name: &name });
        let flushed = writer.flush();
        drop(writer);
        let written = written.map_err(|error| match error {
            exporters::Error::Output(source) if source.kind() != io::ErrorKind::BrokenPipe => {
                CommandError::file_error(&name, source)
            }
            error => error.into(),
        })?;
        flushed.map_err(|source| target.write_error(source))?;
        target.finish_target()?;
        Ok(written)
    }

    /// Runs the required stages, and returns the user's names. The results of an analysis contain
    /// them already.
    fn prepare_stages(
        &self,
        needs: RequiredStage,
        shown: &ShownData,
    ) -> Result<Aliases, CommandError> {
        let named = || InferenceArguments::with_aliases(self.to.aliases.clone());
        match needs {
            RequiredStage::Messages => {
                stages::ensure_messages(shown)?;
                return stages::read_aliases(shown, self.to.aliases.as_deref());
            }
            RequiredStage::Analysis => drop(stages::ensure_analysis(shown, &named())?),
            RequiredStage::Resources => {
                stages::ensure_analysis(shown, &named())?;
                if shown.data.own_events_path().is_file() {
                    stages::ensure_requests(shown, &named())?;
                }
            }
            RequiredStage::Requests => stages::ensure_requests(shown, &named())?,
            // Imported events need no stage; events of recordings are made with the messages.
            RequiredStage::Events if shown.data.log_paths()?.is_empty() => {}
            RequiredStage::Events => stages::ensure_messages(shown)?,
        }
        Ok(Aliases::default())
    }
}
