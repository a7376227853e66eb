//! `sockcap record -p`: records running processes and their children. The library is put into them
//! at the beginning and taken out at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use injector::{AttachedProcess, SkipReason};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use socket_log::RecordingId;
use socket_log::names::{HOST_VARIABLE, own_host_name};

use super::injection::InjectionSession;
use super::{folders, recording, unix_peers};
use crate::error::CommandError;
use crate::output::{count_noun, tell};
use crate::signals::stop_on_signals_or_hangup;
use crate::tuning::{ATTACH_CHECK_PAUSE, CHILD_SEARCHES};

/// The processes to record, and the options.
pub(super) struct AttachArguments<'a> {
    /// Ids of the processes.
    pub(super) processes: &'a [u32],
    /// Whether all named processes must be recorded.
    pub(super) strict: bool,
    /// Name of this host, if one was given.
    pub(super) host: Option<&'a str>,
    /// The data directory.
    pub(super) directory: &'a Path,
    /// The library that is preloaded into programs that the processes start.
    pub(super) library: &'a Path,
    /// Id of the recording.
    pub(super) recording: RecordingId,
    /// The library's options, as variables.
    pub(super) options: Vec<(&'static str, String)>,
}

/// A recorded process, with a descriptor that becomes readable at its end.
struct WatchedProcess {
    attached: AttachedProcess,
    end: OwnedFd,
}

/// Records processes until they have ended, or the user asks to stop.
pub(super) fn record_attached(asked: &AttachArguments<'_>) -> Result<(), CommandError> {
    let host = asked.host.map_or_else(own_host_name, str::to_owned);
    folders::make_host_folder(asked.directory, &host).map_err(|source| {
        CommandError::file_error(&asked.directory.join("hosts").join(&host), source)
    })?;
    let stop = stop_on_signals_or_hangup()?;
    let injection = InjectionSession::begin_injection(
        asked.library,
        folders::host_folder(asked.directory, &host),
    )?;
    let variables = library_variables(asked, &host, &injection);
    let recorded = attach_all(asked, &injection, &variables)?;
    let longest = recorded.iter().map(|of| of.attached.stopped_time()).max().unwrap_or_default();
    for of in recorded.iter().filter(|of| of.attached.took_over()) {
        let process = of.attached.process();
        tell!(
            "sockcap: process {process} had the library of a recorder that is gone; its log was \
             ended, and a new one begun"
        );
        of.attached.not_taken_over().iter().for_each(|why| print_warning(why));
    }
    tell!(
        "sockcap: recording {}, paused for at most {:.1} ms; Ctrl-C ends it",
        count_noun(recorded.len() as u64, "process", "processes"),
        longest.as_secs_f64() * 1e3,
    );
    while !stop.load(Relaxed) && wait_briefly(&recorded) {}
    // The socket is closed first, or a program that is started meanwhile would keep the library.
    let unseen = injection.close_socket();
    detach_all(&recorded).iter().for_each(|error| print_warning(error));
    unseen.iter().for_each(|program| print_warning(program));
    Ok(())
}

fn print_warning(what: &dyn Display) {
    tell!("sockcap: warning: {what}");
}

/// Words for processes by their numbers.
pub(super) fn process_list(processes: &[u32]) -> String {
    let numbers: Vec<String> = processes.iter().map(u32::to_string).collect();
    let word = if numbers.len() == 1 { "process" } else { "processes" };
    format!("{word} {}", numbers.join(", "))
}

/// The variables for the library, which it passes to the programs that these processes start.
fn library_variables(
    asked: &AttachArguments<'_>,
    host: &str,
    injection: &InjectionSession,
) -> Vec<(OsString, OsString)> {
    let (socket, path) = injection.announced_at();
    let mut all: Vec<(OsString, OsString)> = vec![
        ("LD_PRELOAD".into(), asked.library.into()),
        ("SOCKCAP_DIR".into(), asked.directory.into()),
        (HOST_VARIABLE.into(), host.into()),
        (recording::VARIABLE.into(), asked.recording.to_string().into()),
        (socket.into(), path.into()),
    ];
    let options = asked.options.iter();
    all.extend(options.map(|(name, value)| (name.into(), value.into())));
    all
}

/// Attaches to the named processes, and to their children.
fn attach_all(
    asked: &AttachArguments<'_>,
    injection: &InjectionSession,
    variables: &[(OsString, OsString)],
) -> Result<Vec<WatchedProcess>, CommandError> {
    let (mut recorded, mut known): (Vec<WatchedProcess>, BTreeSet<u32>) = Default::default();
    let mut first_error = None;
    for process in asked.processes {
        if !known.insert(*process) {
            continue;
        }
        match attach_process(*process, injection, variables) {
            Ok(process) => recorded.push(process),
            Err(error) if asked.strict => {
                detach_all(&recorded).iter().for_each(|error| print_warning(error));
                return Err(CommandError::NotAttached(error));
            }
            Err(error) => {
                if let Some(error) = first_error.replace(error) {
                    print_warning(&error);
                }
            }
        }
    }
    recorded.extend(attach_to_children(known, injection, variables));
    match first_error {
        Some(error) if recorded.is_empty() => return Err(CommandError::NotAttached(error)),
        Some(error) => print_warning(&error),
        None => {}
    }
    Ok(recorded)
}

/// Attaches to the children of processes, their children, and so on. The children may have been
/// started before their parents had the library.
fn attach_to_children(
    mut known: BTreeSet<u32>,
    injection: &InjectionSession,
    variables: &[(OsString, OsString)],
) -> Vec<WatchedProcess> {
    let mut recorded = Vec::new();
    // A child may execute another program during an attempt: it is tried again.
    let mut failed: BTreeMap<u32, injector::Error> = BTreeMap::new();
    for _ in 0..CHILD_SEARCHES {
        let again: Vec<u32> = failed.keys().copied().collect();
        let fresh = find_descendants(&known).into_iter().filter(|process| known.insert(*process));
        let processes: Vec<u32> = fresh.chain(again).collect();
        if processes.is_empty() {
            break;
        }
        for process in processes {
            failed.remove(&process);
            match attach_process(process, injection, variables) {
                Ok(process) => recorded.push(process),
                // A child that was started after the library was put into its parent has the
                // library from it.
                Err(injector::Error::NotAttached {
                    why: SkipReason::UsesGs | SkipReason::HasLibrary(_),
                    ..
                }) => {}
                Err(injector::Error::NotAttached { why: SkipReason::Recorded { by }, .. })
                    if by == std::process::id() => {}
                Err(injector::Error::NoProcess { .. } | injector::Error::Gone { .. }) => {}
                Err(error) => drop(failed.insert(process, error)),
            }
        }
        if !failed.is_empty() {
            std::thread::sleep(ATTACH_CHECK_PAUSE);
        }
    }
    let has_failed = |error: &injector::Error| {
        // A process that makes no calls has nothing to record.
        !matches!(error, injector::Error::NotAttached { why: SkipReason::Unwanted, .. })
    };
    for error in failed.into_values().filter(has_failed) {
        print_warning(&error);
    }
    recorded
}

/// Attaches to one process.
fn attach_process(
    process: u32,
    injection: &InjectionSession,
    variables: &[(OsString, OsString)],
) -> Result<WatchedProcess, injector::Error> {
    let gone = |_| injector::Error::NoProcess { process };
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(injector::Error::NoProcess { process })?;
    let end = pidfd_open(pid, PidfdFlags::empty()).map_err(gone)?;
    // The look-up of peers comes last: it may take long, and all checks of the library come before
    // it.
    let peers = unix_peers::peers_variable(process)
        .map(|peers| (unix_peers::VARIABLE.into(), peers.into()));
    let variables: Vec<(OsString, OsString)> = variables.iter().cloned().chain(peers).collect();
    let attached = injector::attach_process(process, injection.patcher(), &variables)?;
    Ok(WatchedProcess { attached, end })
}

/// Leaves processes as they were. Returns an error for each where that fails.
fn detach_all(recorded: &[WatchedProcess]) -> Vec<injector::Error> {
    recorded.iter().flat_map(|of| of.attached.detach_all().1).collect()
}

/// Waits for a moment. Returns `false` when all processes have ended.
fn wait_briefly(recorded: &[WatchedProcess]) -> bool {
    let is_running = |of: &&WatchedProcess| {
        let mut end = [PollFd::new(&of.end, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A failed poll is ignored.
        poll(&mut end, Some(&now)) != Ok(1)
    };
    std::thread::sleep(ATTACH_CHECK_PAUSE);
    recorded.iter().any(|of| is_running(&of))
}

/// Finds children of processes, their children, and so on.
fn find_descendants(of: &BTreeSet<u32>) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let process = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            Some((process, parse_parent(&stat)?))
        })
        .collect();
    let mut all = of.clone();
    loop {
        let children = parents.iter().filter(|(_, parent)| all.contains(parent));
        let fresh: Vec<u32> =
            children.map(|(child, _)| *child).filter(|child| !all.contains(child)).collect();
        if fresh.is_empty() {
            return all.difference(of).copied().collect();
        }
        all.extend(fresh);
    }
}

/// The parent of a process, from the text of its `stat`.
fn parse_parent(stat: &str) -> Option<u32> {
    // The program's name may itself contain blanks and brackets.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_parsed_after_the_name() {
        assert_eq!(parse_parent("7 (a ) b) S 12 7 7 0\n"), Some(12));
        assert_eq!(parse_parent("7 (a"), None);
    }

    #[test]
    fn a_child_of_this_process_is_found() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let found = find_descendants(&BTreeSet::from([std::process::id()]));
        assert!(found.contains(&child.id()), "{found:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
