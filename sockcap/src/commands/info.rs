//! `sockcap info`: what a data directory holds, process by process, and what could not be seen.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use analyze::AnalysisSummary;
use analyze::naming::Aliases;
use jiff::Timestamp;
use message_trace::{DataDir, Import, table};
use reconcile::Reconciliation;
use reconcile::blind_spots::{BlindSpots, Unseen, UnseenEnd, command_line};
use reconcile::import::Captured;
use socket_log::layout::{lost, state};
use socket_log::{Header, Log, Record};

use crate::cli::Info;
use crate::error::Error;
use crate::output::{bytes, counted};
use crate::{clocks, stages, tidy, words};

/// How many lines a list of what was not seen has at most.
const MOST_LISTED: usize = 20;

pub(crate) fn run(arguments: &Info) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    let aliases = stages::aliases(&data, arguments.aliases.as_deref())?;
    let mut out = BufWriter::new(io::stdout().lock());
    tidy::tidy(&data);
    let logs = data.logs()?;
    let imports = data.imported()?;
    if logs.is_empty() && imports.is_empty() && !data.messages().exists() {
        return Err(Error::NoLogs(data.path().to_owned()));
    }
    if !logs.is_empty() {
        processes(&data, &aliases, &mut out)?;
    }
    imported(&imports, &mut out)?;
    captured(&Captured::all(&data)?, &mut out)?;
    not_seen(&reconcile::blind_spots::find(&data)?, &mut out)?;
    match Reconciliation::read(&data) {
        Ok(reconciliation) => {
            writeln!(out, "\nmessages: {}", words::reconciliation(&reconciliation))?;
            for note in words::notes(&reconciliation) {
                writeln!(out, "  {}: {}", note.label, note.count)?;
            }
            translations(&reconciliation, &mut out)?;
        }
        Err(_) => writeln!(out, "\nmessages: not yet; 'sockcap reconcile' makes them")?,
    }
    if let Ok(found) = reconcile::Clocks::read(&data.clocks()) {
        clocks::table(&found, &mut out)?;
    }
    match AnalysisSummary::read(&data.analysis()) {
        Ok(summary) => writeln!(out, "\nanalysis: {}", words::analysis(&summary))?,
        Err(_) => writeln!(out, "\nanalysis: not yet; 'sockcap analyze' makes it")?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A line for each process's log.
fn processes(data: &DataDir, aliases: &Aliases, out: &mut impl Write) -> Result<(), Error> {
    writeln!(
        out,
        "{:<16} {:>8} {:<20} {:>9} {:>9} {:>6}  COMMAND",
        "HOST", "PID", "STARTED", "RECORDS", "SIZE", "LOST"
    )?;
    for path in data.logs()? {
        let log = match Log::open(&path) {
            Ok(log) => log,
            Err(error) => {
                writeln!(out, "# {error}")?;
                continue;
            }
        };
        let header = log.header();
        let mut records = 0u64;
        let mut has_flows = false;
        let damage = log.for_each(|entry| {
            records += 1;
            has_flows |= matches!(entry.record, Record::Flow(_));
        });
        let started = Timestamp::from_nanosecond(i128::from(header.start.realtime))
            .map_or_else(|_| String::new(), |time| format!("{time:.0}"));
        writeln!(
            out,
            "{:<16} {:>8} {:<20} {:>9} {:>9} {:>6}  {}{}",
            aliases.host(&header.host).unwrap_or(&header.host),
            header.pid,
            started,
            records,
            bytes(log.length()),
            header.total_lost(),
            command_line(header),
            remarks(header, has_flows),
        )?;
        for (cause, count) in lost::NAMES.iter().zip(header.lost).filter(|(_, count)| *count > 0) {
            writeln!(out, "  lost {}: {cause}", counted(count, "record", "records"))?;
        }
        for damage in damage {
            writeln!(out, "  damaged at {damage}")?;
        }
    }
    Ok(())
}

/// A line for each trace that was imported as messages.
fn imported(imports: &[Import], out: &mut impl Write) -> Result<(), Error> {
    for import in imports {
        let (messages, nodes) = (table::rows(&import.messages())?, table::rows(&import.nodes())?);
        let messages = counted(messages, "message", "messages");
        writeln!(out, "imported {}: {messages} between {}", import.name, counted(nodes, "node", "nodes"))?;
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
                .map(|process| format!("pid {} on {}: {}", process.pid, process.host, process.command))
                .collect::<Vec<_>>(),
        ),
        (
            "programs that recorded processes began, of which nothing is recorded",
            spots.unseen.iter().map(unseen).collect(),
        ),
        (
            "connections whose other end is on a recorded host and was not recorded",
            spots.unseen_ends.iter().map(unseen_end).collect(),
        ),
    ];
    for (what, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
        writeln!(out, "\n{what}: {}", list.len())?;
        for line in list.iter().take(MOST_LISTED) {
            writeln!(out, "  {line}")?;
        }
        if list.len() > MOST_LISTED {
            writeln!(out, "  and {} more", list.len() - MOST_LISTED)?;
        }
    }
    if spots.without_log > 0 {
        writeln!(out, "\nprocesses that used sockets and found no room for a log: {}", spots.without_log)?;
    }
    Ok(())
}

fn unseen(program: &Unseen) -> String {
    let Unseen { program, cause, pid, by } = program;
    let how = if *pid == by.pid { "which was" } else { "started by" };
    let program = program.replace(char::is_control, " ");
    format!("{program} ({cause}): pid {pid} on {}, {how} pid {}: {}", by.host, by.pid, by.command)
}

fn unseen_end(end: &UnseenEnd) -> String {
    let UnseenEnd { name, by, flows } = end;
    format!("{name}: {} of pid {} on {}: {}", counted(*flows, "flow", "flows"), by.pid, by.host, by.command)
}

/// What is worth knowing of a process beside its figures.
fn remarks(header: &Header, has_flows: bool) -> String {
    let mut remarks: Vec<String> = words::source(header).into_iter().collect();
    if !has_flows {
        remarks.push("used no sockets".into());
    }
    if header.state == state::REPLACED {
        remarks.push("replaced by another program".into());
    }
    if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join(", ")) }
}
