//! What `sockcap record` says at its end: what was recorded, which programs were not, and which
//! still run.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use message_trace::DataDir;
use reconcile::blind_spots::program_name;
use reconcile::uncaptured::{UncapturedKind, UncapturedThing};
use socket_log::layout::{state, unseen};
use socket_log::{Log, Record};

use crate::output::{bytes, counted, in_one_line, tell};
use crate::own_logs::OwnLogs;
use crate::still_running::is_running;
use crate::tuning::MAX_HOLES_NAMED;
use crate::ways_out::{way_out_of_uncaptured, with_advice, with_way_out};
use crate::words::same_directory;

/// A recording that has ended.
pub(super) struct Ended<'a> {
    /// The data directory.
    pub(super) data: &'a DataDir,
    /// The beginning of the recording, in nanoseconds since the Unix epoch.
    pub(super) began: i64,
    /// The logs of the recording.
    pub(super) own: &'a OwnLogs,
    /// The command, or the processes that ran already.
    pub(super) program: String,
    /// Whether the command is known to load no library, which was told before.
    pub(super) is_unseen: bool,
    /// How the command ended.
    pub(super) status: Option<ExitStatus>,
}

/// Figures of the logs.
#[derive(Default)]
struct Totals {
    logs: u64,
    processes: u64,
    records: u64,
    lost: u64,
    size: u64,
    /// Programs without a recording, by cause.
    unseen: BTreeMap<u16, BTreeSet<String>>,
    /// Things that programs did and that are not captured, by kind; of each thing and program, how
    /// many.
    uncaptured: BTreeMap<UncapturedKind, BTreeMap<(UncapturedThing, String), u64>>,
    /// Ids of processes that still run, by program.
    running: BTreeMap<String, Vec<u32>>,
}

/// Says what a recording left in the data directory; of a program that is unseen, the way out was
/// said before.
pub(super) fn summarise(ended: &Ended) {
    let totals = read(ended);
    let next = same_directory(ended.data);
    if totals.logs == 0 {
        tell!("sockcap: nothing was recorded: {}", why_nothing(ended));
        return;
    }
    tell!(
        "sockcap: {}, {}, {} lost, {}; next: sockcap report{next}",
        counted(totals.processes, "process", "processes"),
        counted(totals.records, "record", "records"),
        totals.lost,
        bytes(totals.size),
    );
    for (cause, programs) in &totals.unseen {
        let cause = unseen::NAMES.get(usize::from(*cause)).copied().unwrap_or_default();
        let text = format!("not recorded: {}: {cause}", listed(programs.iter().cloned()));
        tell!("sockcap: {}", with_way_out(text, cause));
    }
    totals.uncaptured.iter().for_each(|(kind, things)| tell_uncaptured(*kind, things));
    if !totals.running.is_empty() {
        let named = totals.running.iter().map(|(program, pids)| {
            let ids = listed(pids.iter().map(u32::to_string));
            format!("{program} ({} {ids})", if pids.len() == 1 { "pid" } else { "pids" })
        });
        let pids: Vec<String> = totals.running.values().flatten().map(u32::to_string).collect();
        let end = match pids.len() {
            0..=MAX_HOLES_NAMED => format!("'kill {}' ends them", pids.join(" ")),
            _ => "end them by their service's own command".to_owned(),
        };
        tell!(
            "sockcap: still running, and recorded until they end: {}; a report shows what they did \
             so far, and {end}",
            listed(named),
        );
    }
}

/// Says what of a kind is not captured, unless nothing of a trace is missing by it.
fn tell_uncaptured(kind: UncapturedKind, things: &BTreeMap<(UncapturedThing, String), u64>) {
    if kind == UncapturedKind::KernelSocket {
        return;
    }
    let each = things.iter().map(|((thing, program), count)| {
        format!("{} in {program}", in_one_line(&thing.counted(*count)))
    });
    let text = format!("not captured: {}", listed(each));
    tell!("sockcap: {}", with_advice(text, way_out_of_uncaptured(kind)));
}

/// Reads the logs of the recording.
fn read(ended: &Ended) -> Totals {
    let mut totals = Totals::default();
    for path in ended.data.logs().unwrap_or_default() {
        let Ok(log) = Log::open(&path) else { continue };
        let header = log.header();
        if header.start.realtime < ended.began || !ended.own.contains(&log) {
            continue;
        }
        totals.logs += 1;
        // A process that became another program goes on in that one's log.
        totals.processes += u64::from(header.state != state::REPLACED);
        totals.lost = header.total_lost().saturating_add(totals.lost);
        totals.size += log.on_disk();
        let mut uncaptured: BTreeMap<UncapturedThing, u64> = BTreeMap::new();
        log.for_each(|entry| {
            totals.records += 1;
            if let Some(thing) = UncapturedThing::of(&entry.record) {
                *uncaptured.entry(thing).or_default() += 1;
            }
            if let Record::Unseen { cause, program, .. } = entry.record {
                let name = Path::new(&program).file_name().map(|name| name.to_string_lossy());
                let name = in_one_line(&name.unwrap_or_default());
                totals.unseen.entry(cause).or_default().insert(name);
            }
        });
        let program = in_one_line(&program_name(header));
        for (thing, count) in uncaptured {
            let of_kind = totals.uncaptured.entry(thing.kind).or_default();
            *of_kind.entry((thing, program.clone())).or_default() += count;
        }
        if is_running(&log) {
            totals.running.entry(program).or_default().push(header.pid);
        }
    }
    totals
}

/// Words for why there is no log.
fn why_nothing(ended: &Ended) -> String {
    let program = &ended.program;
    if ended.is_unseen {
        return format!("{program} did not load libsockcap.so");
    }
    // System calls past libc are told of as a process ends by itself.
    let by = match ended.status.and_then(|status| status.signal()) {
        Some(_) => " by way of libc",
        None => "",
    };
    let place = ended.data.path().display();
    let nothing = format!("used no socket{by}, or could not write to {place}");
    match ended.status.filter(|status| !status.success()) {
        // What it said of that is the better reason.
        Some(status) => {
            format!("{program} ended with {}; it and what it started {nothing}", said(status))
        }
        None => format!("{program} and what it started {nothing}"),
    }
}

/// Words for how a command has ended.
fn said(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The first of several things, and how many more there are.
fn listed(all: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = all.collect();
    let more = all.len().saturating_sub(MAX_HOLES_NAMED);
    all.truncate(MAX_HOLES_NAMED);
    let named = all.join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}
