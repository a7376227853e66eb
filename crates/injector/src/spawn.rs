//! Children of this process: starts a child and traces it through its exec, and waits for a child
//! that may announce execs later.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::blob::Prepare;
use crate::exec_announcement::{client, message, server};
use crate::outcome::{Error, InjectionOutcome};
use crate::trace::{self, ExecutingThread, PendingExec};
use crate::tuning::UNTIL_EXEC;

/// Child that was started, and the outcome of its injection.
#[derive(Debug)]
pub struct SpawnedChild {
    /// The child. [`wait_child`] waits for its end.
    pub child: Child,
    /// Outcome of the injection.
    pub result: Result<InjectionOutcome, Error>,
}

/// Starts a command and traces it through its exec. `program` is the path of the command's file,
/// which is checked for privileges. Returns when the program runs and is no longer traced.
///
/// # Errors
/// If the command cannot be started. If only the injection fails, the program runs unchanged.
pub fn spawn_traced(
    mut command: Command,
    program: &Path,
    prepare: Arc<dyn Prepare>,
) -> Result<SpawnedChild, Error> {
    let failed = |source| Error::Spawn { path: program.to_owned(), source };
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    let mut bytes =
        message::encode_announcement(ExecutingThread::Itself, 0, program).map_err(failed)?;
    let announce = move || {
        message::write_tid(&mut bytes, std::process::id());
        // Without a recorder the program runs all the same.
        if (&theirs).write_all(&bytes).is_ok() {
            let _ = client::wait_for_answer(&theirs);
        }
        Ok(())
    };
    // SAFETY: between fork and exec, the closure calls write, setsockopt, getpid and read on
    // objects that were made before. It allocates nothing and takes no lock.
    unsafe { command.pre_exec(announce) };
    let of_thread = ours.try_clone().map_err(failed)?;
    let follow = move || follow_exec(&of_thread, &*prepare);
    let following = thread::Builder::new().name("exec".to_owned()).spawn(follow).map_err(failed)?;
    let child = command.spawn();
    drop(command);
    if child.is_err() {
        // Without a child, no announcement follows.
        let _ = ours.shutdown(std::net::Shutdown::Both);
    }
    let result = following.join().unwrap_or_else(|_| {
        Err(Error::Announcement("the thread that follows it panicked".to_owned()))
    });
    Ok(SpawnedChild { child: child.map_err(failed)?, result })
}

/// Traces the child at the other end of a connection through its exec.
fn follow_exec(connection: &UnixStream, prepare: &dyn Prepare) -> Result<InjectionOutcome, Error> {
    let refused = |error: io::Error| Error::Announcement(error.to_string());
    connection.set_read_timeout(Some(UNTIL_EXEC)).map_err(refused)?;
    let message = message::read_announcement(connection).map_err(refused)?;
    let tid = i32::try_from(message.tid)
        .map_err(|_| Error::Announcement("its number is invalid".to_owned()))?;
    let exec =
        PendingExec { process: message.tid, tid, who: message.who, program: &message.program };
    trace::trace_exec(&exec, connection, prepare, |traced| server::send_answer(connection, traced))
}

/// Waits for the end of a child. Unlike [`Child::wait`], this does not consume a stop of the child
/// if another thread traces a later exec of it; the kernel would report stops to any thread of this
/// process.
///
/// # Errors
/// Returns the error of the kernel.
pub fn wait_child(child: &mut Child) -> io::Result<ExitStatus> {
    let pid = Pid::from_child(child);
    let end = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(end) => end,
        // The child was waited for already, so the standard library has its status.
        Err(rustix::io::Errno::SRCH) => return child.wait(),
        Err(error) => return Err(error.into()),
    };
    let mut ready = [PollFd::new(&end, PollFlags::IN)];
    loop {
        match poll(&mut ready, None) {
            Ok(_) => return child.wait(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
