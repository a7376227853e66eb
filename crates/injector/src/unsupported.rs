//! The crate's public functions for unsupported machines and systems: each returns an error, or
//! does what happens without an injection.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;

use crate::blob::Prepare;
use crate::outcome::{Error, InjectionOutcome};

/// Report on an announced exec.
#[derive(Debug)]
pub struct ExecReport {
    /// Process id of the sender; 0 if it is not known. An injection names the process that it was
    /// made in.
    pub process: u32,
    /// Program, as its process named it; empty if it is not known.
    pub program: PathBuf,
    /// Result of the exec.
    pub result: Result<InjectionOutcome, Error>,
}

/// Callback for reports, called from several threads concurrently.
pub type ExecReporter = Arc<dyn Fn(ExecReport) + Send + Sync>;

/// Socket on which execs are announced.
#[derive(Debug)]
pub struct AnnouncementServer;

impl AnnouncementServer {
    /// Begins to accept announcements.
    ///
    /// # Errors
    /// Always: [`Error::Machine`].
    pub fn listen(
        _: &Path,
        _: Arc<dyn Prepare>,
        _: ExecReporter,
    ) -> Result<AnnouncementServer, Error> {
        Err(Error::Machine)
    }

    /// Stops accepting announcements.
    pub fn close(self) {}
}

/// Announced exec of the calling thread.
#[derive(Debug)]
pub struct AnnouncedExec;

impl AnnouncedExec {
    /// Whether the recorder traces the exec.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        false
    }

    /// Reports to the recorder that the exec failed.
    pub fn report_failure(self) {}
}

/// Announces that the calling thread is about to execute a program.
///
/// # Errors
/// Always: there is no recorder.
pub fn announce_exec(_: &Path, _: &Path) -> io::Result<AnnouncedExec> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Child that was started, and the outcome of its injection.
#[derive(Debug)]
pub struct SpawnedChild {
    /// The child.
    pub child: Child,
    /// Always [`Error::Machine`].
    pub result: Result<InjectionOutcome, Error>,
}

/// Starts a command, which runs unchanged.
///
/// # Errors
/// If the command cannot be started.
pub fn spawn_traced(
    mut command: Command,
    program: &Path,
    _: Arc<dyn Prepare>,
) -> Result<SpawnedChild, Error> {
    let failed = |source| Error::Spawn { path: program.to_owned(), source };
    Ok(SpawnedChild { child: command.spawn().map_err(failed)?, result: Err(Error::Machine) })
}

/// Waits for the end of a child.
///
/// # Errors
/// Returns the error of the system.
pub fn wait_child(child: &mut Child) -> io::Result<ExitStatus> {
    child.wait()
}

/// A blob that was installed in a running process.
#[derive(Clone, Debug)]
pub struct AttachedProcess;

/// Installs a blob in a running process.
///
/// # Errors
/// Always: [`Error::Machine`].
pub fn attach_process(
    _: u32,
    _: &dyn Prepare,
    _: &[(std::ffi::OsString, std::ffi::OsString)],
) -> Result<AttachedProcess, Error> {
    Err(Error::Machine)
}

impl AttachedProcess {
    /// Process id.
    #[must_use]
    pub fn process(&self) -> u32 {
        0
    }

    /// Path of the program.
    #[must_use]
    pub fn path(&self) -> &Path {
        Path::new("")
    }

    /// Number of patches of the program's text.
    #[must_use]
    pub fn patches(&self) -> usize {
        0
    }

    /// Time for which the process stood still.
    #[must_use]
    pub fn stopped_time(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    /// Whether the process already had a blob.
    #[must_use]
    pub fn took_over(&self) -> bool {
        false
    }

    /// Reasons why copies of the process still have the blob of a killed recorder.
    #[must_use]
    pub fn not_taken_over(&self) -> &[String] {
        &[]
    }

    /// Takes the blob out as [`AttachedProcess::detach`] does, and returns the errors of all
    /// copies.
    pub fn detach_all(&self) -> (usize, Vec<Error>) {
        (0, vec![Error::Machine])
    }

    /// Takes the blob out of the process.
    ///
    /// # Errors
    /// Always: [`Error::Machine`].
    pub fn detach(&self) -> Result<usize, Error> {
        Err(Error::Machine)
    }
}
