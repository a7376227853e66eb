//! Program gaps: data that could have been recorded and was not, by program and cause, so that a
//! reader of a result knows which programs it is missing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use socket_log::layout::{source, unseen};

use crate::indices::{HostIndex, ProcessIndex};
use crate::logs::capture::Capture;
use crate::reconciliation::ProgramGap;

/// Cause for a process that used sockets and has no log, if only its count is known.
const NO_ROOM: &str = "no room for its log";

/// A gap in one log.
pub(crate) enum LogGap {
    /// Records of the log's own process.
    Records { cause: &'static str, count: u64 },
    /// Children that used sockets and for which there was no space for a log.
    Children(u64),
    /// A program that the log's process started, or became.
    Program(UnloggedProgram),
}

/// A program without any recording.
pub(crate) struct UnloggedProgram {
    /// The path of the program; of a long path the end.
    pub(crate) path: String,
    pub(crate) pid: u32,
    pub(crate) cause: &'static str,
}

/// Cause for which a program is not seen, from the number in its record.
pub(crate) fn cause_of_unlogged(cause: u16) -> &'static str {
    unseen::NAMES.get(usize::from(cause)).copied().unwrap_or_default()
}

/// Groups the gaps by program and cause; `missing` has them by the index of the process with the
/// log. Whole processes come before records, and the largest number first.
pub(crate) fn group_gaps(
    capture: &Capture,
    missing: Vec<(ProcessIndex, LogGap)>,
) -> Vec<ProgramGap> {
    let many = capture.hosts.len() > 1;
    // Processes that strace saw are no longer missing.
    let seen_otherwise: HashSet<(HostIndex, u32)> = capture
        .processes
        .iter()
        .filter(|process| process.source != source::LIBRARY)
        .map(|process| (process.host, process.pid))
        .collect();
    let mut sums: BTreeMap<(String, &str, bool), [u64; 2]> = BTreeMap::new();
    for (place, missing) in missing {
        let Some(process) = capture.processes.get(place.index()) else { continue };
        let node = &process.node;
        let (program, cause, of_children, counts) = match missing {
            LogGap::Records { cause, count } => (node.command.clone(), cause, false, [count, 0]),
            LogGap::Children(count) => (node.command.clone(), NO_ROOM, true, [0, count]),
            LogGap::Program(UnloggedProgram { pid, .. })
                if seen_otherwise.contains(&(process.host, pid)) =>
            {
                continue;
            }
            LogGap::Program(UnloggedProgram { path, cause, .. }) => (path, cause, false, [0, 1]),
        };
        let program = if many { format!("{}/{program}", node.host) } else { program };
        let sums = sums.entry((program, cause, of_children)).or_default();
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum = sum.saturating_add(count);
        }
    }
    let gap = |((program, cause, of_children), [records, processes]): (
        (String, &str, bool),
        [u64; 2],
    )| {
        ProgramGap { program, cause: cause.to_owned(), records, processes, of_children }
    };
    let mut gaps: Vec<ProgramGap> = sums.into_iter().map(gap).collect();
    gaps.sort_by_key(|gap| Reverse((gap.processes, gap.records)));
    gaps
}
