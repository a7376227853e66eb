//! The process's side: announces an exec, waits for the answer for a short time, and continues with
//! any answer.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::message::{self, FAILED, TRACED};
use crate::ptrace;
use crate::trace::ExecutingThread;
use crate::tuning::ANSWER;

/// Announced exec of the calling thread. The announcement lasts until the exec.
#[derive(Debug)]
pub struct AnnouncedExec {
    connection: UnixStream,
    traced: bool,
}

/// Announces that the calling thread is about to execute a program, and waits until the recorder is
/// ready, at most [`ANSWER`]. A parent that starts a child calls this function in the child.
///
/// # Errors
/// If the socket does not exist or the recorder does not answer in time. The program is to be
/// executed all the same.
pub fn announce_exec(socket: &Path, program: &Path) -> io::Result<AnnouncedExec> {
    let bytes = message::encode_announcement(
        ExecutingThread::Itself,
        rustix::thread::gettid().as_raw_pid() as u32,
        program,
    )?;
    let mut connection = UnixStream::connect(socket)?;
    let recorder = rustix::net::sockopt::socket_peercred(&connection)?.pid;
    // Yama requires this if the recorder is not our ancestor (in a daemon's child).
    ptrace::allow_tracer(recorder.as_raw_pid());
    connection.set_write_timeout(Some(ANSWER))?;
    connection.write_all(&bytes)?;
    let traced = wait_for_answer(&connection)?;
    Ok(AnnouncedExec { connection, traced })
}

/// Waits for the answer.
pub(crate) fn wait_for_answer(mut connection: &UnixStream) -> io::Result<bool> {
    connection.set_read_timeout(Some(ANSWER))?;
    let mut answer = [0];
    connection.read_exact(&mut answer)?;
    Ok(answer == [TRACED])
}

impl AnnouncedExec {
    /// Whether the recorder traces the exec. If not, the recorder has reported its reason on its
    /// own side.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.traced
    }

    /// Reports to the recorder that the exec failed, and waits until it no longer traces this
    /// thread. Dropping this value reports the failure, too; an exec drops nothing.
    pub fn report_failure(self) {}
}

impl Drop for AnnouncedExec {
    fn drop(&mut self) {
        // A recorder that has ended needs no report, and one that hangs is not waited for. The next
        // exec of this thread may be one that must not be traced.
        if self.connection.write_all(&[FAILED]).is_ok() {
            let _ = wait_for_answer(&self.connection);
        }
    }
}
