//! The recorder's side: a socket on which processes announce their execs. Each announcement has its
//! own thread, since ptrace requests are bound to a thread.

use std::io::{ErrorKind, Write};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::message::{self, NOT_TRACED, TRACED};
use super::{far, peer};
use crate::blob::Prepare;
use crate::outcome::{Error, InjectionOutcome};
use crate::rights;
use crate::trace::{self, ExecutingThread, PendingExec};
use crate::tuning::{CLOSE_CHECK_INTERVAL, MAX_CLOSE_TIME, MAX_CONCURRENT, MAX_MESSAGE_TIME};

/// Report on an announced exec.
#[derive(Debug)]
pub struct ExecReport {
    /// Process id of the sender; 0 if it is not known. The process of an injection may be a child
    /// of the sender, see [`InjectedProgram::process`](crate::InjectedProgram::process).
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
pub struct AnnouncementServer {
    path: PathBuf,
    shared: Arc<ServerState>,
    accepting: JoinHandle<()>,
}

/// State that the threads of a server share.
#[derive(Debug, Default)]
struct ServerState {
    closed: AtomicBool,
    running: AtomicUsize,
}

/// Announcement that is being processed, which counts as such until it is dropped.
struct ActiveAnnouncement(Arc<ServerState>);

impl ActiveAnnouncement {
    /// Counts one more announcement in progress; `None` if the maximum is reached.
    fn try_begin(shared: &Arc<ServerState>) -> Option<ActiveAnnouncement> {
        let running = ActiveAnnouncement(Arc::clone(shared));
        (running.0.running.fetch_add(1, SeqCst) < MAX_CONCURRENT).then_some(running)
    }
}

impl Drop for ActiveAnnouncement {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl AnnouncementServer {
    /// Begins to accept announcements at a path, which must not exist yet. The folder's permissions
    /// decide which processes may write to the socket; the sender is checked in addition.
    ///
    /// # Errors
    /// If the socket cannot be created.
    pub fn listen(
        path: &Path,
        prepare: Arc<dyn Prepare>,
        reporter: ExecReporter,
    ) -> Result<AnnouncementServer, Error> {
        let failed = |source| Error::Socket { path: path.to_owned(), source };
        let listener = UnixListener::bind(path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let far =
            far::bind(path).map_err(|source| Error::Socket { path: far::path(path), source })?;
        let shared = Arc::new(ServerState::default());
        let of_thread = Arc::clone(&shared);
        let taking = AnnouncementAcceptor { listener, far, shared: of_thread, prepare, reporter };
        let accept = move || taking.run();
        let accepting = thread::Builder::new().name("announcements".to_owned()).spawn(accept);
        let path = path.to_owned();
        Ok(AnnouncementServer { accepting: accepting.map_err(failed)?, path, shared })
    }

    /// Stops accepting announcements, and waits for a moment for the ones in progress. The kernel
    /// releases the others at the end of this process, and they run their programs.
    pub fn close(self) {
        self.shared.closed.store(true, SeqCst);
        // A thread that panicked has reported that itself.
        let _ = self.accepting.join();
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(far::path(&self.path));
        let until = Instant::now() + MAX_CLOSE_TIME;
        while self.shared.running.load(SeqCst) > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// State of the thread that accepts connections.
struct AnnouncementAcceptor {
    /// Socket to which processes connect.
    listener: UnixListener,
    /// Datagram socket for connections from processes that cannot reach `listener` by path.
    far: UnixDatagram,
    shared: Arc<ServerState>,
    prepare: Arc<dyn Prepare>,
    reporter: ExecReporter,
}

impl AnnouncementAcceptor {
    /// Accepts connections until the server is closed.
    fn run(&self) {
        while !self.shared.closed.load(SeqCst) {
            let mut ready =
                [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.far, PollFlags::IN)];
            // An error here occurs below, too.
            let _ = poll(&mut ready, Some(&CLOSE_CHECK_INTERVAL));
            let connected = self.listener.accept().map(|(connection, _)| connection);
            for taken in [connected, far::receive(&self.far)] {
                match taken {
                    Ok(connection) => self.begin(connection),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) if error.kind() == ErrorKind::InvalidData => {
                        self.report_failure("it is not a connection of its sender".to_owned());
                    }
                    // No file descriptors: senders wait for a bounded time.
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            }
        }
    }

    /// Starts processing an announcement.
    fn begin(&self, connection: UnixStream) {
        let Some(running) = ActiveAnnouncement::try_begin(&self.shared) else {
            send_answer(&connection, false);
            return self.report_failure(format!("{MAX_CONCURRENT} others are in progress"));
        };
        let (prepare, of_thread) = (Arc::clone(&self.prepare), Arc::clone(&self.reporter));
        let work = move || {
            let report = serve_announcement(&connection, &*prepare);
            drop(connection);
            of_thread(report);
            drop(running);
        };
        if let Err(error) = thread::Builder::new().name("announced".to_owned()).spawn(work) {
            self.report_failure(format!("there is no thread for it: {error}"));
        }
    }

    /// Reports why an announcement of an unknown program failed.
    fn report_failure(&self, why: String) {
        let result = Err(Error::Announcement(why));
        (self.reporter)(ExecReport { process: 0, program: PathBuf::new(), result });
    }
}

/// Processes one announcement.
fn serve_announcement(connection: &UnixStream, prepare: &dyn Prepare) -> ExecReport {
    let mut report = ExecReport {
        process: 0,
        program: PathBuf::new(),
        result: Err(Error::Announcement(String::new())),
    };
    let announced = receive_announcement(connection, &mut report);
    report.result = match announced {
        Ok((who, tid)) => {
            let name = rights::plain_name(report.process, report.program.clone());
            let program = std::mem::replace(&mut report.program, name);
            let exec = PendingExec { process: report.process, tid, who, program: &program };
            trace::trace_exec(&exec, connection, prepare, |traced| send_answer(connection, traced))
        }
        Err(error) => {
            send_answer(connection, false);
            Err(error)
        }
    };
    report
}

/// Reads an announcement into a report; returns its thread, and which thread executes the program.
fn receive_announcement(
    connection: &UnixStream,
    report: &mut ExecReport,
) -> Result<(ExecutingThread, i32), Error> {
    let refused = |why: &str| Error::Announcement(why.to_owned());
    let kernel = |error: std::io::Error| Error::Announcement(error.to_string());
    connection.set_nonblocking(false).map_err(kernel)?;
    let process = peer::peer_process(connection);
    report.process = *process.as_ref().unwrap_or(&0);
    connection.set_read_timeout(Some(MAX_MESSAGE_TIME)).map_err(kernel)?;
    connection.set_write_timeout(Some(MAX_MESSAGE_TIME)).map_err(kernel)?;
    let message = message::read_announcement(connection).map_err(kernel)?;
    // The program is named even if its process may not announce it.
    report.program = message.program;
    process?;
    let thread = peer::find_thread(report.process, message.tid);
    let thread = thread.ok_or_else(|| refused("its process has no such thread"))?;
    Ok((message.who, thread))
}

/// Answers whether a thread is traced.
pub(crate) fn send_answer(mut connection: &UnixStream, traced: bool) {
    // A process that no longer waits needs no answer.
    let _ = connection.write_all(&[if traced { TRACED } else { NOT_TRACED }]);
}
