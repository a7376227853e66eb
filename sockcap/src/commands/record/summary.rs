//! The messages of `sockcap record` at its end: what was recorded, which programs were not, and
//! which still run.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use message_trace::DataDir;
use reconcile::capture_gaps::program_name;
use reconcile::uncaptured::{UncapturedKind, UncapturedThing};
use socket_log::layout::{state, unseen};
use socket_log::{LogRecord, SocketLog};

use crate::output::{count_noun, escape_line_breaks, format_bytes, tell};
use crate::own_logs::OwnLogs;
use crate::remedies::{remedy_for_uncaptured, with_advice, with_remedy};
use crate::still_running::is_running;
use crate::tuning::MAX_GAPS_NAMED;
use crate::words::same_directory;

/// Programs that warnings have named as not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedPrograms {
    /// None.
    Nothing,
    /// The command, which loads no library.
    Command,
    /// Programs that the library could not be put into.
    NotInjected,
}

/// A recording that has ended.
pub(super) struct EndedRecording<'a> {
    /// The data directory.
    pub(super) data: &'a DataDir,
    /// The beginning of the recording, in nanoseconds since the Unix epoch.
    pub(super) began: i64,
    /// The logs of the recording.
    pub(super) own: &'a OwnLogs,
    /// The command, or the processes that were running before.
    pub(super) program: String,
    /// The programs that warnings have named before.
    pub(super) named: NamedPrograms,
    /// The exit status of the command.
    pub(super) status: Option<ExitStatus>,
}

/// Figures of the logs.
#[derive(Default)]
struct RecordingTotals {
    logs: u64,
    processes: u64,
    records: u64,
    lost: u64,
    size: u64,
    /// Programs without a recording, by cause.
    unseen: BTreeMap<u16, BTreeSet<String>>,
    /// Activities of programs that are not captured, by kind; and the number for each activity and
    /// program.
    uncaptured: BTreeMap<UncapturedKind, BTreeMap<(UncapturedThing, String), u64>>,
    /// Ids of processes that still run, by program.
    running: BTreeMap<String, Vec<u32>>,
}

/// Prints what a recording left in the data directory; the remedy for a program that is not
/// recorded was printed before.
pub(super) fn print_summary(ended: &EndedRecording) {
    let totals = read_totals(ended);
    let next = same_directory(ended.data);
    if totals.logs == 0 {
        tell!("sockcap: nothing was recorded: {}", why_nothing(ended));
        return;
    }
    tell!(
        "sockcap: {}, {}, {} lost, {}; next: sockcap report{next}",
        count_noun(totals.processes, "process", "processes"),
        count_noun(totals.records, "record", "records"),
        totals.lost,
        format_bytes(totals.size),
    );
    for (cause, programs) in &totals.unseen {
        let cause = unseen::NAMES.get(usize::from(*cause)).copied().unwrap_or_default();
        let text = format!("not recorded: {}: {cause}", list_first(programs.iter().cloned()));
        tell!("sockcap: {}", with_remedy(text, cause));
    }
    totals.uncaptured.iter().for_each(|(kind, things)| print_uncaptured(*kind, things));
    if !totals.running.is_empty() {
        let named = totals.running.iter().map(|(program, pids)| {
            let ids = list_first(pids.iter().map(u32::to_string));
            format!("{program} ({} {ids})", if pids.len() == 1 { "pid" } else { "pids" })
        });
        let pids: Vec<String> = totals.running.values().flatten().map(u32::to_string).collect();
        let end = match pids.len() {
            0..=MAX_GAPS_NAMED => format!("'kill {}' ends them", pids.join(" ")),
            _ => "end them by their service's own command".to_owned(),
        };
        tell!(
            "sockcap: still running, and recorded until they end: {}; a report shows what they did \
             so far, and {end}",
            list_first(named),
        );
    }
}

/// Prints the activities of a kind that are not captured, unless the trace lacks nothing because of
/// them, or the user has just asked to leave them out.
fn print_uncaptured(kind: UncapturedKind, things: &BTreeMap<(UncapturedThing, String), u64>) {
    if matches!(kind, UncapturedKind::KernelSocket | UncapturedKind::LeftOutTasks) {
        return;
    }
    let each = things.iter().map(|((thing, program), count)| {
        format!("{} in {program}", escape_line_breaks(&thing.describe_count(*count)))
    });
    let text = format!("not captured: {}", list_first(each));
    tell!("sockcap: {}", with_advice(text, remedy_for_uncaptured(kind)));
}

/// Reads the logs of the recording.
fn read_totals(ended: &EndedRecording) -> RecordingTotals {
    let mut totals = RecordingTotals::default();
    for path in ended.data.log_paths().unwrap_or_default() {
        let Ok(log) = SocketLog::open(&path) else { continue };
        let header = log.header();
        if header.start.realtime < ended.began || !ended.own.contains_log(&log) {
            continue;
        }
        totals.logs += 1;
        // A process that executed another program continues in the log of that program.
        totals.processes += u64::from(header.state != state::REPLACED);
        totals.lost = header.lost_records().saturating_add(totals.lost);
        totals.size += log.disk_usage();
        let mut uncaptured: BTreeMap<UncapturedThing, u64> = BTreeMap::new();
        log.for_each(|entry| {
            totals.records += 1;
            if let Some(thing) = UncapturedThing::from_record(&entry.record) {
                *uncaptured.entry(thing).or_default() += 1;
            }
            if let LogRecord::Unseen { cause, program, .. } = entry.record {
                let name = Path::new(&program).file_name().map(|name| name.to_string_lossy());
                let name = escape_line_breaks(&name.unwrap_or_default());
                totals.unseen.entry(cause).or_default().insert(name);
            }
        });
        let program = escape_line_breaks(&program_name(header));
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

/// The reason why there is no log, in words.
fn why_nothing(ended: &EndedRecording) -> String {
    let program = &ended.program;
    match ended.named {
        NamedPrograms::Nothing => {}
        NamedPrograms::Command => return format!("{program} did not load libsockcap.so"),
        NamedPrograms::NotInjected => {
            return "the library could not be put into the programs named above".to_owned();
        }
    }
    // System calls past libc are reported only when a process ends by itself.
    let by = match ended.status.and_then(|status| status.signal()) {
        Some(_) => " through libc",
        None => "",
    };
    let place = ended.data.path().display();
    let nothing = format!("used no socket{by}, or could not write to {place}");
    match ended.status.filter(|status| !status.success()) {
        // The command's own message about its failure is the better reason.
        Some(status) => {
            format!("{program} ended with {}; it and what it started {nothing}", exit_words(status))
        }
        None => format!("{program} and what it started {nothing}"),
    }
}

/// Words for how a command has ended.
fn exit_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The first of several items, and the number of the others.
fn list_first(all: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = all.collect();
    let more = all.len().saturating_sub(MAX_GAPS_NAMED);
    all.truncate(MAX_GAPS_NAMED);
    let named = all.join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}
