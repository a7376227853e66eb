//! `sockcap info`: the contents of a data directory, program by program, and the capture gaps.

mod json;
mod line;
mod processes;
mod spans;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use analyze::AnalysisSummary;
use clap::Parser;
use importers::SnifferReport;
use message_trace::{DataDir, ImportedTrace, table};
use reconcile::Reconciliation;
use reconcile::capture_gaps::{CaptureGaps, UncapturedUse, UnrecordedEnd, UnrecordedProgram};

use crate::arguments::{DataArguments, SourceChoice};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::leftover_snippets;
use crate::output::{self, count_noun, escape_line_breaks};
use crate::own_logs::{self, OwnLogs};
use crate::remedies::{remedy_for, remedy_for_uncaptured};
use crate::shown::PathSource;
use crate::table::write_folded;
use crate::tuning::MAX_UNSEEN_LISTED;
use crate::{clock_words, gap_notes, lock, stages, tidy, words};
use line::write_paragraph;
use processes::RecordedProcesses;
use spans::SpanImports;

const HELP: &str = "\
Examples:
  sockcap info
  sockcap info --processes
  sockcap info --json";

/// Show what a data directory contains, and what could not be seen
#[derive(Debug, Parser)]
#[command(name = "info", after_help = HELP)]
pub(crate) struct InfoCommand {
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    source: SourceChoice,
    /// Show each process with its command line, instead of each program
    #[arg(long)]
    processes: bool,
    /// Print JSON, with all processes and all figures
    #[arg(long, conflicts_with = "processes")]
    json: bool,
    /// A file with names for hosts and commands [default: DIR/aliases, if there is one]
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
    /// As root, list the logs of all users, not only those of root and of root's recordings
    #[arg(long)]
    all_users: bool,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<InfoCommand>();

impl RunnableCommand for InfoCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let locks = lock::lock_directories(&[&self.data.data_dir()])?;
        let shown = self.source.choose_source(&self.data)?;
        let data = shown.whole.clone();
        let aliases = stages::find_aliases(&data, self.aliases.as_deref())?;
        let own = OwnLogs::of_user(&data, self.all_users);
        own_logs::print_skipped(&data)?;
        leftover_snippets::warn_of_snippets(&data)?;
        tidy::tidy_logs(&data, &own);
        // The locks are released: the files read from here on are always complete, and the reader
        // of the output may take long.
        drop(locks);
        let imports = data.imported_messages()?;
        let has_logs = !data.log_paths()?.is_empty();
        let spans = SpanImports::read_imports(&shown.spans_dir())?;
        let has_messages = has_logs || !imports.is_empty() || data.messages_path().exists();
        if !has_messages && shown.source == PathSource::Messages {
            return Err(CommandError::NoLogs(data.path().to_owned()));
        }
        let processes = RecordedProcesses::read_logs(&data, &aliases, &own)?;
        own_logs::print_foreign(
            processes.foreign,
            &format!(" sockcap info{}", words::same_directory(&data)),
        );
        let sniffers = SnifferReport::read_all(&data)?;
        let spots = reconcile::capture_gaps::find_capture_gaps(&data)?;
        if self.json {
            let mut out = output::machine_output();
            let found = json::DirectoryFindings {
                logs: &processes,
                imports,
                captured: &sniffers,
                not_seen: &spots,
                spans,
            };
            json::write_document(&shown, found, &mut out)?;
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut out = output::text_output();
        if let Some(other) = shown.other_source_hint() {
            write_folded(&other, "", output::width_limit(), &mut out)?;
            writeln!(out)?;
        }
        match (has_logs, self.processes) {
            (false, _) => {}
            (true, false) => processes.write_programs(&mut out)?,
            (true, true) => processes.write_processes(&mut out)?,
        }
        write_switches(&data, &mut out)?;
        write_imports(&imports, &mut out)?;
        write_captures(&sniffers, &mut out)?;
        spans.write_imports(&mut out)?;
        if shown.source == PathSource::Spans {
            spans.write_results(&mut out)?;
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
        write_gaps(&spots, processes.still_running(), &mut out)?;
        match Reconciliation::read(&data) {
            Ok(reconciliation) => {
                write_paragraph(
                    &format!("messages: {}", words::reconciliation_line(&reconciliation)),
                    &mut out,
                )?;
                for note in gap_notes::all_notes(&reconciliation) {
                    write_folded(
                        &format!("{}: {}", note.label, note.count),
                        "  ",
                        output::width_limit(),
                        &mut out,
                    )?;
                }
                write_translations(&reconciliation, &mut out)?;
            }
            Err(_) => {
                write_paragraph("messages: not yet; 'sockcap reconcile' makes them", &mut out)?
            }
        }
        if let Ok(found) = clocks::ClockModel::read(data.clocks_path()) {
            clock_words::write_clock_table(&found, output::width_limit(), &mut out)?;
        }
        match AnalysisSummary::read(data.analysis_path()) {
            Ok(summary) => {
                write_paragraph(&format!("analysis: {}", words::analysis_line(&summary)), &mut out)?
            }
            Err(_) => write_paragraph("analysis: not yet; 'sockcap analyze' makes it", &mut out)?,
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a line about the files of context switches, if there are any.
fn write_switches(data: &DataDir, out: &mut impl Write) -> Result<(), CommandError> {
    let files = data.switch_paths()?;
    if !files.is_empty() {
        let size =
            files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
        let count = count_noun(files.len() as u64, "file", "files");
        writeln!(out, "switches of threads: {count}, {}", output::format_bytes(size))?;
    }
    Ok(())
}

/// Writes a line for each trace that was imported as messages.
fn write_imports(imports: &[ImportedTrace], out: &mut impl Write) -> Result<(), CommandError> {
    for import in imports {
        let (messages, nodes) =
            (table::count_rows(import.messages_path())?, table::count_rows(import.nodes_path())?);
        let messages = count_noun(messages, "message", "messages");
        writeln!(
            out,
            "imported {}: {messages} between {}",
            escape_line_breaks(&import.name),
            count_noun(nodes, "node", "nodes")
        )?;
    }
    Ok(())
}

/// Writes a few lines for each sniffer with imported packets.
fn write_captures(all: &[SnifferReport], out: &mut impl Write) -> Result<(), CommandError> {
    for captured in all {
        let SnifferReport { sniffer, frames, hosts, files, .. } = captured;
        let (packets, files) = (count_noun(*frames, "packet", "packets"), files.len() as u64);
        let hosts = count_noun(hosts.len() as u64, "host", "hosts");
        let files = count_noun(files, "file", "files");
        let sniffer = escape_line_breaks(sniffer);
        writeln!(out, "captured by {sniffer}: {packets} in {files}, the clock of {hosts}")?;
        for (what, count) in captured.skipped.iter().chain(&captured.odd) {
            writeln!(out, "  {what}: {count}")?;
        }
        for place in captured.damaged.iter().take(MAX_UNSEEN_LISTED) {
            writeln!(out, "  {}", escape_line_breaks(&place.to_string()))?;
        }
    }
    Ok(())
}

/// Writes the translated names.
fn write_translations(found: &Reconciliation, out: &mut impl Write) -> io::Result<()> {
    if !found.translations.is_empty() {
        writeln!(out, "\ntranslated addresses: {}", found.translations.len())?;
    }
    for translation in found.translations.iter().take(MAX_UNSEEN_LISTED) {
        writeln!(out, "  {}", escape_line_breaks(&words::translation_line(translation)))?;
    }
    if found.translations.len() > MAX_UNSEEN_LISTED {
        writeln!(out, "  and {} more", found.translations.len() - MAX_UNSEEN_LISTED)?;
    }
    Ok(())
}

/// Writes which processes are `running`, and what is mentioned in the logs but missing from them.
fn write_gaps(spots: &CaptureGaps, running: Vec<String>, out: &mut impl Write) -> io::Result<()> {
    let lists = [
        ("still running and recorded until they end ('kill PID' ends one)", running, Vec::new()),
        (
            "loaded the library and used no socket",
            spots
                .silent
                .iter()
                .map(|process| {
                    format!("pid {} on {}: {}", process.pid, process.host, process.command)
                })
                .collect::<Vec<_>>(),
            Vec::new(),
        ),
        (
            "programs that recorded processes started and that are not recorded",
            spots.unseen.iter().map(program_words).collect(),
            remedies_of_programs(&spots.unseen),
        ),
        (
            "used by recorded programs and not captured",
            spots.uncaptured.iter().map(uncaptured_words).collect(),
            remedies_of_uncaptured(&spots.uncaptured),
        ),
        (
            "connections with an unrecorded other end on a recorded host",
            spots.unseen_ends.iter().map(end_words).collect(),
            Vec::new(),
        ),
    ];
    for (what, list, remedies) in lists.iter().filter(|(_, list, _)| !list.is_empty()) {
        write_paragraph(&format!("{what}: {}", list.len()), out)?;
        for line in list.iter().take(MAX_UNSEEN_LISTED) {
            write_folded(line, "  ", output::width_limit(), out)?;
        }
        if list.len() > MAX_UNSEEN_LISTED {
            writeln!(out, "  and {} more", list.len() - MAX_UNSEEN_LISTED)?;
        }
        for remedy in remedies {
            write_folded(remedy, "  ", output::width_limit(), out)?;
        }
    }
    if spots.without_log > 0 {
        writeln!(
            out,
            "\nprocesses that used sockets and found no room for a log: {}",
            spots.without_log
        )?;
    }
    Ok(())
}

/// Advice for each cause of unrecorded programs.
fn remedies_of_programs(unseen: &[UnrecordedProgram]) -> Vec<String> {
    let causes: BTreeSet<&str> = unseen.iter().map(|unseen| unseen.cause).collect();
    causes
        .into_iter()
        .filter_map(|cause| Some(format!("{cause}: {}", remedy_for(cause)?)))
        .collect()
}

fn program_words(program: &UnrecordedProgram) -> String {
    let UnrecordedProgram { program, cause, pid, by } = program;
    let how = if *pid == by.pid { "which was" } else { "started by" };
    let program = program.replace(char::is_control, " ");
    format!("{program} ({cause}): pid {pid} on {}, {how} pid {}: {}", by.host, by.pid, by.command)
}

/// Advice for each kind of uncaptured use.
fn remedies_of_uncaptured(uses: &[UncapturedUse]) -> Vec<String> {
    let kinds: BTreeSet<_> = uses.iter().map(|found| found.kind).collect();
    kinds.into_iter().filter_map(remedy_for_uncaptured).map(str::to_owned).collect()
}

fn uncaptured_words(found: &UncapturedUse) -> String {
    let UncapturedUse { host, program, what, processes, .. } = found;
    let of = match processes {
        1 => String::new(),
        processes => format!("{processes} processes of "),
    };
    escape_line_breaks(&format!("{what}: {of}{program} on {host}"))
}

fn end_words(end: &UnrecordedEnd) -> String {
    let UnrecordedEnd { name, by, flows } = end;
    format!(
        "{name}: {} of pid {} on {}: {}",
        count_noun(*flows, "flow", "flows"),
        by.pid,
        by.host,
        by.command
    )
}
