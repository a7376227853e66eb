//! `sockcap import`: files of other tools into the data directory.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use importers::{Importer, Kind, Summary};
use message_trace::DataDir;
use registry::{Entry, Given};

use crate::arguments::{Data, flags};
use crate::command::{Run, Subcommand, subcommand};
use crate::error::Error;
use crate::lock;

use crate::output::{bytes, counted, tell};
use crate::progress::Terminal;
use crate::tuning::MAX_SKIPS_LISTED;
use crate::{kinds, words};

/// The name of the argument that takes the files.
const FILES: &str = "files";

const HELP: &str = "\
Importing the same again replaces it. Recordings and imports of one directory
are one trace.

Examples:
  sockcap import calls calls.csv.gz && sockcap report
  sockcap import messages messages.csv --nodes nodes.csv -d copy
  sockcap import project5 --unit ms trace.txt
  sockcap import strace --host web1 /tmp/trace
  sockcap import pcap --host web=web.pcap --host db=db.pcap";

/// The files of one kind, and the values of its flags.
#[derive(Debug)]
struct Import {
    kind: &'static Kind,
    files: Vec<PathBuf>,
    data: Data,
    given: Given,
}

pub(super) const COMMAND: Subcommand = Subcommand { define, read };

fn define() -> Command {
    Command::new("import")
        .about("Bring in what other tools have captured")
        .after_help(HELP)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(kinds::importers().into_iter().map(of_kind))
}

/// The subcommand of a kind.
fn of_kind(kind: &'static Kind) -> Command {
    let files = Arg::new(FILES)
        .value_name("FILE")
        .help(kind.files)
        .num_args(1..)
        .action(ArgAction::Append)
        .value_parser(value_parser!(PathBuf));
    let files = match kind.files_by {
        None => files.required(true),
        Some(flag) => files.required_unless_present(flag),
    };
    Data::augment_args(subcommand(kind.about()).arg(files))
        .args(kind.flags().iter().copied().map(flags::argument))
}

fn read(given: &ArgMatches, _program: &Command) -> Result<Box<dyn Run>, clap::Error> {
    let missing = || clap::Error::new(ErrorKind::MissingSubcommand);
    let (name, below) = given.subcommand().ok_or_else(missing)?;
    let kind = registry::find(&kinds::importers(), name).ok_or_else(missing)?;
    let files = below.get_many::<PathBuf>(FILES).into_iter().flatten().cloned().collect();
    let given = flags::given(below, kind.flags())?;
    Ok(Box::new(Import { kind, files, data: Data::from_arg_matches(below)?, given }))
}

impl Run for Import {
    fn run(&self) -> Result<ExitCode, Error> {
        let data = self.data.dir();
        let _locks = lock::make_and_work_on(&data)?;
        import(&*(self.kind.make)(&self.given), &self.files, &data)
    }
}

/// Runs `importer` on `files` and prints the result.
fn import(importer: &dyn Importer, files: &[PathBuf], data: &DataDir) -> Result<ExitCode, Error> {
    let summary = importer.import(files, data, &Terminal::new())?;
    let [made_one, made_many] = importer.makes();
    let [read_one, read_many] = importer.reads();
    let written: Vec<String> =
        summary.written.iter().map(|path| path.display().to_string()).collect();
    tell!(
        "sockcap: {} of {} in {} ({}) {} {}; next: sockcap {}{}",
        counted(summary.made, made_one, made_many),
        counted(summary.read, read_one, read_many),
        counted(summary.files, "file", "files"),
        bytes(summary.bytes),
        if summary.replaced { "replace those in" } else { "are in" },
        written.join(", "),
        importer.next(),
        words::same_directory(data),
    );
    say_skipped(&summary);
    Ok(ExitCode::SUCCESS)
}

/// Prints what was skipped, and the notes of the importer.
fn say_skipped(summary: &Summary) {
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
