//! The short trace of one exec: seize the thread, let it execute the program, inject, let it go.
//! All of it is done by one thread, as the kernel asks for.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use crate::blob::Prepare;
use crate::inject::inject;
use crate::outcome::{Error, Left, Outcome};
use crate::ptrace::Tid;
use crate::rights;
use crate::seized::{Seized, Stop};
use crate::tuning::{LOADING, UNTIL_EXEC, UNTIL_INTERRUPTED};

/// Who executes the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The thread that says so.
    Itself,
    /// The next child that it makes by `vfork`, as `posix_spawn` does: libc executes the program
    /// there, and nothing of ours runs in between.
    Child,
}

/// Exec that is about to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exec<'a> {
    /// Number of the process.
    pub process: u32,
    /// Number of the thread.
    pub tid: Tid,
    /// Who executes the program: the thread, or a child of its.
    pub who: Who,
    /// The program, as the process names it.
    pub program: &'a Path,
}

/// Follows an exec. `answer` is called once with whether the process is traced; the process waits
/// for that before it executes the program. `connection` ends when it has.
pub(crate) fn follow(
    exec: &Exec,
    connection: &UnixStream,
    prepare: &dyn Prepare,
    answer: impl FnOnce(bool),
) -> Result<Outcome, Error> {
    if let Err(left) = rights::look(exec.process, exec.program) {
        answer(false);
        return Ok(Outcome::Left(left));
    }
    let seized = match exec.who {
        Who::Itself => Seized::begin(exec.process, exec.tid),
        Who::Child => Seized::begin_spawning(exec.process, exec.tid),
    };
    let mut seized = match seized {
        Ok(seized) => seized,
        Err(error) => {
            answer(false);
            return Err(error);
        }
    };
    // It may have given up waiting meanwhile, and then its next exec is not the one that was
    // looked at.
    if has_ended(connection) {
        seized.release(UNTIL_INTERRUPTED)?;
        return Ok(Outcome::Left(Left::NoExec));
    }
    answer(true);
    if exec.who == Who::Child {
        if !until_child(&mut seized, connection)? {
            return let_go(seized);
        }
        seized = seized.into_child()?;
    }
    if !until_exec(&mut seized, connection)? {
        return let_go(seized);
    }
    let (outcome, stopped_by) = inject(&mut seized, prepare);
    let outcome = outcome.map_err(|error| seized.or_gone(error));
    let released = seized.release_with(UNTIL_INTERRUPTED, stopped_by);
    outcome.and_then(|outcome| released.map(|()| outcome))
}

/// Lets a thread go that executes nothing.
fn let_go(seized: Seized) -> Result<Outcome, Error> {
    match seized.release(UNTIL_INTERRUPTED) {
        Ok(()) | Err(Error::Gone { .. }) => Ok(Outcome::Left(Left::NoExec)),
        Err(error) => Err(error),
    }
}

/// Lets the thread run until it has made the child that will execute the program. `false` where it
/// does not: the connection lasts until the child has executed it.
fn until_child(seized: &mut Seized, connection: &UnixStream) -> Result<bool, Error> {
    const STEP: &str = "waiting for its child";
    let until = Instant::now() + UNTIL_EXEC;
    loop {
        match seized.wait_or(Some(connection.as_fd()), until, STEP) {
            Ok(Some(Stop::Child)) => return Ok(true),
            Ok(Some(stop)) => seized.pass(stop, STEP)?,
            Ok(None) | Err(Error::Gone { .. } | Error::Timeout { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Lets the process run until it has executed its program. `false` where it does not.
fn until_exec(seized: &mut Seized, connection: &UnixStream) -> Result<bool, Error> {
    const STEP: &str = "waiting for its exec";
    let mut also = Some(connection.as_fd());
    let mut until = Instant::now() + UNTIL_EXEC;
    loop {
        match seized.wait_or(also, until, STEP) {
            Ok(Some(Stop::Exec)) => return Ok(true),
            Ok(Some(stop)) => seized.pass(stop, STEP)?,
            // The exec has closed the connection, or the process says that it failed.
            Ok(None) if has_ended(connection) => {
                also = None;
                until = until.min(Instant::now() + LOADING);
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
