//! The same functions on machines and systems that this crate is not for: each says so, or does
//! what there would be without an injection.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;

use crate::blob::Prepare;
use crate::outcome::{Error, Outcome};

/// What came of an announced exec.
#[derive(Debug)]
pub struct ExecReport {
    /// Number of the process that announced it; 0 where that is not known. An injection says which
    /// process it was into.
    pub process: u32,
    /// The program, as its process named it; empty where that is not known.
    pub program: PathBuf,
    /// What came of it.
    pub result: Result<Outcome, Error>,
}

/// Function that takes reports, from several threads at once.
pub type ExecReporter = Arc<dyn Fn(ExecReport) + Send + Sync>;

/// Socket at which execs are announced.
#[derive(Debug)]
pub struct AnnouncementServer;

impl AnnouncementServer {
    /// Begins to take announcements.
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

    /// Takes no more announcements.
    pub fn close(self) {}
}

/// Exec of the calling thread that a recorder knows of.
#[derive(Debug)]
pub struct AnnouncedExec;

impl AnnouncedExec {
    /// Whether the recorder traces the exec.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        false
    }

    /// Tells the recorder that the exec failed.
    pub fn report_failure(self) {}
}

/// Announces that the calling thread is about to execute a program.
///
/// # Errors
/// Always: there is no recorder.
pub fn announce_exec(_: &Path, _: &Path) -> io::Result<AnnouncedExec> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Child that was started, and what came of its injection.
#[derive(Debug)]
pub struct SpawnedChild {
    /// The child.
    pub child: Child,
    /// [`Error::Machine`].
    pub result: Result<Outcome, Error>,
}

/// Starts a command, which runs as it is.
///
/// # Errors
/// The command cannot be started.
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
/// As the system gives them.
pub fn wait_child(child: &mut Child) -> io::Result<ExitStatus> {
    child.wait()
}

/// Blob in a process that ran before.
#[derive(Clone, Debug)]
pub struct AttachedProcess;

/// Puts a blob into a process that runs.
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
    /// Number of the process.
    #[must_use]
    pub fn process(&self) -> u32 {
        0
    }

    /// Path of its program.
    #[must_use]
    pub fn path(&self) -> &Path {
        Path::new("")
    }

    /// Number of changes of its text.
    #[must_use]
    pub fn patches(&self) -> usize {
        0
    }

    /// Time for which it stood still.
    #[must_use]
    pub fn stopped_time(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    /// Whether the process had a blob already.
    #[must_use]
    pub fn took_over(&self) -> bool {
        false
    }

    /// Why the blob of a recorder that was killed is still in copies of the process.
    #[must_use]
    pub fn not_taken_over(&self) -> &[String] {
        &[]
    }

    /// The same as [`AttachedProcess::detach`], with the errors of all copies.
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
