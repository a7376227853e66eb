//! `sockcap dump`: the records of logs as text, one line each, to inspect a capture.

mod heads;
mod switches;
mod time;
mod verb;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use reconcile::uncaptured::UncapturedThing;
use socket_log::layout::{NO_POSITION, goroutine, unseen};
use socket_log::switches::EXTENSION;
use socket_log::{LogClock, LogEntry, LogRecord, SocketLog};

use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::{self, escape_line_breaks};
use crate::words;
use time::format_utc;
use verb::direction_verb;

const HELP: &str = "\
Examples:
  sockcap dump sockcap.data/hosts/web1/*.sclog
  sockcap dump sockcap.data/hosts/*/*.sclog | grep role
  sockcap dump sockcap.data/hosts/web1/*.switches";

/// Print the records of logs, one per line
#[derive(Debug, Parser)]
#[command(name = "dump", after_help = HELP)]
pub(crate) struct DumpCommand {
    /// The logs (*.sclog), or files of switches (*.switches)
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<DumpCommand>();

impl RunnableCommand for DumpCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let mut out = output::text_output();
        for path in &self.logs {
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                switches::dump_switches(path, &mut out)?;
                continue;
            }
            let log = SocketLog::open(path)?;
            let (header, clock) = (log.header(), log.clock());
            writeln!(
                out,
                "# {} host {} pid {} parent {}{}{} started {}: {}",
                escape_line_breaks(&path.display().to_string()),
                escape_line_breaks(&header.host),
                header.pid,
                header.parent_pid,
                words::source_words(header).map_or_else(String::new, |source| format!(" {source}")),
                if header.namespace == 0 {
                    String::new()
                } else {
                    format!(" namespace {}", header.namespace)
                },
                format_utc(header.start.realtime),
                escape_line_breaks(&header.arguments.join(" ")),
            )?;
            let mut result = Ok(());
            let damage = log.for_each(|entry| {
                if result.is_ok() {
                    result = write_entry(&mut out, &clock, &entry);
                }
            });
            result?;
            for damage in damage {
                writeln!(out, "# damaged at {damage}")?;
            }
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints a record.
fn write_entry(out: &mut impl Write, clock: &LogClock, entry: &LogEntry) -> io::Result<()> {
    let thread = match entry.tid.checked_sub(goroutine::FIRST) {
        Some(number) => format!("c{number}"),
        None => entry.tid.to_string(),
    };
    write!(out, "{} {thread:>7} ", format_utc(clock.realtime(entry.ticks)))?;
    match &entry.record {
        LogRecord::Transfer { direction, flow, bytes, duration } => {
            let duration = clock.duration_nanoseconds(*duration);
            writeln!(
                out,
                "{} flow {flow} bytes {bytes} took {duration} ns",
                direction_verb(*direction)
            )
        }
        LogRecord::Datagram {
            direction,
            flow,
            bytes,
            checksum,
            truncated,
            peeked,
            unchecked,
            joined,
            duration,
            peer,
        } => {
            let duration = clock.duration_nanoseconds(*duration);
            write!(out, "{} flow {flow} datagram bytes {bytes}", direction_verb(*direction))?;
            if !unchecked {
                write!(out, " crc {checksum:08x}")?;
            }
            if let Some(peer) = peer {
                write!(out, " peer {}", escape_line_breaks(&peer.to_string()))?;
            }
            let flags = [(truncated, "truncated"), (peeked, "peeked"), (joined, "joined")];
            for (flag, name) in flags {
                if *flag {
                    write!(out, " {name}")?;
                }
            }
            writeln!(out, " took {duration} ns")
        }
        LogRecord::Anchor(anchor) => writeln!(out, "anchor ticks {}", anchor.ticks),
        LogRecord::Flow(flow) => writeln!(
            out,
            "flow {} fd {} domain {} type {} protocol {} by {:?} cookie {:#x} listener {} namespace {}",
            flow.flow,
            flow.fd,
            flow.domain,
            flow.kind,
            flow.protocol,
            flow.origin,
            flow.cookie,
            flow.listener,
            flow.namespace
        ),
        LogRecord::Endpoints { flow, role, local, peer, peer_pid, took, under_way } => {
            write!(out, "endpoints flow {flow} role {role:?}")?;
            for (name, endpoint) in [("local", local), ("peer", peer)] {
                if let Some(endpoint) = endpoint {
                    write!(out, " {name} {}", escape_line_breaks(&endpoint.to_string()))?;
                }
            }
            if *peer_pid != 0 {
                write!(out, " peer pid {peer_pid}")?;
            }
            if let Some(took) = took {
                write!(out, " took {} ns", clock.duration_nanoseconds(*took))?;
            }
            if *under_way {
                write!(out, " under way")?;
            }
            writeln!(out)
        }
        LogRecord::Close { flow, fd } => writeln!(out, "close flow {flow} fd {fd}"),
        LogRecord::Shutdown { flow, how } => writeln!(out, "shutdown flow {flow} how {how}"),
        LogRecord::EndOfFile { flow } => writeln!(out, "end-of-file flow {flow}"),
        LogRecord::Failure { flow, direction, errno } => {
            let error = io::Error::from_raw_os_error(i32::from(*errno));
            writeln!(out, "{} flow {flow} failed: {error}", direction_verb(*direction))
        }
        LogRecord::Pair { first, second } => writeln!(out, "pair flow {first} flow {second}"),
        LogRecord::Duplicate { flow, old, new } => {
            writeln!(out, "duplicate flow {flow} fd {old} as {new}")
        }
        LogRecord::Process { event, value } => writeln!(out, "process {event:?} {value}"),
        LogRecord::Wait { call, result, duration } => {
            writeln!(
                out,
                "wait {call:?} gave {result} took {} ns",
                clock.duration_nanoseconds(*duration)
            )
        }
        LogRecord::Cpu { nanoseconds } => writeln!(out, "cpu {nanoseconds} ns"),
        LogRecord::Fingerprint { flow, direction, bytes, checksum } => {
            writeln!(
                out,
                "fingerprint flow {flow} {} first {bytes} bytes crc {checksum:08x}",
                direction_verb(*direction)
            )
        }
        LogRecord::Goroutine { number: 0, .. } => writeln!(out, "no context"),
        LogRecord::Goroutine { number, creator: 0 } => writeln!(out, "context {number}"),
        LogRecord::Goroutine { number, creator } => {
            let creator = creator - goroutine::FIRST;
            writeln!(out, "context {number} started by {creator}")
        }
        LogRecord::StartedBy { number, starter } if goroutine::is_goroutine(*starter) => {
            writeln!(out, "context {number} was started by {}", starter - goroutine::FIRST)
        }
        LogRecord::StartedBy { number, starter } => {
            writeln!(out, "context {number} was started by thread {starter}")
        }
        LogRecord::Ready { number, started: true } => writeln!(out, "starts context {number}"),
        LogRecord::Ready { number, .. } => writeln!(out, "wakes context {number}"),
        LogRecord::Counted { flow, direction, before: NO_POSITION, .. } => {
            writeln!(out, "counted flow {flow} {} unknown", direction_verb(*direction))
        }
        LogRecord::Counted { flow, direction, before, .. } => {
            writeln!(
                out,
                "counted flow {flow} {} {before} bytes before",
                direction_verb(*direction)
            )
        }
        LogRecord::Queued { flow, bytes, took } => {
            let took = clock.duration_nanoseconds(u64::from(*took));
            writeln!(out, "queued flow {flow} {bytes} bytes took {took} ns")
        }
        LogRecord::OtherEnd { flow, cookie } => {
            writeln!(out, "other end of flow {flow} cookie {cookie:#x}")
        }
        LogRecord::Position { flow, direction, before: NO_POSITION } => {
            writeln!(out, "position flow {flow} {} unknown", direction_verb(*direction))
        }
        LogRecord::Position { flow, direction, before } => {
            writeln!(out, "position flow {flow} {} byte {before}", direction_verb(*direction))
        }
        LogRecord::Call(call) => {
            write!(out, "call {}", call.api.libc_name())?;
            if call.flow != 0 {
                write!(out, " flow {}", call.flow)?;
            }
            writeln!(
                out,
                " result {} took {} ns",
                call.result,
                clock.duration_nanoseconds(call.duration)
            )
        }
        LogRecord::Unseen { cause, pid, program } => {
            let why = unseen::NAMES.get(usize::from(*cause)).copied().unwrap_or_default();
            let program = escape_line_breaks(program);
            writeln!(out, "starts {program} as {pid}, which is not recorded: {why}")
        }
        LogRecord::Uncaptured { .. } => {
            let what =
                UncapturedThing::from_record(&entry.record).map(|thing| thing.describe_count(1));
            writeln!(out, "not captured: {}", escape_line_breaks(&what.unwrap_or_default()))
        }
        LogRecord::Thread { creator, handle: 0 } => writeln!(out, "thread started by {creator}"),
        LogRecord::Thread { creator, handle } => {
            writeln!(out, "thread started by {creator}, known as {handle:x}")
        }
        LogRecord::File(file) => {
            let what = format!("{:?}", file.operation).to_lowercase();
            let failed = if file.failed { " failed" } else { "" };
            let moved = if file.moved { " within the kernel" } else { "" };
            let (bytes, took) = (file.bytes, clock.duration_nanoseconds(file.duration));
            writeln!(out, "file {what}{failed} {bytes} bytes{moved} took {took} ns")
        }
        LogRecord::Sleep { duration } => {
            writeln!(out, "slept {} ns", clock.duration_nanoseconds(*duration))
        }
        LogRecord::Signal(signal) => {
            write!(out, "signal {} {:x}", signal.what.display_name(), signal.object)?;
            if signal.all {
                write!(out, " to all")?;
            }
            write_amount(out, signal.amount)?;
            writeln!(out, " took {} ns", clock.duration_nanoseconds(signal.duration))
        }
        LogRecord::Wake(wake) => {
            write!(out, "wake {} {:x}", wake.what.display_name(), wake.object)?;
            for (is_so, word) in
                [(wake.timed_out, " timed out"), (wake.interrupted, " interrupted")]
            {
                if is_so {
                    write!(out, "{word}")?;
                }
            }
            write_amount(out, wake.amount)?;
            writeln!(out, " waited {} ns", clock.duration_nanoseconds(wake.duration))
        }
        LogRecord::Head(head) => heads::write_snippet(out, head),
        LogRecord::RareWords { direction, flow, words } => {
            let (verb, count) = (direction_verb(*direction), words.as_slice().len());
            writeln!(out, "{verb} flow {flow} rare words {count}")
        }
    }
}

/// Writes the amount of a hand-off, if there is one.
fn write_amount(out: &mut impl Write, amount: u32) -> io::Result<()> {
    if amount > 0 { write!(out, " amount {amount}") } else { Ok(()) }
}
