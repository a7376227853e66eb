//! Files of switches as text, one line for each record.

use std::io::{self, Write};
use std::path::Path;

use socket_log::switches::{SwitchEntry, SwitchEvent, SwitchLog, ThreadSwitch};

use super::time::format_utc;
use crate::error::CommandError;

/// Writes the file at `path`.
pub(super) fn dump_switches(path: &Path, out: &mut impl Write) -> Result<(), CommandError> {
    let log = SwitchLog::open(path)?;
    let header = log.header();
    let ahead = header.start.realtime.saturating_sub(header.start.monotonic);
    writeln!(
        out,
        "# {} host {} switches recorded by pid {} from {}{}",
        path.display(),
        header.host,
        header.pid,
        format_utc(header.start.realtime),
        if header.has_ended() { "" } else { ", not ended" },
    )?;
    let mut result = Ok(());
    log.for_each(|found| {
        if result.is_ok() {
            result = match found {
                SwitchEntry::Switch(switch) => write_switch(out, ahead, &switch),
                SwitchEntry::Damaged(damage) => writeln!(out, "# damaged at {damage}"),
            };
        }
    });
    Ok(result?)
}

/// Writes a record. `ahead` is the time since the epoch minus the monotonic clock, in nanoseconds.
fn write_switch(out: &mut impl Write, ahead: i64, switch: &ThreadSwitch) -> io::Result<()> {
    let ThreadSwitch { time: at, processor, thread, process, event } = switch;
    write!(out, "{} ", format_utc(at.saturating_add(ahead)))?;
    match event {
        SwitchEvent::Mark => return writeln!(out, "{:>7} complete until here", ""),
        SwitchEvent::Lost { records } if *processor == ThreadSwitch::ANY_PROCESSOR => {
            return writeln!(out, "{:>7} lost {records}", "");
        }
        SwitchEvent::Lost { records } => {
            return writeln!(out, "{:>7} lost {records} of processor {processor}", "");
        }
        _ => write!(out, "{thread:>7} ")?,
    }
    match event {
        SwitchEvent::In => write!(out, "in")?,
        SwitchEvent::Out { preempted: false } => write!(out, "out")?,
        SwitchEvent::Out { preempted: true } => write!(out, "out preempted")?,
        SwitchEvent::Start { creator } => write!(out, "start by {creator}")?,
        SwitchEvent::Exit => write!(out, "exit")?,
        SwitchEvent::Exec => write!(out, "exec")?,
        SwitchEvent::Name(name) => {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            let text = String::from_utf8_lossy(name.get(..end).unwrap_or_default());
            write!(out, "name {}", text.replace(char::is_control, " "))?;
        }
        SwitchEvent::Lost { .. } | SwitchEvent::Mark => {}
    }
    write!(out, " processor {processor}")?;
    if *process != 0 {
        write!(out, " process {process}")?;
    }
    writeln!(out)
}
