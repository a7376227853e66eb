//! The recorded processes, from the logs: a row for each program of a host, or for each process.

use std::collections::BTreeMap;
use std::io::Write;

use analyze::naming::Aliases;
use jiff::Timestamp;
use message_trace::DataDir;
use reconcile::blind_spots::{command_line, program_name};
use serde::Serialize;
use socket_log::layout::{lost, state};
use socket_log::{Log, Record};

use crate::error::Error;
use crate::output::{self, bytes, counted};
use crate::own_logs::OwnLogs;
use crate::still_running::is_running;
use crate::table::{Side, Table};
use crate::tuning::MAX_UNSEEN_LISTED;
use crate::words;

/// The logs of a data directory.
#[derive(Debug, Default, Serialize)]
pub(super) struct Processes {
    /// One for each log that can be read.
    pub(super) processes: Vec<Process>,
    /// Why others cannot.
    pub(super) unreadable: Vec<String>,
    /// Number of logs of other users, which are not looked at.
    #[serde(skip)]
    pub(super) foreign: u64,
}

/// A process, as its log has it.
#[derive(Debug, Serialize)]
pub(super) struct Process {
    host: String,
    pid: u32,
    parent_pid: u32,
    /// The name in the report.
    program: String,
    command: String,
    /// The time of its start, in nanoseconds since the Unix epoch.
    started: i64,
    /// `running` (or killed), `exited`, or `replaced` by another program.
    state: &'static str,
    /// The source of its log, if that is not the library.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    records: u64,
    /// The size of its log on the disk, in bytes.
    bytes: u64,
    has_sockets: bool,
    /// Whether it still runs here, and writes to its log.
    still_running: bool,
    /// Records that were not written, by cause.
    lost: BTreeMap<&'static str, u64>,
    damage: Vec<String>,
}

impl Processes {
    /// Reads the logs of `data` that are `own`.
    pub(super) fn read(
        data: &DataDir,
        aliases: &Aliases,
        own: &OwnLogs,
    ) -> Result<Processes, Error> {
        let mut all = Processes::default();
        for path in data.logs()? {
            match Log::open(&path) {
                Ok(log) if !own.contains(&log) => all.foreign += 1,
                Ok(log) => all.processes.push(Process::of(&log, aliases)),
                Err(error) => all.unreadable.push(error.to_string()),
            }
        }
        Ok(all)
    }

    /// A row for each program of a host.
    pub(super) fn write_programs(&self, out: &mut impl Write) -> Result<(), Error> {
        let mut programs: BTreeMap<(&str, &str, Option<&str>), Vec<&Process>> = BTreeMap::new();
        for process in &self.processes {
            let key = (process.host.as_str(), process.program.as_str(), process.source.as_deref());
            programs.entry(key).or_default().push(process);
        }
        let mut table = Table::new(&[
            ("HOST", Side::Left),
            ("PROCESSES", Side::Right),
            ("RECORDS", Side::Right),
            ("SIZE", Side::Right),
            ("LOST", Side::Right),
            ("PROGRAM", Side::Left),
        ]);
        for ((host, program, source), processes) in programs {
            let sum =
                |of: fn(&Process) -> u64| processes.iter().map(|process| of(process)).sum::<u64>();
            // A process that became another program goes on in that one's log.
            let running = sum(|process| u64::from(!process.is_replaced()));
            let mut remarks: Vec<String> = source.map(str::to_owned).into_iter().collect();
            for (count, what) in [
                (sum(|process| u64::from(!process.has_sockets)), "without sockets"),
                (sum(|process| u64::from(process.is_replaced())), "replaced by another program"),
            ] {
                match count {
                    0 => {}
                    count if count == processes.len() as u64 => remarks.push(what.to_owned()),
                    count => remarks.push(format!("{count} {what}")),
                }
            }
            let cells = vec![
                host.to_owned(),
                running.to_string(),
                sum(|process| process.records).to_string(),
                bytes(sum(|process| process.bytes)),
                sum(Process::total_lost).to_string(),
                format!("{program}{}", in_brackets(&remarks)),
            ];
            table.row(cells, below(&processes));
        }
        table.write(output::limit(), out)?;
        self.write_unreadable(out)
    }

    /// A row for each process.
    pub(super) fn write_processes(&self, out: &mut impl Write) -> Result<(), Error> {
        let mut table = Table::new(&[
            ("HOST", Side::Left),
            ("PID", Side::Right),
            ("STARTED", Side::Left),
            ("RECORDS", Side::Right),
            ("SIZE", Side::Right),
            ("LOST", Side::Right),
            ("COMMAND", Side::Left),
        ]);
        for process in &self.processes {
            let mut remarks: Vec<String> = process.source.clone().into_iter().collect();
            if !process.has_sockets {
                remarks.push("used no sockets".into());
            }
            if process.is_replaced() {
                remarks.push("replaced by another program".into());
            }
            let cells = vec![
                process.host.clone(),
                process.pid.to_string(),
                Timestamp::from_nanosecond(i128::from(process.started))
                    .map_or_else(|_| String::new(), |time| format!("{time:.0}")),
                process.records.to_string(),
                bytes(process.bytes),
                process.total_lost().to_string(),
                format!("{}{}", process.command, in_brackets(&remarks)),
            ];
            table.row(cells, below(&[process]));
        }
        table.write(output::limit(), out)?;
        self.write_unreadable(out)
    }

    /// Lines on the processes that still run and write.
    pub(super) fn still_running(&self) -> Vec<String> {
        let running = self.processes.iter().filter(|process| process.still_running);
        running
            .map(|process| format!("pid {} on {}: {}", process.pid, process.host, process.command))
            .collect()
    }

    fn write_unreadable(&self, out: &mut impl Write) -> Result<(), Error> {
        for error in self.unreadable.iter().take(MAX_UNSEEN_LISTED) {
            writeln!(out, "# {error}")?;
        }
        if self.unreadable.len() > MAX_UNSEEN_LISTED {
            writeln!(out, "# and {} more", self.unreadable.len() - MAX_UNSEEN_LISTED)?;
        }
        Ok(())
    }
}

impl Process {
    fn of(log: &Log, aliases: &Aliases) -> Process {
        let header = log.header();
        let (mut records, mut has_sockets) = (0, false);
        let damage = log.for_each(|entry| {
            records += 1;
            has_sockets |= matches!(entry.record, Record::Flow(_) | Record::Uncaptured { .. });
        });
        let lost = lost::NAMES.iter().zip(header.lost).filter(|(_, count)| *count > 0);
        Process {
            host: aliases.host(&header.host).unwrap_or(&header.host).to_owned(),
            pid: header.pid,
            parent_pid: header.parent_pid,
            program: program_name(header),
            command: command_line(header),
            started: header.start.realtime,
            state: match header.state {
                state::REPLACED => "replaced",
                state::EXITED => "exited",
                state::LEFT => "left",
                _ => "running",
            },
            source: words::source(header),
            records,
            bytes: log.on_disk(),
            has_sockets,
            still_running: is_running(log),
            lost: lost
                .map(|(cause, count)| (if cause.is_empty() { "other" } else { *cause }, count))
                .collect(),
            damage: damage
                .iter()
                .map(|damage| format!("{}: {damage}", log.path().display()))
                .collect(),
        }
    }

    fn is_replaced(&self) -> bool {
        self.state == "replaced"
    }

    fn total_lost(&self) -> u64 {
        self.lost.values().fold(0, |all, count| all.saturating_add(*count))
    }
}

/// Lines about lost records and damaged logs of processes.
fn below(processes: &[&Process]) -> Vec<String> {
    let mut lost: BTreeMap<&str, u64> = BTreeMap::new();
    for (cause, count) in processes.iter().flat_map(|process| &process.lost) {
        let sum = lost.entry(cause).or_default();
        *sum = sum.saturating_add(*count);
    }
    let line = |(cause, count)| format!("lost {}: {cause}", counted(count, "record", "records"));
    let mut lines: Vec<String> = lost.into_iter().map(line).collect();
    let damage = || processes.iter().flat_map(|process| &process.damage);
    lines.extend(damage().take(MAX_UNSEEN_LISTED).map(|damage| format!("damaged: {damage}")));
    let all = damage().count();
    if all > MAX_UNSEEN_LISTED {
        lines.push(format!(
            "and damaged in {}",
            counted((all - MAX_UNSEEN_LISTED) as u64, "more place", "more places")
        ));
    }
    lines
}

/// Remarks on a process, beside its figures.
fn in_brackets(remarks: &[String]) -> String {
    if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join(", ")) }
}
