//! `sockcap info`: what a data directory holds, process by process, and what could not be seen.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use analyze::AnalysisSummary;
use jiff::Timestamp;
use message_trace::DataDir;
use socket_log::layout::{lost, state};
use socket_log::{Header, Log};

use crate::cli::Info;
use crate::error::Error;
use crate::output::{bytes, counted};
use crate::words;

pub(crate) fn run(arguments: &Info) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    let mut out = BufWriter::new(io::stdout().lock());
    let logs = data.logs()?;
    if logs.is_empty() && !data.messages().exists() {
        return Err(Error::NoLogs(data.path().to_owned()));
    }
    processes(&data, &mut out)?;
    match reconcile::Reconciliation::read(&data) {
        Ok(reconciliation) => {
            writeln!(out, "\nmessages: {}", words::reconciliation(&reconciliation))?;
            for note in words::notes(&reconciliation) {
                writeln!(out, "  {}: {}", note.label, note.count)?;
            }
        }
        Err(_) => writeln!(out, "\nmessages: not yet; 'sockcap reconcile' makes them")?,
    }
    match AnalysisSummary::read(&data.analysis()) {
        Ok(summary) => writeln!(out, "\nanalysis: {}", words::analysis(&summary))?,
        Err(_) => writeln!(out, "\nanalysis: not yet; 'sockcap analyze' makes it")?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A line for each process's log.
fn processes(data: &DataDir, out: &mut impl Write) -> Result<(), Error> {
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
        let damage = log.for_each(|_| records += 1);
        let started = Timestamp::from_nanosecond(i128::from(header.start.realtime))
            .map_or_else(|_| String::new(), |time| format!("{time:.0}"));
        writeln!(
            out,
            "{:<16} {:>8} {:<20} {:>9} {:>9} {:>6}  {}{}",
            header.host,
            header.pid,
            started,
            records,
            bytes(log.length()),
            header.total_lost(),
            header.arguments.join(" "),
            remarks(header, records),
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

/// What is worth knowing of a process beside its figures.
fn remarks(header: &Header, records: u64) -> String {
    let mut remarks = Vec::new();
    if records == 0 {
        remarks.push("used no sockets");
    }
    if header.state == state::REPLACED {
        remarks.push("replaced by another program");
    }
    if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join(", ")) }
}
