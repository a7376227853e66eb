//! Short trace of one exec: seize the thread, let it execute the program, inject, release it. One
//! thread makes all these requests, as the kernel requires.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use crate::blob::Prepare;
use crate::inject::inject_blob;
use crate::outcome::{Error, InjectionOutcome, SkipReason};
use crate::ptrace::Tid;
use crate::rights;
use crate::traced_thread::{StopKind, TracedThread};
use crate::tuning::{MAX_LOAD_TIME, UNTIL_EXEC, UNTIL_INTERRUPTED};

/// Thread that executes the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExecutingThread {
    /// The announcing thread.
    Itself,
    /// The next child that the announcing thread makes by `vfork`, as `posix_spawn` does: libc
    /// executes the program in the child, and none of our code runs in between.
    Child,
}

/// Exec that is about to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingExec<'a> {
    /// Process id.
    pub process: u32,
    /// Id of the announcing thread.
    pub tid: Tid,
    /// Thread that executes the program: the announcing thread, or its child.
    pub who: ExecutingThread,
    /// Program, as the process names it.
    pub program: &'a Path,
}

/// Traces a process through an exec. The process waits before it executes the program, until
/// `answer` is called, once, with whether the process is traced. `connection` ends with the exec.
pub(crate) fn trace_exec(
    exec: &PendingExec,
    connection: &UnixStream,
    prepare: &dyn Prepare,
    answer: impl FnOnce(bool),
) -> Result<InjectionOutcome, Error> {
    if let Err(left) = rights::check_privileges(exec.process, exec.program) {
        answer(false);
        return Ok(InjectionOutcome::Left(left));
    }
    let seized = match exec.who {
        ExecutingThread::Itself => TracedThread::seize(exec.process, exec.tid),
        ExecutingThread::Child => TracedThread::seize_spawning(exec.process, exec.tid),
    };
    let mut seized = match seized {
        Ok(seized) => seized,
        Err(error) => {
            answer(false);
            return Err(error);
        }
    };
    // The process may have stopped waiting meanwhile, and then its next exec is not the exec that
    // was checked.
    if has_ended(connection) {
        seized.release(UNTIL_INTERRUPTED)?;
        return Ok(InjectionOutcome::Left(SkipReason::NoExec));
    }
    answer(true);
    if exec.who == ExecutingThread::Child {
        if !wait_for_child(&mut seized, connection)? {
            return release_thread(seized);
        }
        seized = seized.into_child()?;
    }
    if !wait_for_exec(&mut seized, connection)? {
        return release_thread(seized);
    }
    let (outcome, stopped_by) = inject_blob(&mut seized, prepare);
    let outcome = outcome.map_err(|error| seized.or_ended(error));
    let released = seized.release_with(UNTIL_INTERRUPTED, stopped_by);
    outcome.and_then(|outcome| released.map(|()| outcome))
}

/// Releases a thread that does not execute a program.
fn release_thread(seized: TracedThread) -> Result<InjectionOutcome, Error> {
    match seized.release(UNTIL_INTERRUPTED) {
        Ok(()) | Err(Error::Gone { .. }) => Ok(InjectionOutcome::Left(SkipReason::NoExec)),
        Err(error) => Err(error),
    }
}

/// Runs the thread until it has made the child that will execute the program. Returns `false` if it
/// makes none: the connection lasts until the child has executed the program.
fn wait_for_child(seized: &mut TracedThread, connection: &UnixStream) -> Result<bool, Error> {
    const STEP: &str = "waiting for its child";
    let until = Instant::now() + UNTIL_EXEC;
    loop {
        match seized.wait_for_stop(Some(connection.as_fd()), until, STEP) {
            Ok(Some(StopKind::Child)) => return Ok(true),
            Ok(Some(stop)) => seized.pass_stop(stop, STEP)?,
            Ok(None) | Err(Error::Gone { .. } | Error::Timeout { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Runs the process until it has executed its program. Returns `false` if the exec fails.
fn wait_for_exec(seized: &mut TracedThread, connection: &UnixStream) -> Result<bool, Error> {
    const STEP: &str = "waiting for its exec";
    let mut also = Some(connection.as_fd());
    let mut until = Instant::now() + UNTIL_EXEC;
    loop {
        match seized.wait_for_stop(also, until, STEP) {
            Ok(Some(StopKind::Exec)) => return Ok(true),
            Ok(Some(stop)) => seized.pass_stop(stop, STEP)?,
            // The exec has closed the connection, or the process reports that it failed.
            Ok(None) if has_ended(connection) => {
                also = None;
                until = until.min(Instant::now() + MAX_LOAD_TIME);
            }
            Ok(None) | Err(Error::Gone { .. } | Error::Timeout { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Whether the other end of a connection is closed.
fn has_ended(mut connection: &UnixStream) -> bool {
    if connection.set_nonblocking(true).is_err() {
        return true;
    }
    let read = connection.read(&mut [0]);
    let _ = connection.set_nonblocking(false);
    match read {
        Ok(length) => length == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}
