//! Traced thread: resuming it and waiting for it, each within a time limit.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::outcome::Error;
use crate::ptrace::{self, Registers, ResumeMode, Tid, WaitReport};
use crate::tuning::{CHECK_PAUSE, YIELDS};

/// Kind of a thread's stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopKind {
    /// The thread has executed another program.
    Exec,
    /// The thread has made a child by `vfork`.
    Child,
    /// The thread is at the beginning or the end of a system call.
    Call,
    /// A signal is to be delivered.
    Signal(i32),
    /// The whole process is stopped by a signal (such as SIGSTOP).
    Group,
    /// The tracer interrupted the thread, or its process continues after a stop.
    Interrupted,
    /// Another event.
    Other(i32),
}

/// Thread that the calling thread traces.
#[derive(Debug)]
pub(crate) struct TracedThread {
    /// Thread id, which an exec changes to the process id.
    tid: Tid,
    process: u32,
    /// Descriptor that signals the end of the process.
    end: Arc<OwnedFd>,
    /// Whether the thread stands still at a stop that was reported.
    stopped: bool,
    /// Whether reports of other threads are left for later: the thread's child may report before
    /// the thread does.
    alone: bool,
}

/// Descriptor that signals the end of a process.
pub(crate) fn open_pidfd(process: u32) -> io::Result<Arc<OwnedFd>> {
    let pid = Pid::from_raw(process.cast_signed()).ok_or(io::ErrorKind::NotFound)?;
    Ok(Arc::new(pidfd_open(pid, PidfdFlags::empty())?))
}

impl TracedThread {
    /// Begins to trace a thread of a process.
    pub(crate) fn seize(process: u32, tid: Tid) -> Result<TracedThread, Error> {
        TracedThread::seize_by(ptrace::seize_thread, process, tid, false)
    }

    /// Begins to trace a thread, in order to trace its next child by `vfork` in its place.
    pub(crate) fn seize_spawning(process: u32, tid: Tid) -> Result<TracedThread, Error> {
        TracedThread::seize_by(ptrace::seize_spawning, process, tid, true)
    }

    /// Begins to trace a thread by `seize`. With `alone`, reports of other threads are left for
    /// later.
    fn seize_by(
        seize: impl FnOnce(Tid) -> io::Result<()>,
        process: u32,
        tid: Tid,
        alone: bool,
    ) -> Result<TracedThread, Error> {
        let seized = open_pidfd(process).and_then(|end| seize(tid).map(|()| end));
        match seized {
            Ok(end) => Ok(TracedThread { tid, process, end, stopped: false, alone }),
            Err(source) => Err(Error::Seize { process, tracer: tracer_of_thread(tid), source }),
        }
    }

    /// Begins to trace one of several threads of a process, and makes it stop soon.
    pub(crate) fn seize_running(
        process: u32,
        tid: Tid,
        end: &Arc<OwnedFd>,
    ) -> Result<TracedThread, Error> {
        let end = Arc::clone(end);
        match ptrace::seize_thread(tid).and_then(|()| ptrace::interrupt_thread(tid)) {
            Ok(()) => Ok(TracedThread { tid, process, end, stopped: false, alone: true }),
            Err(source) => Err(Error::Seize { process, tracer: tracer_of_thread(tid), source }),
        }
    }

    /// Child of this thread, which stands at its vfork event. The thread continues untraced.
    pub(crate) fn into_child(self) -> Result<TracedThread, Error> {
        const STEP: &str = "following its child";
        let child = ptrace::vfork_child(self.tid);
        let detached = ptrace::detach_thread(self.tid, 0);
        let child = child.map_err(self.step_error(STEP))?;
        match detached {
            // The thread was killed meanwhile, which does not affect its child.
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => {
                return Err(self.step_error(STEP)(error));
            }
            _ => {}
        }
        let process = child.cast_unsigned();
        let end = open_pidfd(process).map_err(self.step_error(STEP))?;
        Ok(TracedThread { tid: child, process, end, stopped: false, alone: false })
    }

    /// Process id.
    pub(crate) fn process_id(&self) -> u32 {
        self.process
    }

    /// Thread id.
    pub(crate) fn thread_id(&self) -> Tid {
        self.tid
    }

    /// Adds the process and the step to an error of the kernel. If the process does not exist any
    /// more, the error is [`Error::Gone`].
    pub(crate) fn step_error(&self, step: &'static str) -> impl FnOnce(io::Error) -> Error + use<> {
        let process = self.process;
        move |source| match source.raw_os_error() {
            Some(libc::ESRCH) => Error::Gone { process, step },
            _ => Error::Kernel { process, step, source },
        }
    }

    /// Resumes the thread.
    pub(crate) fn resume(
        &mut self,
        how: ResumeMode,
        signal: i32,
        step: &'static str,
    ) -> Result<(), Error> {
        self.stopped = false;
        ptrace::resume_thread(self.tid, how, signal).map_err(self.step_error(step))
    }

    /// Resumes the thread from a stop that does not concern us, as if it were not traced.
    pub(crate) fn pass_stop(&mut self, stop: StopKind, step: &'static str) -> Result<(), Error> {
        match stop {
            StopKind::Signal(signal) => self.resume(ResumeMode::On, signal, step),
            StopKind::Group => self.resume(ResumeMode::Listen, 0, step),
            _ => self.resume(ResumeMode::On, 0, step),
        }
    }

    /// Waits for the thread's next stop. With `also`, the wait ends early (`None`) when the
    /// descriptor `also` has bytes or its other end is closed.
    pub(crate) fn wait_for_stop(
        &mut self,
        also: Option<BorrowedFd>,
        until: Instant,
        step: &'static str,
    ) -> Result<Option<StopKind>, Error> {
        let process = self.process;
        for look in 0u32.. {
            // The end of a process is left for its parent. The end of a thread has no other
            // recipient, and the exec of another thread waits for it.
            match ptrace::next_report(self.tid != process as Tid, self.alone.then_some(self.tid)) {
                Ok(Some(WaitReport::Stopped { tid, status })) => {
                    return Ok(Some(self.classify_stop(tid, status)));
                }
                Ok(Some(WaitReport::Ended)) => return Err(Error::Gone { process, step }),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(Error::Gone { process, step });
                }
                Err(error) => return Err(self.step_error(step)(error)),
            }
            if look < YIELDS {
                std::thread::yield_now();
                continue;
            }
            if Instant::now() >= until {
                return Err(Error::Timeout { process, step });
            }
            let mut ready = vec![PollFd::new(&*self.end, PollFlags::IN)];
            ready.extend(also.as_ref().map(|also| PollFd::new(also, PollFlags::IN)));
            if poll(&mut ready, Some(&CHECK_PAUSE)).is_err() {
                continue;
            }
            if !ready[0].revents().is_empty() {
                return Err(Error::Gone { process, step });
            }
            if ready.get(1).is_some_and(|also| !also.revents().is_empty()) {
                return Ok(None);
            }
        }
        Err(Error::Timeout { process, step })
    }

    /// Stop at which the thread stands by now, if there is one.
    pub(crate) fn take_stop(&mut self, step: &'static str) -> Result<Option<StopKind>, Error> {
        match ptrace::next_report(self.tid != self.process as Tid, self.alone.then_some(self.tid)) {
            Ok(Some(WaitReport::Stopped { tid, status })) => {
                Ok(Some(self.classify_stop(tid, status)))
            }
            Ok(Some(WaitReport::Ended)) => Err(Error::Gone { process: self.process, step }),
            Ok(None) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Error::Gone { process: self.process, step })
            }
            Err(error) => Err(self.step_error(step)(error)),
        }
    }

    /// Waits for the thread's next stop.
    pub(crate) fn wait_stop(
        &mut self,
        until: Instant,
        step: &'static str,
    ) -> Result<StopKind, Error> {
        match self.wait_for_stop(None, until, step)? {
            Some(stop) => Ok(stop),
            None => Err(Error::Timeout { process: self.process, step }),
        }
    }

    /// Records a stop and classifies it.
    fn classify_stop(&mut self, tid: Tid, status: i32) -> StopKind {
        self.stopped = true;
        self.tid = tid;
        let (signal, event) = (status & 0xff, status >> 8);
        const CALL: i32 = libc::SIGTRAP | 0x80;
        const EVENT_STOP: i32 = 128;
        match (event, signal) {
            (0, CALL) => StopKind::Call,
            (0, signal) => StopKind::Signal(signal),
            (libc::PTRACE_EVENT_EXEC, _) => StopKind::Exec,
            (libc::PTRACE_EVENT_VFORK, _) => StopKind::Child,
            (EVENT_STOP, libc::SIGTRAP) => StopKind::Interrupted,
            (EVENT_STOP, _) => StopKind::Group,
            (event, _) => StopKind::Other(event),
        }
    }

    /// Stops the thread, whether it runs or waits in the kernel, within a time limit.
    pub(crate) fn halt_thread(
        &mut self,
        within: Duration,
        step: &'static str,
    ) -> Result<(), Error> {
        if self.stopped {
            return Ok(());
        }
        ptrace::interrupt_thread(self.tid).map_err(self.step_error(step))?;
        self.wait_stop(Instant::now() + within, step).map(|_| ())
    }

    /// Lets a stopped thread run to its next stop in the kernel, at the point where signals are
    /// checked: only from there can its system call be restarted. The thread executes no
    /// instruction. Returns whether SIGSTOP arrived meanwhile.
    pub(crate) fn halt_again(&mut self, until: Instant, step: &'static str) -> Result<bool, Error> {
        ptrace::interrupt_thread(self.tid).map_err(self.step_error(step))?;
        self.resume(ResumeMode::On, 0, step)?;
        let mut stopped = false;
        loop {
            match self.wait_stop(until, step)? {
                StopKind::Interrupted | StopKind::Group => return Ok(stopped),
                StopKind::Signal(libc::SIGSTOP) => stopped = true,
                _ => {}
            }
            self.resume(ResumeMode::On, 0, step)?;
        }
    }

    /// Registers of the stopped thread.
    pub(crate) fn registers(&self, step: &'static str) -> Result<Registers, Error> {
        ptrace::get_registers(self.tid).map_err(self.step_error(step))
    }

    /// Replaces an error about a thread that should stand still by [`Error::Gone`], if the thread
    /// has ended. Data that is read from a process that is being killed is meaningless.
    pub(crate) fn or_ended(&self, error: Error) -> Error {
        match self.registers("injecting") {
            Err(gone @ Error::Gone { .. }) if self.stopped => gone,
            _ => error,
        }
    }

    /// Sets the registers of the stopped thread.
    pub(crate) fn set_registers(&self, to: &Registers, step: &'static str) -> Result<(), Error> {
        ptrace::set_registers(self.tid, to).map_err(self.step_error(step))
    }

    /// Ends the trace of a thread, which runs on. A thread that does not stop is released by the
    /// kernel when the tracing thread ends.
    pub(crate) fn release(self, within: Duration) -> Result<(), Error> {
        self.release_with(within, 0)
    }

    /// Ends the trace as [`release`](Self::release) does, with a signal for the thread unless it is
    /// 0.
    pub(crate) fn release_with(mut self, within: Duration, mut signal: i32) -> Result<(), Error> {
        const STEP: &str = "releasing it";
        if !self.stopped {
            ptrace::interrupt_thread(self.tid).map_err(self.step_error(STEP))?;
            if let StopKind::Signal(pending) = self.wait_stop(Instant::now() + within, STEP)? {
                signal = pending;
            }
        }
        ptrace::detach_thread(self.tid, signal).map_err(self.step_error(STEP))
    }
}

/// Id of the process that traces another process or one of its threads; 0 if there is none.
pub(crate) fn tracer_of_process(process: u32) -> u32 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let tids = threads.filter_map(|thread| thread.ok()?.file_name().to_str()?.parse().ok());
    tids.map(tracer_of_thread).find(|tracer| *tracer != 0).unwrap_or(0)
}

/// Id of the process that traces a thread; 0 if there is none.
fn tracer_of_thread(tid: Tid) -> u32 {
    let number = |tid: u32, name: &str| {
        let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().parse::<u32>().ok()
    };
    let tracer = number(tid.cast_unsigned(), "TracerPid").unwrap_or(0);
    // The kernel names the tracing thread; users know its process.
    number(tracer, "Tgid").unwrap_or(tracer)
}
