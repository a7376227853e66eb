//! The recorded processes, from the logs: a row for each program of a host, or for each process.

use std::collections::BTreeMap;
use std::io::Write;

use analyze::naming::Aliases;
use jiff::Timestamp;
use message_trace::DataDir;
use reconcile::capture_gaps::{command_line, program_name};
use serde::Serialize;
use socket_log::layout::{lost, state};
use socket_log::{LogRecord, SocketLog};

use crate::error::CommandError;
use crate::output::{self, count_noun, format_bytes};
use crate::own_logs::OwnLogs;
use crate::still_running::is_running;
use crate::table::{ColumnAlignment, ScreenTable};
use crate::tuning::MAX_UNSEEN_LISTED;
use crate::words;

/// The logs of a data directory.
#[derive(Debug, Default, Serialize)]
pub(super) struct RecordedProcesses {
    /// The recorded processes, one for each readable log.
    pub(super) processes: Vec<RecordedProcess>,
    /// The reasons why other logs cannot be read.
    pub(super) unreadable: Vec<String>,
    /// Number of logs of other users, which are not read.
    #[serde(skip)]
    pub(super) foreign: u64,
}

/// A process as described by its log.
#[derive(Debug, Serialize)]
pub(super) struct RecordedProcess {
    host: String,
    pid: u32,
    parent_pid: u32,
    /// The name in the report.
    program: String,
    command: String,
    /// The time of the process's start, in nanoseconds since the Unix epoch.
    started: i64,
    /// `running` (or killed), `exited`, or `replaced` by another program.
    state: &'static str,
    /// The source of the process's log, if that is not the library.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    records: u64,
    /// The size of the process's log on the disk, in bytes.
    bytes: u64,
    has_sockets: bool,
    /// Whether the process still runs here, and writes to its log.
    still_running: bool,
    /// Records that were not written, by cause.
    lost: BTreeMap<&'static str, u64>,
    damage: Vec<String>,
}

impl RecordedProcesses {
    /// Reads the logs of `data` that are `own`.
    pub(super) fn read_logs(
        data: &DataDir,
        aliases: &Aliases,
        own: &OwnLogs,
    ) -> Result<RecordedProcesses, CommandError> {
        let mut all = RecordedProcesses::default();
        for path in data.log_paths()? {
            match SocketLog::open(&path) {
                Ok(log) if !own.contains_log(&log) => all.foreign += 1,
                Ok(log) => all.processes.push(RecordedProcess::from_log(&log, aliases)),
                Err(error) => all.unreadable.push(error.to_string()),
            }
        }
        Ok(all)
    }

    /// A row for each program of a host.
    pub(super) fn write_programs(&self, out: &mut impl Write) -> Result<(), CommandError> {
        let mut programs: BTreeMap<(&str, &str, Option<&str>), Vec<&RecordedProcess>> =
            BTreeMap::new();
        for process in &self.processes {
            let key = (process.host.as_str(), process.program.as_str(), process.source.as_deref());
            programs.entry(key).or_default().push(process);
        }
        let mut table = ScreenTable::new(&[
            ("HOST", ColumnAlignment::Left),
            ("PROCESSES", ColumnAlignment::Right),
            ("RECORDS", ColumnAlignment::Right),
            ("SIZE", ColumnAlignment::Right),
            ("LOST", ColumnAlignment::Right),
            ("PROGRAM", ColumnAlignment::Left),
        ]);
        for ((host, program, source), processes) in programs {
            let sum = |of: fn(&RecordedProcess) -> u64| {
                processes.iter().map(|process| of(process)).sum::<u64>()
            };
            // A process that executed another program continues in the log of that program.
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
                format_bytes(sum(|process| process.bytes)),
                sum(RecordedProcess::total_lost).to_string(),
                format!("{program}{}", in_brackets(&remarks)),
            ];
            table.add_row(cells, remark_lines(&processes));
        }
        table.write_table(output::width_limit(), out)?;
        self.write_unreadable(out)
    }

    /// A row for each process.
    pub(super) fn write_processes(&self, out: &mut impl Write) -> Result<(), CommandError> {
        let mut table = ScreenTable::new(&[
            ("HOST", ColumnAlignment::Left),
            ("PID", ColumnAlignment::Right),
            ("STARTED", ColumnAlignment::Left),
            ("RECORDS", ColumnAlignment::Right),
            ("SIZE", ColumnAlignment::Right),
            ("LOST", ColumnAlignment::Right),
            ("COMMAND", ColumnAlignment::Left),
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
                format_bytes(process.bytes),
                process.total_lost().to_string(),
                format!("{}{}", process.command, in_brackets(&remarks)),
            ];
            table.add_row(cells, remark_lines(&[process]));
        }
        table.write_table(output::width_limit(), out)?;
        self.write_unreadable(out)
    }

    /// Lines about the processes that still run and write.
    pub(super) fn still_running(&self) -> Vec<String> {
        let running = self.processes.iter().filter(|process| process.still_running);
        running
            .map(|process| format!("pid {} on {}: {}", process.pid, process.host, process.command))
            .collect()
    }

    fn write_unreadable(&self, out: &mut impl Write) -> Result<(), CommandError> {
        for error in self.unreadable.iter().take(MAX_UNSEEN_LISTED) {
            writeln!(out, "# {error}")?;
        }
        if self.unreadable.len() > MAX_UNSEEN_LISTED {
            writeln!(out, "# and {} more", self.unreadable.len() - MAX_UNSEEN_LISTED)?;
        }
        Ok(())
    }
}

impl RecordedProcess {
    fn from_log(log: &SocketLog, aliases: &Aliases) -> RecordedProcess {
        let header = log.header();
        let (mut records, mut has_sockets) = (0, false);
        let damage = log.for_each(|entry| {
            records += 1;
            has_sockets |=
                matches!(entry.record, LogRecord::Flow(_) | LogRecord::Uncaptured { .. });
        });
        let lost = lost::NAMES.iter().zip(header.lost).filter(|(_, count)| *count > 0);
        RecordedProcess {
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
            source: words::source_words(header),
            records,
            bytes: log.disk_usage(),
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
fn remark_lines(processes: &[&RecordedProcess]) -> Vec<String> {
    let mut lost: BTreeMap<&str, u64> = BTreeMap::new();
    for (cause, count) in processes.iter().flat_map(|process| &process.lost) {
        let sum = lost.entry(cause).or_default();
        *sum = sum.saturating_add(*count);
    }
    let line = |(cause, count)| format!("lost {}: {cause}", count_noun(count, "record", "records"));
    let mut lines: Vec<String> = lost.into_iter().map(line).collect();
    let damage = || processes.iter().flat_map(|process| &process.damage);
    lines.extend(damage().take(MAX_UNSEEN_LISTED).map(|damage| format!("damaged: {damage}")));
    let all = damage().count();
    if all > MAX_UNSEEN_LISTED {
        lines.push(format!(
            "and damaged in {}",
            count_noun((all - MAX_UNSEEN_LISTED) as u64, "more place", "more places")
        ));
    }
    lines
}

/// Remarks on a process, next to its figures.
fn in_brackets(remarks: &[String]) -> String {
    if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join(", ")) }
}
