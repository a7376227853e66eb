//! `sockcap info`: what a data directory holds, program by program, and what could not be seen.

mod json;
mod processes;

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use analyze::AnalysisSummary;
use importers::Captured;
use message_trace::{Import, table};
use reconcile::Reconciliation;
use reconcile::blind_spots::{BlindSpots, Unseen, UnseenEnd};

use crate::cli::Info;
use crate::error::Error;
use crate::output::{self, counted};
use crate::table::folded;
use crate::ways_out::way_out;
use crate::{clocks, notes, stages, tidy, words};
use processes::Processes;

/// How many lines a list of what was not seen has at most.
const MOST_LISTED: usize = 20;

pub(crate) fn run(arguments: &Info) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    let aliases = stages::aliases(&data, arguments.aliases.as_deref())?;
    let mut out = BufWriter::new(io::stdout().lock());
    tidy::tidy(&data);
    let imports = data.imported()?;
    let has_logs = !data.logs()?.is_empty();
    if !has_logs && imports.is_empty() && !data.messages().exists() {
        return Err(Error::NoLogs(data.path().to_owned()));
    }
    let processes = Processes::read(&data, &aliases)?;
    let sniffers = Captured::all(&data)?;
    let spots = reconcile::blind_spots::find(&data)?;
    if arguments.json {
        json::write(&data, &processes, &imports, &sniffers, &spots, &mut out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    match (has_logs, arguments.processes) {
        (false, _) => {}
        (true, false) => processes.write_programs(&mut out)?,
        (true, true) => processes.write_processes(&mut out)?,
    }
    imported(&imports, &mut out)?;
    captured(&sniffers, &mut out)?;
    not_seen(&spots, &mut out)?;
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
    if let Ok(found) = ::clocks::Clocks::read(&data.clocks()) {
        clocks::table(&found, output::limit(), &mut out)?;
    }
    match AnalysisSummary::read(&data.analysis()) {
        Ok(summary) => line(&format!("analysis: {}", words::analysis(&summary)), &mut out)?,
        Err(_) => line("analysis: not yet; 'sockcap analyze' makes it", &mut out)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// What a stage made, in a part of its own.
fn line(text: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out)?;
    folded(text, "", output::limit(), out)
}

/// A line for each trace that was imported as messages.
fn imported(imports: &[Import], out: &mut impl Write) -> Result<(), Error> {
    for import in imports {
        let (messages, nodes) = (table::rows(&import.messages())?, table::rows(&import.nodes())?);
        let messages = counted(messages, "message", "messages");
        writeln!(
            out,
            "imported {}: {messages} between {}",
            import.name,
            counted(nodes, "node", "nodes")
        )?;
    }
    Ok(())
}

/// Some lines for each sniffer whose packets were imported.
fn captured(all: &[Captured], out: &mut impl Write) -> Result<(), Error> {
    for captured in all {
        let Captured { sniffer, frames, hosts, files, .. } = captured;
        let (packets, files) = (counted(*frames, "packet", "packets"), files.len() as u64);
        let hosts = counted(hosts.len() as u64, "host", "hosts");
        let files = counted(files, "file", "files");
        writeln!(out, "captured by {sniffer}: {packets} in {files}, the clock of {hosts}")?;
        for (what, count) in captured.skipped.iter().chain(&captured.odd) {
            writeln!(out, "  {what}: {count}")?;
        }
        for place in captured.damaged.iter().take(MOST_LISTED) {
            writeln!(out, "  {place}")?;
        }
    }
    Ok(())
}

/// The names that were found to be others' as well.
fn translations(found: &Reconciliation, out: &mut impl Write) -> io::Result<()> {
    if !found.translations.is_empty() {
        writeln!(out, "\ntranslated addresses: {}", found.translations.len())?;
    }
    for translation in found.translations.iter().take(MOST_LISTED) {
        writeln!(out, "  {}", words::translation(translation))?;
    }
    if found.translations.len() > MOST_LISTED {
        writeln!(out, "  and {} more", found.translations.len() - MOST_LISTED)?;
    }
    Ok(())
}

/// What the logs mention and no log has.
fn not_seen(spots: &BlindSpots, out: &mut impl Write) -> io::Result<()> {
    let lists = [
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
            "connections whose other end is on a recorded host and was not recorded",
            spots.unseen_ends.iter().map(unseen_end).collect(),
            Vec::new(),
        ),
    ];
    for (what, list, ways_out) in lists.iter().filter(|(_, list, _)| !list.is_empty()) {
        line(&format!("{what}: {}", list.len()), out)?;
        for line in list.iter().take(MOST_LISTED) {
            folded(line, "  ", output::limit(), out)?;
        }
        if list.len() > MOST_LISTED {
            writeln!(out, "  and {} more", list.len() - MOST_LISTED)?;
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

/// What to do about each cause.
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
