//! `sockcap dump`: the records of logs as text, a line each, for people who want to see what was
//! captured.

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
use socket_log::{Clock, Entry, Log, Record};

use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::output::{self, in_one_line};
use crate::words;
use time::time;
use verb::verb;

const HELP: &str = "\
Examples:
  sockcap dump sockcap.data/hosts/web1/*.sclog
  sockcap dump sockcap.data/hosts/*/*.sclog | grep role
  sockcap dump sockcap.data/hosts/web1/*.switches";

/// Print the records of logs, a line each
#[derive(Debug, Parser)]
#[command(name = "dump", after_help = HELP)]
pub(crate) struct Dump {
    /// The logs (*.sclog), or files of switches (*.switches)
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
}

pub(super) const COMMAND: Subcommand = Subcommand::of::<Dump>();

impl Run for Dump {
    fn run(&self) -> Result<ExitCode, Error> {
        let mut out = output::text();
        for path in &self.logs {
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                switches::dump(path, &mut out)?;
                continue;
            }
            let log = Log::open(path)?;
            let (header, clock) = (log.header(), log.clock());
            writeln!(
                out,
                "# {} host {} pid {} parent {}{}{} started {}: {}",
                in_one_line(&path.display().to_string()),
                in_one_line(&header.host),
                header.pid,
                header.parent_pid,
                words::source(header).map_or_else(String::new, |source| format!(" {source}")),
                if header.namespace == 0 {
                    String::new()
                } else {
                    format!(" namespace {}", header.namespace)
                },
                time(header.start.realtime),
                in_one_line(&header.arguments.join(" ")),
            )?;
            // Go's routines are in logs of the injected library, which has no resources.
            let routine = if header.resources { "task" } else { "goroutine" };
            let mut result = Ok(());
            let damage = log.for_each(|entry| {
                if result.is_ok() {
                    result = line(&mut out, &clock, routine, &entry);
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

/// Prints a record. `routine` is what the program calls what it runs on its threads by turns.
fn line(out: &mut impl Write, clock: &Clock, routine: &str, entry: &Entry) -> io::Result<()> {
    let thread = match entry.tid.checked_sub(goroutine::FIRST) {
        Some(number) => format!("g{number}"),
        None => entry.tid.to_string(),
    };
    write!(out, "{} {thread:>7} ", time(clock.realtime(entry.ticks)))?;
    match &entry.record {
        Record::Transfer { direction, flow, bytes, duration } => {
            let duration = clock.nanoseconds(*duration);
            writeln!(out, "{} flow {flow} bytes {bytes} took {duration} ns", verb(*direction))
        }
        Record::Datagram {
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
            let duration = clock.nanoseconds(*duration);
            write!(out, "{} flow {flow} datagram bytes {bytes}", verb(*direction))?;
            if !unchecked {
                write!(out, " crc {checksum:08x}")?;
            }
            if let Some(peer) = peer {
                write!(out, " peer {}", in_one_line(&peer.to_string()))?;
            }
            let flags = [(truncated, "truncated"), (peeked, "peeked"), (joined, "joined")];
            for (flag, name) in flags {
                if *flag {
                    write!(out, " {name}")?;
                }
            }
            writeln!(out, " took {duration} ns")
        }
        Record::Anchor(anchor) => writeln!(out, "anchor ticks {}", anchor.ticks),
        Record::Flow(flow) => writeln!(
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
        Record::Endpoints { flow, role, local, peer, peer_pid, took, under_way } => {
            write!(out, "endpoints flow {flow} role {role:?}")?;
            for (name, endpoint) in [("local", local), ("peer", peer)] {
                if let Some(endpoint) = endpoint {
                    write!(out, " {name} {}", in_one_line(&endpoint.to_string()))?;
                }
            }
            if *peer_pid != 0 {
                write!(out, " peer pid {peer_pid}")?;
            }
            if let Some(took) = took {
                write!(out, " took {} ns", clock.nanoseconds(*took))?;
            }
            if *under_way {
                write!(out, " under way")?;
            }
            writeln!(out)
        }
        Record::Close { flow, fd } => writeln!(out, "close flow {flow} fd {fd}"),
        Record::Shutdown { flow, how } => writeln!(out, "shutdown flow {flow} how {how}"),
        Record::EndOfFile { flow } => writeln!(out, "end-of-file flow {flow}"),
        Record::Failure { flow, direction, errno } => {
            let error = io::Error::from_raw_os_error(i32::from(*errno));
            writeln!(out, "{} flow {flow} failed: {error}", verb(*direction))
        }
        Record::Pair { first, second } => writeln!(out, "pair flow {first} flow {second}"),
        Record::Duplicate { flow, old, new } => {
            writeln!(out, "duplicate flow {flow} fd {old} as {new}")
        }
        Record::Process { event, value } => writeln!(out, "process {event:?} {value}"),
        Record::Wait { call, result, duration } => {
            writeln!(out, "wait {call:?} gave {result} took {} ns", clock.nanoseconds(*duration))
        }
        Record::Cpu { nanoseconds } => writeln!(out, "cpu {nanoseconds} ns"),
        Record::Fingerprint { flow, direction, bytes, checksum } => {
            writeln!(
                out,
                "fingerprint flow {flow} {} first {bytes} bytes crc {checksum:08x}",
                verb(*direction)
            )
        }
        Record::Goroutine { number: 0, .. } => writeln!(out, "no {routine}"),
        Record::Goroutine { number, creator: 0 } => writeln!(out, "{routine} {number}"),
        Record::Goroutine { number, creator } => {
            let creator = creator - goroutine::FIRST;
            writeln!(out, "{routine} {number} started by {creator}")
        }
        Record::Ready { number, started: true } => writeln!(out, "starts {routine} {number}"),
        Record::Ready { number, .. } => writeln!(out, "lets {routine} {number} go on"),
        Record::Counted { flow, direction, before: NO_POSITION, .. } => {
            writeln!(out, "counted flow {flow} {} unknown", verb(*direction))
        }
        Record::Counted { flow, direction, before, .. } => {
            writeln!(out, "counted flow {flow} {} {before} bytes before", verb(*direction))
        }
        Record::Queued { flow, bytes, took } => {
            let took = clock.nanoseconds(u64::from(*took));
            writeln!(out, "queued flow {flow} {bytes} bytes took {took} ns")
        }
        Record::OtherEnd { flow, cookie } => {
            writeln!(out, "other end of flow {flow} cookie {cookie:#x}")
        }
        Record::Position { flow, direction, before: NO_POSITION } => {
            writeln!(out, "position flow {flow} {} unknown", verb(*direction))
        }
        Record::Position { flow, direction, before } => {
            writeln!(out, "position flow {flow} {} byte {before}", verb(*direction))
        }
        Record::Call(call) => {
            write!(out, "call {}", call.api.name())?;
            if call.flow != 0 {
                write!(out, " flow {}", call.flow)?;
            }
            writeln!(out, " result {} took {} ns", call.result, clock.nanoseconds(call.duration))
        }
        Record::Unseen { cause, pid, program } => {
            let why = unseen::NAMES.get(usize::from(*cause)).copied().unwrap_or_default();
            let program = in_one_line(program);
            writeln!(out, "begins {program} as {pid}, of which nothing is recorded: {why}")
        }
        Record::Uncaptured { .. } => {
            let what = UncapturedThing::of(&entry.record).map(|thing| thing.counted(1));
            writeln!(out, "not captured: {}", in_one_line(&what.unwrap_or_default()))
        }
        Record::Thread { creator, handle: 0 } => writeln!(out, "thread started by {creator}"),
        Record::Thread { creator, handle } => {
            writeln!(out, "thread started by {creator}, known as {handle:x}")
        }
        Record::File(file) => {
            let what = format!("{:?}", file.operation).to_lowercase();
            let failed = if file.failed { " failed" } else { "" };
            let moved = if file.moved { " within the kernel" } else { "" };
            let (bytes, took) = (file.bytes, clock.nanoseconds(file.duration));
            writeln!(out, "file {what}{failed} {bytes} bytes{moved} took {took} ns")
        }
        Record::Sleep { duration } => writeln!(out, "slept {} ns", clock.nanoseconds(*duration)),
        Record::Signal(signal) => {
            write!(out, "signal {} {:x}", signal.what.name(), signal.object)?;
            if signal.all {
                write!(out, " to all")?;
            }
            amount(out, signal.amount)?;
            writeln!(out, " took {} ns", clock.nanoseconds(signal.duration))
        }
        Record::Wake(wake) => {
            write!(out, "wake {} {:x}", wake.what.name(), wake.object)?;
            for (is_so, word) in
                [(wake.timed_out, " timed out"), (wake.interrupted, " interrupted")]
            {
                if is_so {
                    write!(out, "{word}")?;
                }
            }
            amount(out, wake.amount)?;
            writeln!(out, " waited {} ns", clock.nanoseconds(wake.duration))
        }
        Record::Head(head) => heads::line(out, head),
    }
}

/// Writes the amount of a hand-off, where there is one.
fn amount(out: &mut impl Write, amount: u32) -> io::Result<()> {
    if amount > 0 { write!(out, " amount {amount}") } else { Ok(()) }
}
