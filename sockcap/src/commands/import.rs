//! `sockcap import`: imports files of other tools into the data directory.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use importers::{ImportSummary, Importer, ImporterSpec};
use message_trace::DataDir;

use crate::arguments::DataArguments;
use crate::command::{RunnableCommand, Subcommand, describe_subcommand};
use crate::error::CommandError;
use crate::lock;
use crate::output::{count_noun, format_bytes, tell};
use crate::progress::TerminalProgress;
use crate::tuning::MAX_SKIPS_LISTED;
use crate::{kinds, words};

/// The name of the argument that takes the files.
const FILES: &str = "files";

const HELP: &str = "\
Importing the same file again replaces the earlier import. Recordings and
imports in one directory are one trace.

Examples:
  sockcap import calls calls.csv.gz && sockcap report
  sockcap import messages messages.csv --nodes nodes.csv -d copy
  sockcap import project5 --unit ms trace.txt
  sockcap import strace --host web1 /tmp/trace
  sockcap import pcap --host web=web.pcap --host db=db.pcap";

/// The files of one kind, and the importer that its flags describe.
#[derive(Debug)]
struct ImportCommand {
    files: Vec<PathBuf>,
    data: DataArguments,
    importer: Box<dyn Importer>,
}

/// The files to import. Each importer has its own help for them.
#[derive(Debug, Args)]
struct ImportFiles {
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(super) const COMMAND: Subcommand = Subcommand { define: define_import, read: read_import };

fn define_import() -> Command {
    Command::new("import")
        .about("Import captures of other tools")
        .after_help(HELP)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(kinds::importers().into_iter().map(define_importer))
}

/// The subcommand of a kind.
fn define_importer(kind: &'static ImporterSpec) -> Command {
    let command = ImportFiles::augment_args(Command::new(kind.about.name));
    let command = command.mut_arg(FILES, |files| match kind.files_by {
        None => files.help(kind.files).required(true),
        Some(flag) => files.help(kind.files).required_unless_present(flag),
    });
    let command = DataArguments::augment_args(command).args(kind.declared_flags());
    describe_subcommand(command, &kind.about)
}

fn read_import(
    given: &ArgMatches,
    _program: &Command,
) -> Result<Box<dyn RunnableCommand>, clap::Error> {
    let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
    let (name, below) = given.subcommand().ok_or_else(missing)?;
    let kind = registry::find_entry(&kinds::importers(), name).ok_or_else(missing)?;
    Ok(Box::new(ImportCommand {
        files: ImportFiles::from_arg_matches(below)?.files,
        data: DataArguments::from_arg_matches(below)?,
        importer: (kind.make)(below)?,
    }))
}

impl RunnableCommand for ImportCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let data = self.data.data_dir();
        let _locks = lock::make_and_lock(&data)?;
        run_importer(&*self.importer, &self.files, &data)
    }
}

/// Runs `importer` on `files` and prints the result.
fn run_importer(
    importer: &dyn Importer,
    files: &[PathBuf],
    data: &DataDir,
) -> Result<ExitCode, CommandError> {
    let summary = importer.import_files(files, data, &TerminalProgress::new())?;
    let [made_one, made_many] = importer.output_nouns();
    let [read_one, read_many] = importer.input_nouns();
    let written: Vec<String> =
        summary.written.iter().map(|path| path.display().to_string()).collect();
    tell!(
        "sockcap: {} of {} in {} ({}) {} {}; next: sockcap {}{}",
        count_noun(summary.made, made_one, made_many),
        count_noun(summary.read, read_one, read_many),
        count_noun(summary.files, "file", "files"),
        format_bytes(summary.bytes),
        if summary.replaced { "replace those in" } else { "are in" },
        written.join(", "),
        importer.next_command(),
        words::same_directory(data),
    );
    report_skipped(&summary);
    Ok(ExitCode::SUCCESS)
}

/// Prints the skipped items, and the notes of the importer.
fn report_skipped(summary: &ImportSummary) {
    for (cause, count) in &summary.skipped.causes {
        tell!("  skipped: {cause}: {count}");
    }
    let first = &summary.skipped.first;
    for skip in first.iter().take(MAX_SKIPS_LISTED) {
        tell!("  {skip}");
    }
    if first.len() > MAX_SKIPS_LISTED {
        tell!("  and {} more", summary.skipped.total() - MAX_SKIPS_LISTED as u64);
    }
    for note in &summary.notes {
        tell!("  {note}");
    }
}
