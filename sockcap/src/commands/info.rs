//! `sockcap info`: the contents of a data directory, program by program, and what could not be
//! seen.

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
use importers::Captured;
use message_trace::{DataDir, Import, table};
use reconcile::Reconciliation;
use reconcile::blind_spots::{BlindSpots, UncapturedUse, Unseen, UnseenEnd};

use crate::arguments::{Data, SourceChoice};
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::output::{self, counted, in_one_line};
use crate::own_logs::{self, OwnLogs};
use crate::shown::Source;
use crate::snippets_left;
use crate::table::folded;
use crate::tuning::MAX_UNSEEN_LISTED;
use crate::ways_out::{way_out, way_out_of_uncaptured};
use crate::{clock_words, lock, notes, stages, tidy, words};
use line::line;
use processes::Processes;
use spans::Spans;

const HELP: &str = "\
Examples:
  sockcap info
  sockcap info --processes
  sockcap info --json";

/// Show what a data directory holds, and what could not be seen
#[derive(Debug, Parser)]
#[command(name = "info", after_help = HELP)]
pub(crate) struct Info {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    source: SourceChoice,
    /// Show each process with its command line, instead of each program
    #[arg(long)]
    processes: bool,
    /// Print JSON, with all processes and all figures
    #[arg(long, conflicts_with = "processes")]
    json: bool,
    /// A file that says what hosts and commands are to be called [default: DIR/aliases, if there is
    /// one]
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
    /// As root, list the logs of all users, not only root's and those of root's recordings
    #[arg(long)]
    all_users: bool,
}

pub(super) const COMMAND: Subcommand = Subcommand::of::<Info>();

impl Run for Info {
    fn run(&self) -> Result<ExitCode, Error> {
        let locks = lock::work_on(&[&self.data.dir()])?;
        let shown = self.source.of(&self.data)?;
        let data = shown.whole.clone();
        let aliases = stages::aliases(&data, self.aliases.as_deref())?;
        let own = OwnLogs::of(&data, self.all_users);
        own_logs::tell_left_out(&data)?;
        snippets_left::warn(&data)?;
        tidy::tidy(&data, &own);
        // What is read from here on is whole at any moment, and its reader may take long.
        drop(locks);
        let imports = data.imported()?;
        let has_logs = !data.logs()?.is_empty();
        let spans = Spans::read(&shown.spans())?;
        let has_messages = has_logs || !imports.is_empty() || data.messages().exists();
        if !has_messages && shown.source == Source::Messages {
            return Err(Error::NoLogs(data.path().to_owned()));
        }
        let processes = Processes::read(&data, &aliases, &own)?;
        own_logs::tell_foreign(
            processes.foreign,
            &format!(" sockcap info{}", words::same_directory(&data)),
        );
        let sniffers = Captured::all(&data)?;
        let spots = reconcile::blind_spots::find(&data)?;
        if self.json {
            let mut out = output::machine();
            let found = json::Found {
                logs: &processes,
                imports,
                captured: &sniffers,
                not_seen: &spots,
                spans,
            };
            json::write(&shown, found, &mut out)?;
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut out = output::text();
        if let Some(other) = shown.other() {
            folded(&other, "", output::limit(), &mut out)?;
            writeln!(out)?;
        }
        match (has_logs, self.processes) {
            (false, _) => {}
            (true, false) => processes.write_programs(&mut out)?,
            (true, true) => processes.write_processes(&mut out)?,
        }
        switches(&data, &mut out)?;
        imported(&imports, &mut out)?;
        captured(&sniffers, &mut out)?;
        spans.write_imports(&mut out)?;
        if shown.source == Source::Spans {
            spans.write_results(&mut out)?;
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
        not_seen(&spots, processes.still_running(), &mut out)?;
        match Reconciliation::read(&data) {
            Ok(reconciliation) => {
                line(&format!("messages: {}", words::reconciliation(&reconciliation)), &mut out)?;
                for note in notes::notes(&reconciliation) {
                    folded(
                        &format!("{}: {}", note.label, note.count),
                        "  ",
                        output::limit(),
                        &mut out,
                    )?;
                }
                translations(&reconciliation, &mut out)?;
            }
            Err(_) => line("messages: not yet; 'sockcap reconcile' makes them", &mut out)?,
        }
        if let Ok(found) = clocks::Clocks::read(data.clocks()) {
            clock_words::table(&found, output::limit(), &mut out)?;
        }
        match AnalysisSummary::read(data.analysis()) {
            Ok(summary) => line(&format!("analysis: {}", words::analysis(&summary)), &mut out)?,
            Err(_) => line("analysis: not yet; 'sockcap analyze' makes it", &mut out)?,
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a line of the files that tell when threads had a processor, where there are any.
fn switches(data: &DataDir, out: &mut impl Write) -> Result<(), Error> {
    let files = data.switches()?;
    if !files.is_empty() {
        let size =
            files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
        let count = counted(files.len() as u64, "file", "files");
        writeln!(out, "switches of threads: {count}, {}", output::bytes(size))?;
    }
    Ok(())
}

/// Writes a line for each trace that was imported as messages.
fn imported(imports: &[Import], out: &mut impl Write) -> Result<(), Error> {
    for import in imports {
        let (messages, nodes) = (table::rows(import.messages())?, table::rows(import.nodes())?);
        let messages = counted(messages, "message", "messages");
        writeln!(
            out,
            "imported {}: {messages} between {}",
            in_one_line(&import.name),
            counted(nodes, "node", "nodes")
        )?;
    }
    Ok(())
}

/// Writes some lines for each sniffer whose packets were imported.
fn captured(all: &[Captured], out: &mut impl Write) -> Result<(), Error> {
    for captured in all {
        let Captured { sniffer, frames, hosts, files, .. } = captured;
        let (packets, files) = (counted(*frames, "packet", "packets"), files.len() as u64);
        let hosts = counted(hosts.len() as u64, "host", "hosts");
        let files = counted(files, "file", "files");
        let sniffer = in_one_line(sniffer);
        writeln!(out, "captured by {sniffer}: {packets} in {files}, the clock of {hosts}")?;
        for (what, count) in captured.skipped.iter().chain(&captured.odd) {
            writeln!(out, "  {what}: {count}")?;
        }
        for place in captured.damaged.iter().take(MAX_UNSEEN_LISTED) {
            writeln!(out, "  {}", in_one_line(&place.to_string()))?;
        }
    }
    Ok(())
}

/// Writes the translated names.
fn translations(found: &Reconciliation, out: &mut impl Write) -> io::Result<()> {
    if !found.translations.is_empty() {
        writeln!(out, "\ntranslated addresses: {}", found.translations.len())?;
    }
    for translation in found.translations.iter().take(MAX_UNSEEN_LISTED) {
        writeln!(out, "  {}", in_one_line(&words::translation(translation)))?;
    }
    if found.translations.len() > MAX_UNSEEN_LISTED {
        writeln!(out, "  and {} more", found.translations.len() - MAX_UNSEEN_LISTED)?;
    }
    Ok(())
}

/// Writes which processes are `running`, and what the logs mention and no log has.
fn not_seen(spots: &BlindSpots, running: Vec<String>, out: &mut impl Write) -> io::Result<()> {
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
            "programs that recorded processes began, of which nothing is recorded",
            spots.unseen.iter().map(unseen).collect(),
            ways_out(&spots.unseen),
        ),
        (
            "used by recorded programs and not captured",
            spots.uncaptured.iter().map(uncaptured).collect(),
            ways_out_of_uncaptured(&spots.uncaptured),
        ),
        (
            "connections whose other end is on a recorded host and was not recorded",
            spots.unseen_ends.iter().map(unseen_end).collect(),
            Vec::new(),
        ),
    ];
    for (what, list, ways_out) in lists.iter().filter(|(_, list, _)| !list.is_empty()) {
        line(&format!("{what}: {}", list.len()), out)?;
        for line in list.iter().take(MAX_UNSEEN_LISTED) {
            folded(line, "  ", output::limit(), out)?;
        }
        if list.len() > MAX_UNSEEN_LISTED {
            writeln!(out, "  and {} more", list.len() - MAX_UNSEEN_LISTED)?;
        }
        for way_out in ways_out {
            folded(way_out, "  ", output::limit(), out)?;
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

/// Writes the advice for each cause.
fn ways_out(unseen: &[Unseen]) -> Vec<String> {
    let causes: BTreeSet<&str> = unseen.iter().map(|unseen| unseen.cause).collect();
    causes.into_iter().filter_map(|cause| Some(format!("{cause}: {}", way_out(cause)?))).collect()
}

fn unseen(program: &Unseen) -> String {
    let Unseen { program, cause, pid, by } = program;
    let how = if *pid == by.pid { "which was" } else { "started by" };
    let program = program.replace(char::is_control, " ");
    format!("{program} ({cause}): pid {pid} on {}, {how} pid {}: {}", by.host, by.pid, by.command)
}

/// Writes the advice for each kind.
fn ways_out_of_uncaptured(uses: &[UncapturedUse]) -> Vec<String> {
    let kinds: BTreeSet<_> = uses.iter().map(|found| found.kind).collect();
    kinds.into_iter().filter_map(way_out_of_uncaptured).map(str::to_owned).collect()
}

fn uncaptured(found: &UncapturedUse) -> String {
    let UncapturedUse { host, program, what, processes, .. } = found;
    let of = match processes {
        1 => String::new(),
        processes => format!("{processes} processes of "),
    };
    in_one_line(&format!("{what}: {of}{program} on {host}"))
}

fn unseen_end(end: &UnseenEnd) -> String {
    let UnseenEnd { name, by, flows } = end;
    format!(
        "{name}: {} of pid {} on {}: {}",
        counted(*flows, "flow", "flows"),
        by.pid,
        by.host,
        by.command
    )
}
