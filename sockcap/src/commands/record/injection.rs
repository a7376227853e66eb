//! Programs that load no library (`record --inject`): the library is put into static programs, and
//! into Go programs, as they are executed.
//!
//! The file of the command itself is known before it starts, and its exec is followed. Programs
//! that it starts are announced by the library in the process that executes them, at a socket with
//! its path in `SOCKCAP_INJECTOR`.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};

use injector::{
    AnnouncementServer, BlobLibrary, ExecReport, InjectionOutcome, LibraryPatcher, SkipReason,
};
use tempfile::TempDir;

use crate::error::CommandError;
use crate::output::tell;
use crate::places;

/// Name of the injected library, which lies next to the preloaded one.
const INJECTED_LIBRARY: &str = "libsockcap_injected.so";

/// Symbols that the library exports: its first function, what the GS base points to, the entries
/// before and after a system call, and its data for goroutines.
const START: &str = "sockcap_start";
const NULL_SLOT: &str = "sockcap_null_slot";
const BEFORE: &str = "sockcap_before";
const AFTER: &str = "sockcap_after";
const BEFORE_IN_GOROUTINE: &str = "sockcap_before_in_goroutine";
const READY: &str = "sockcap_ready";
const GOROUTINES: &str = "sockcap_goroutines";

/// Symbols by which the library is taken out of a running program: its last function, how hooks
/// wait, its mappings, and the switch that turns it off if it cannot be taken out.
const END: &str = "sockcap_end";
const WAITING: &str = "sockcap_waiting";
const MAPPED: &str = "sockcap_mapped";
const SWITCH: &str = "sockcap_switch";

/// Symbol with the numbers of descriptors that are passed to the library if no path leads to the
/// files that it needs.
const HANDED: &str = "sockcap_handed";

/// Variable with the socket for announcements.
const SOCKET_VARIABLE: &str = "SOCKCAP_INJECTOR";

/// Programs into which the library could not be put, with the reasons.
type InjectionFailures = Arc<Mutex<Vec<(PathBuf, String)>>>;

/// Injection of the library into the programs that one command starts.
pub(super) struct InjectionSession {
    patcher: Arc<LibraryPatcher>,
    server: AnnouncementServer,
    /// Folder of the socket. Programs of other users, too, announce themselves there; the kernel
    /// reports the user of each.
    folder: TempDir,
    failures: InjectionFailures,
}

impl InjectionSession {
    /// Prepares the injection. `preloaded` is the preloaded library, `logs` the folder of the host.
    pub(super) fn begin_injection(
        preloaded: &Path,
        logs: PathBuf,
    ) -> Result<InjectionSession, CommandError> {
        let path = preloaded.with_file_name(INJECTED_LIBRARY);
        let folder = tempfile::Builder::new().prefix("sockcap-").tempdir();
        let folder = folder.map_err(|source| CommandError::file_error(&env::temp_dir(), source))?;
        let patcher = Arc::new(read_patcher(&path, logs, socket_path(&folder))?);
        let failures = InjectionFailures::default();
        let of_reports = Arc::clone(&failures);
        let report =
            move |report: ExecReport| note_failure(&of_reports, report.program, report.result);
        let server =
            AnnouncementServer::listen(&socket_path(&folder), patcher.clone(), Arc::new(report))?;
        Ok(InjectionSession { patcher, server, folder, failures })
    }

    /// Passes a command, and the programs that it starts, the address for announcements.
    pub(super) fn announce_to(&self, command: &mut Command) {
        let (name, path) = self.announced_at();
        command.env(name, path);
    }

    /// The variable with the address for announcements.
    pub(super) fn announced_at(&self) -> (&'static str, PathBuf) {
        (SOCKET_VARIABLE, socket_path(&self.folder))
    }

    /// The patcher, which has the places of system calls in programs.
    pub(super) fn patcher(&self) -> &LibraryPatcher {
        &self.patcher
    }

    /// Starts a command that is known to load no library. `program` is its file. With `strict`, the
    /// command is ended immediately if the library could not be put into it.
    pub(super) fn spawn_injected(
        &self,
        command: Command,
        program: &Path,
        strict: bool,
    ) -> Result<Child, StartError> {
        let injector::SpawnedChild { mut child, result } =
            injector::spawn_traced(command, program, self.patcher.clone()).map_err(|error| {
                match error {
                    injector::Error::Spawn { source, .. } => StartError::Command(source),
                    other => StartError::Other(other.into()),
                }
            })?;
        let why = match &result {
            Err(error) => Some(error.to_string()),
            Ok(InjectionOutcome::Left(left)) if *left != SkipReason::Unwanted => {
                Some(left.to_string())
            }
            Ok(_) => None,
        };
        if let Some(why) = why.filter(|_| strict) {
            // A process that has ended needs neither.
            let _ = child.kill();
            let _ = injector::wait_child(&mut child);
            let program = program.to_owned();
            return Err(StartError::Other(CommandError::NotInjected { program, why }));
        }
        note_failure(&self.failures, program.to_owned(), result);
        Ok(child)
    }

    /// Ends the session, and reports the programs that are not recorded. Returns whether there are
    /// any.
    pub(super) fn end_injection(self) -> bool {
        let failures = self.close_socket();
        failures.iter().for_each(|failure| tell!("sockcap: warning: {failure}"));
        !failures.is_empty()
    }

    /// Accepts no more announcements, and returns the programs that are not recorded.
    pub(super) fn close_socket(self) -> Vec<String> {
        self.server.close();
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let words = |(program, why): &(PathBuf, String)| match program.as_os_str().is_empty() {
            true => format!("a program is not recorded: {why}"),
            false => format!("{} is not recorded: {why}", program.display()),
        };
        failures.iter().map(words).collect()
    }
}

/// The reason why a command does not run.
pub(super) enum StartError {
    /// The command cannot be started.
    Command(io::Error),
    /// Any other error.
    Other(CommandError),
}

/// Path of the socket.
fn socket_path(folder: &TempDir) -> PathBuf {
    folder.path().join("execs")
}

/// Keeps the reason why a program is not recorded, once for each program.
fn note_failure(
    failures: &InjectionFailures,
    program: PathBuf,
    result: Result<InjectionOutcome, injector::Error>,
) {
    let why = match result {
        Ok(InjectionOutcome::Injected(_)) => return,
        // The process did not execute another program, or executed one that loads the library.
        Ok(InjectionOutcome::Left(SkipReason::NoExec | SkipReason::Unwanted)) => return,
        Ok(InjectionOutcome::Left(left)) => left.to_string(),
        Err(error) => error.to_string(),
    };
    let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
    if !failures.contains(&(program.clone(), why.clone())) {
        failures.push((program, why));
    }
}

/// Reads the library that is put into programs. The findings about the programs are cached in the
/// user's folder: `$XDG_CACHE_HOME/sockcap/programs`, by default in `~/.cache`.
fn read_patcher(
    path: &Path,
    logs: PathBuf,
    socket: PathBuf,
) -> Result<LibraryPatcher, CommandError> {
    let bytes = fs::read(path).map_err(|source| CommandError::file_error(path, source))?;
    let library = BlobLibrary::parse(&bytes, START, NULL_SLOT)?;
    let library =
        library.with_detach(END, WAITING)?.with_mapped_list(MAPPED)?.with_kill_switch(SWITCH)?;
    let patcher = LibraryPatcher::new(library.clone(), BEFORE, AFTER)?;
    let patcher = patcher.with_goroutines(&library, BEFORE_IN_GOROUTINE, READY, GOROUTINES)?;
    let patcher = patcher.with_handed(&library, HANDED, logs, socket)?;
    Ok(match places::user_folder("XDG_CACHE_HOME", ".cache") {
        Some(folder) => patcher.with_plan_folder(folder.join("sockcap/programs")),
        None => patcher,
    })
}
