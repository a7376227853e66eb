//! All threads of a process that runs: they are stopped wherever they are, and let go.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::outcome::{Error, Left};
use crate::ptrace::{self, Go, Registers, Tid};
use crate::seized::{self, Seized, Stop};

/// Threads of a process; all of them stand still.
#[derive(Debug)]
pub(crate) struct Threads {
    /// Each of them.
    pub all: Vec<Thread>,
}

/// Thread that stands still.
#[derive(Debug)]
pub(crate) struct Thread {
    /// The trace of it.
    pub seized: Seized,
    /// Its registers.
    pub registers: Registers,
    /// Signal that it gets when it is let go, or 0.
    pub signal: i32,
}

impl Threads {
    /// Stops all threads of a process. On an error, those that were stopped go on when the calling
    /// thread ends, not before.
    pub(crate) fn stop(process: u32, until: Instant) -> Result<Threads, Error> {
        const STEP: &str = "stopping its threads";
        let end = seized::end_of(process).map_err(|_| Error::NoProcess { process })?;
        let (mut all, mut known) = (Vec::new(), BTreeSet::new());
        // A thread that is not stopped yet may begin others.
        loop {
            let mut fresh = Vec::new();
            for tid in tids(process) {
                if known.contains(&tid) || has_ended(process, tid) {
                    continue;
                }
                match Seized::join(process, tid, &end) {
                    Ok(seized) => fresh.push(seized),
                    Err(_) if has_ended(process, tid) => continue,
                    Err(error) => return Err(error),
                }
                known.insert(tid);
            }
            if fresh.is_empty() {
                break;
            }
            for mut seized in fresh {
                match stand(&mut seized, until, STEP) {
                    Ok(()) => {
                        let registers = seized.registers(STEP)?;
                        all.push(Thread { seized, registers, signal: 0 });
                    }
                    Err(Error::Gone { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if all.is_empty() { Err(Error::Gone { process, step: STEP }) } else { Ok(Threads { all }) }
    }

    /// Lets all threads go on.
    pub(crate) fn release(self) {
        for Thread { seized, signal, .. } in self.all {
            // One that has ended meanwhile needs nothing.
            let _ = ptrace::detach(seized.tid(), signal);
        }
    }
}

impl Thread {
    /// Executes one instruction. Signals wait meanwhile.
    pub(crate) fn step(&mut self, until: Instant) -> Result<(), Error> {
        const STEP: &str = "stepping in it";
        self.seized.go(Go::Step, 0, STEP)?;
        loop {
            match self.seized.wait(until, STEP)? {
                Stop::Signal(libc::SIGTRAP) => break,
                Stop::Signal(libc::SIGSTOP) => self.signal = libc::SIGSTOP,
                Stop::Interrupted => {}
                stop => return Err(crate::remote::unexpected(&self.seized, stop, STEP)),
            }
            self.seized.go(Go::Step, 0, STEP)?;
        }
        self.registers = self.seized.registers(STEP)?;
        Ok(())
    }

    /// Does something while the thread blocks all signals but that of a step.
    pub(crate) fn without_signals<T>(
        &mut self,
        work: impl FnOnce(&mut Thread) -> Result<T, Error>,
    ) -> Result<T, Error> {
        const STEP: &str = "holding signals back";
        // The kernel would take away the handler of a blocked one that it has to send.
        const ALL: u64 = !(1 << (libc::SIGTRAP - 1));
        let tid = self.seized.tid();
        let mask = ptrace::blocked(tid).map_err(self.seized.failed(STEP))?;
        ptrace::block(tid, ALL).map_err(self.seized.failed(STEP))?;
        let result = work(self);
        ptrace::block(tid, mask).map_err(self.seized.failed(STEP))?;
        result
    }

    /// Sets its registers.
    pub(crate) fn set(&mut self, registers: Registers) -> Result<(), Error> {
        self.seized.set_registers(&registers, "setting its registers")?;
        self.registers = registers;
        Ok(())
    }

    /// Sets its GS base.
    pub(crate) fn set_gs_base(&mut self, address: u64) -> Result<(), Error> {
        let failed = self.seized.failed("setting its GS base");
        ptrace::set_gs_base(self.seized.tid(), address).map_err(failed)?;
        self.registers.gs_base = address;
        Ok(())
    }
}

/// Waits until a thread that was interrupted stands still.
fn stand(seized: &mut Seized, until: Instant, step: &'static str) -> Result<(), Error> {
    loop {
        match seized.wait(until, step)? {
            Stop::Interrupted => return Ok(()),
            Stop::Group => return Err(Error::left(seized.process(), Left::Stopped)),
            stop => seized.pass(stop, step)?,
        }
    }
}

/// Threads that a process has now.
fn tids(process: u32) -> Vec<Tid> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Whether a thread has ended, though the kernel may still know it.
fn has_ended(process: u32, tid: Tid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/task/{tid}/stat"));
    let Ok(stat) = stat else { return true };
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}
