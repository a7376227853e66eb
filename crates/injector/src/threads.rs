//! All threads of a running process: stopped wherever they are, and released.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::outcome::{Error, SkipReason};
use crate::ptrace::{self, Registers, ResumeMode, Tid};
use crate::traced_thread::{self, StopKind, TracedThread};

/// Threads of a process; all of them stand still.
#[derive(Debug)]
pub(crate) struct StoppedThreads {
    process: u32,
    /// Descriptor that signals the end of the process.
    end: Arc<OwnedFd>,
    /// Whether the threads may stand still for another reason, too: a stop of their process.
    may_be_stopped: bool,
    /// The threads.
    pub all: Vec<StoppedThread>,
}

/// Thread that stands still.
#[derive(Debug)]
pub(crate) struct StoppedThread {
    /// Trace of the thread.
    pub seized: TracedThread,
    /// Registers of the thread.
    pub registers: Registers,
    /// Signal that the thread gets when it is released, or 0.
    pub signal: i32,
}

/// Step that is named in errors.
const STEP: &str = "stopping its threads";

impl StoppedThreads {
    /// Stops all threads of a process. After an error, the stopped threads continue when the
    /// calling thread ends, not before.
    pub(crate) fn stop_all(process: u32, until: Instant) -> Result<StoppedThreads, Error> {
        StoppedThreads::stop_with(process, false, until)
    }

    /// Stops all threads of a process that may be stopped already, as by SIGSTOP. The process is
    /// stopped again when its threads are released; threads that are resumed briefly do run in
    /// between.
    pub(crate) fn stop_even_stopped(process: u32, until: Instant) -> Result<StoppedThreads, Error> {
        StoppedThreads::stop_with(process, true, until)
    }

    fn stop_with(
        process: u32,
        may_be_stopped: bool,
        until: Instant,
    ) -> Result<StoppedThreads, Error> {
        let end = traced_thread::open_pidfd(process).map_err(|_| Error::NoProcess { process })?;
        let mut threads = StoppedThreads { process, end, may_be_stopped, all: Vec::new() };
        threads.stop_others(until)?;
        Ok(threads)
    }

    /// Process id.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// Stops the threads that are not stopped yet.
    fn stop_others(&mut self, until: Instant) -> Result<(), Error> {
        let process = self.process;
        let mut known: BTreeSet<Tid> =
            self.all.iter().map(|thread| thread.seized.thread_id()).collect();
        // A thread that is not stopped yet may start others.
        loop {
            let mut fresh = Vec::new();
            for tid in list_threads(process) {
                if known.contains(&tid) || has_ended(process, tid) {
                    continue;
                }
                match TracedThread::seize_running(process, tid, &self.end) {
                    Ok(seized) => fresh.push(seized),
                    Err(_) if has_ended(process, tid) => continue,
                    Err(error) => return Err(error),
                }
                known.insert(tid);
            }
            if fresh.is_empty() {
                break;
            }
            for seized in fresh {
                self.all.extend(wait_stopped(seized, self.may_be_stopped, until)?);
            }
        }
        if self.all.is_empty() { Err(Error::Gone { process, step: STEP }) } else { Ok(()) }
    }

    /// Lets some threads run for a moment, then stops them and the threads that they have started.
    /// The threads execute only the program's own code, so nothing is left in them if the tracer
    /// ends.
    pub(crate) fn resume_briefly(
        &mut self,
        chosen: impl Fn(&StoppedThread) -> bool,
        moment: Duration,
        until: Instant,
    ) -> Result<(), Error> {
        let (mut gone_on, others): (Vec<StoppedThread>, _) =
            std::mem::take(&mut self.all).into_iter().partition(chosen);
        self.all = others;
        for StoppedThread { seized, signal, .. } in &mut gone_on {
            match seized.resume(ResumeMode::On, *signal, STEP) {
                Ok(()) | Err(Error::Gone { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        thread::sleep(moment);
        let mut again = false;
        for StoppedThread { seized, .. } in &mut gone_on {
            // A thread of a stopped process got two requests to stop: by the stop of its process,
            // and by us. It has not run yet.
            match seized.take_stop(STEP) {
                Ok(None) | Err(Error::Gone { .. }) => continue,
                Ok(Some(StopKind::Signal(signal))) => {
                    seized.resume(ResumeMode::On, signal, STEP)?
                }
                Ok(Some(_)) => seized.resume(ResumeMode::On, 0, STEP)?,
                Err(error) => return Err(error),
            }
            again = true;
        }
        if again {
            thread::sleep(moment);
        }
        for StoppedThread { seized, .. } in &gone_on {
            // A thread that has ended is found below.
            let _ = ptrace::interrupt_thread(seized.thread_id());
        }
        for StoppedThread { seized, .. } in gone_on {
            self.all.extend(wait_stopped(seized, self.may_be_stopped, until)?);
        }
        self.stop_others(until)
    }

    /// Releases all threads.
    pub(crate) fn release_all(self) {
        for StoppedThread { seized, signal, .. } in self.all {
            // A thread that has ended meanwhile needs nothing.
            let _ = ptrace::detach_thread(seized.thread_id(), signal);
        }
    }
}

impl StoppedThread {
    /// Sets the thread's registers.
    pub(crate) fn set_registers(&mut self, registers: Registers) -> Result<(), Error> {
        self.seized.set_registers(&registers, "setting its registers")?;
        self.registers = registers;
        Ok(())
    }

    /// Sets the thread's GS base.
    pub(crate) fn set_gs_base(&mut self, address: u64) -> Result<(), Error> {
        let failed = self.seized.step_error("setting its GS base");
        ptrace::set_gs_base(self.seized.thread_id(), address).map_err(failed)?;
        self.registers.gs_base = address;
        Ok(())
    }
}

/// Waits until an interrupted thread stands still. `None` if it has ended.
fn wait_stopped(
    mut seized: TracedThread,
    may_be_stopped: bool,
    until: Instant,
) -> Result<Option<StoppedThread>, Error> {
    loop {
        let stop = match seized.wait_stop(until, STEP) {
            Ok(stop) => stop,
            Err(Error::Gone { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        match stop {
            StopKind::Interrupted | StopKind::Group
                if may_be_stopped || stop == StopKind::Interrupted =>
            {
                let registers = seized.registers(STEP)?;
                return Ok(Some(StoppedThread { seized, registers, signal: 0 }));
            }
            StopKind::Group => {
                return Err(Error::skipped(seized.process_id(), SkipReason::Stopped));
            }
            stop => match seized.pass_stop(stop, STEP) {
                Ok(()) | Err(Error::Gone { .. }) => {}
                Err(error) => return Err(error),
            },
        }
    }
}

/// Runs `work` in a new thread. When that thread ends, the kernel releases all threads that it has
/// stopped, whatever happens.
pub(crate) fn run_in_thread<T: Send>(
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, work).map_err(Error::Thread)?;
        match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Current threads of a process.
fn list_threads(process: u32) -> Vec<Tid> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Whether a thread has ended, though the kernel may still list it.
fn has_ended(process: u32, tid: Tid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/task/{tid}/stat"));
    let Ok(stat) = stat else { return true };
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}
