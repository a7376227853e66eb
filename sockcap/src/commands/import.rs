//! `sockcap import`: files of other tools into the data directory.

use std::path::PathBuf;
use std::process::ExitCode;

use importers::{Importer, Summary};
use message_trace::DataDir;

use crate::cli::{Import, Source};
use crate::error::Error;
use crate::output::{bytes, counted};
use crate::progress::Terminal;
use crate::words;

/// How many places of what was skipped are shown.
const MOST_LISTED: usize = 5;

pub(crate) fn run(arguments: &Import) -> Result<ExitCode, Error> {
    match &arguments.source {
        Source::Messages(messages) => {
            import(&messages.importer(), &messages.table.files, &messages.table.data.dir())
        }
        Source::Project5(table) => import(&table.project5(), &table.files, &table.data.dir()),
        Source::Pcap(pcap) => import(&pcap.importer(), &pcap.files, &pcap.data.dir()),
        Source::Calls(table) => import(&table.calls(), &table.files, &table.data.dir()),
        Source::Strace(strace) => import(&strace.importer(), &strace.files, &strace.data.dir()),
    }
}

/// Runs `importer` on `files` and says what came of it.
fn import(importer: &dyn Importer, files: &[PathBuf], data: &DataDir) -> Result<ExitCode, Error> {
    let summary = importer.import(files, data, &Terminal::new())?;
    let [made_one, made_many] = importer.makes();
    let [read_one, read_many] = importer.reads();
    let written: Vec<String> =
        summary.written.iter().map(|path| path.display().to_string()).collect();
    anstream::eprintln!(
        "sockcap: {} of {} in {} ({}) {} {}; next: sockcap report{}",
        counted(summary.made, made_one, made_many),
        counted(summary.read, read_one, read_many),
        counted(summary.files, "file", "files"),
        bytes(summary.bytes),
        if summary.replaced { "replace those in" } else { "are in" },
        written.join(", "),
        words::same_directory(data),
    );
    say_skipped(&summary);
    Ok(ExitCode::SUCCESS)
}

/// What was passed over, and what else is worth knowing.
fn say_skipped(summary: &Summary) {
    for (cause, count) in &summary.skipped.causes {
        anstream::eprintln!("  skipped: {cause}: {count}");
    }
    let first = &summary.skipped.first;
    for skip in first.iter().take(MOST_LISTED) {
        anstream::eprintln!("  {skip}");
    }
    if first.len() > MOST_LISTED {
        anstream::eprintln!("  and {} more", summary.skipped.total() - MOST_LISTED as u64);
    }
    for note in &summary.notes {
        anstream::eprintln!("  {note}");
    }
}
