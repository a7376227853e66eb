//! System calls and function calls in a process, made from a code cave by a thread that has just
//! executed its program, or that was interrupted. Between them the thread stands at the end of a
//! system call, so no signal is used, and nothing is lost when the tracer ends.

use std::time::Instant;

use crate::code_cave::CodeCave;
use crate::memory::ProcessMemory;
use crate::outcome::Error;
use crate::ptrace::{self, Registers, ResumeMode, SyscallPosition};
use crate::traced_thread::{StopKind, TracedThread};
use crate::tuning::UNTIL_INTERRUPTED;

/// Bytes below the stack pointer that are left unchanged before a function is called.
const RED_ZONE: u64 = 256;
/// Selector of 64-bit code (`__USER_CS`).
const CODE_64: u64 = 0x33;

/// Thread of another process that makes system calls and calls functions for us, with a code cave
/// in its process.
#[derive(Debug)]
pub(crate) struct RemoteWorker<'a> {
    seized: &'a mut TracedThread,
    /// General registers of the program, which the thread gets back at the end.
    registers: Registers,
    /// Vector registers of the program, as by [`ptrace::get_vectors`].
    vectors: Vec<u8>,
    /// Signals that the program blocks.
    mask: u64,
    cave: CodeCave,
    /// Deadline of the current steps.
    until: Instant,
    /// Signal that stopped the process meanwhile (SIGSTOP cannot be blocked), or 0.
    stopped_by: i32,
}

/// State of a thread before it becomes a [`RemoteWorker`].
#[derive(Debug)]
pub(crate) struct SavedThreadState {
    /// Registers of the thread.
    pub registers: Registers,
    /// Signals that the thread blocks.
    pub mask: u64,
}

impl SavedThreadState {
    /// Leads a thread from its exec event to the end of the exec's system call, where the kernel
    /// has set all registers. Signals are delivered only later.
    pub(crate) fn after_exec(
        seized: &mut TracedThread,
        until: Instant,
    ) -> Result<SavedThreadState, Error> {
        const STEP: &str = "the end of its exec";
        seized.resume(ResumeMode::ToCall, 0, STEP)?;
        match seized.wait_stop(until, STEP)? {
            StopKind::Call => {}
            stop => return Err(unexpected_stop(seized, stop, STEP)),
        }
        let mask = ptrace::blocked_signals(seized.thread_id()).map_err(seized.step_error(STEP))?;
        Ok(SavedThreadState { registers: seized.registers(STEP)?, mask })
    }

    /// State of a thread that was interrupted and stands still.
    pub(crate) fn of_interrupted(seized: &TracedThread) -> Result<SavedThreadState, Error> {
        const STEP: &str = "reading a thread's state";
        let mask = ptrace::blocked_signals(seized.thread_id()).map_err(seized.step_error(STEP))?;
        Ok(SavedThreadState { registers: seized.registers(STEP)?, mask })
    }

    /// Whether the code that runs next is 64-bit code.
    pub(crate) fn is_64(&self) -> bool {
        self.registers.cs == CODE_64
    }
}

impl<'a> RemoteWorker<'a> {
    /// Begins to work in a process from a code cave. From here on the thread blocks all signals.
    pub(crate) fn begin(
        seized: &'a mut TracedThread,
        beginning: &SavedThreadState,
        cave: CodeCave,
        until: Instant,
    ) -> Result<RemoteWorker<'a>, Error> {
        const STEP: &str = "beginning to work in it";
        let vectors = ptrace::get_vectors(seized.thread_id()).map_err(seized.step_error(STEP))?;
        let (registers, mask) = (beginning.registers, beginning.mask);
        let remote = RemoteWorker { seized, registers, vectors, mask, cave, until, stopped_by: 0 };
        remote.prepare_to_resume(STEP)?;
        ptrace::set_blocked_signals(remote.seized.thread_id(), u64::MAX)
            .map_err(remote.seized.step_error(STEP))?;
        Ok(remote)
    }

    /// Process id.
    pub(crate) fn process_id(&self) -> u32 {
        self.seized.process_id()
    }

    /// Stack pointer of the program.
    pub(crate) fn program_stack(&self) -> u64 {
        self.registers.rsp
    }

    /// Makes a system call in the process.
    pub(crate) fn system_call(
        &mut self,
        number: libc::c_long,
        arguments: [u64; 6],
        step: &'static str,
    ) -> Result<u64, Error> {
        let [rdi, rsi, rdx, r10, r8, r9] = arguments;
        let rip = self.cave.call_address();
        let registers = Registers {
            rip,
            rax: number as u64,
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            ..self.fresh_registers()
        };
        self.seized.set_registers(&registers, step)?;
        self.make_call(step)?;
        let result = self.seized.registers(step)?.rax as i64;
        match i32::try_from(result) {
            Ok(error @ -4095..=-1) => {
                let source = std::io::Error::from_raw_os_error(-error);
                Err(Error::Kernel { process: self.process_id(), step, source })
            }
            _ => Ok(result as u64),
        }
    }

    /// End of the part of the program's stack that a function may use.
    pub(crate) fn free_stack(&self) -> u64 {
        self.registers.rsp.saturating_sub(RED_ZONE)
    }

    /// Calls a function with one argument, on a stack that ends at an address.
    pub(crate) fn call_function(
        &mut self,
        memory: &ProcessMemory,
        function: u64,
        argument: u64,
        stack: u64,
        step: &'static str,
    ) -> Result<i32, Error> {
        // As after a call: 8 bytes below a multiple of 16.
        let stack = (stack & !15).saturating_sub(8);
        memory.write(stack, &self.cave.return_target().to_le_bytes())?;
        let registers =
            Registers { rip: function, rdi: argument, rsp: stack, ..self.fresh_registers() };
        self.seized.set_registers(&registers, step)?;
        loop {
            self.seized.resume(ResumeMode::ToCall, 0, step)?;
            self.wait_for_call(step)?;
            let place = ptrace::syscall_position(self.seized.thread_id())
                .map_err(self.seized.step_error(step))?;
            if place == SyscallPosition::Beginning(self.cave.returned_address()) {
                break;
            }
        }
        // An `int`: the upper half of the register is undefined.
        let result = self.seized.registers(step)?.rdi as i32;
        self.seized.resume(ResumeMode::ToCall, 0, step)?;
        self.wait_for_call(step)?;
        Ok(result)
    }

    /// Sets the deadline of the following steps.
    pub(crate) fn set_deadline(&mut self, until: Instant) {
        self.until = until;
    }

    /// Stops the thread after a function that did not return.
    pub(crate) fn halt_worker(&mut self) -> Result<(), Error> {
        self.seized.halt_thread(UNTIL_INTERRUPTED, "stopping it")
    }

    /// Sets the GS base of the thread, which keeps it even if the tracer ends early.
    pub(crate) fn set_gs_base(&mut self, address: u64) -> Result<(), Error> {
        const STEP: &str = "setting its GS base";
        self.registers.gs_base = address;
        self.prepare_to_resume(STEP)
    }

    /// Current GS base.
    pub(crate) fn gs_base(&self) -> u64 {
        self.registers.gs_base
    }

    /// Moves the process to the instructions by which it begins its program by itself.
    fn prepare_to_resume(&self, step: &'static str) -> Result<(), Error> {
        let rip = self.cave.finish_address();
        self.seized.set_registers(&Registers { rip, ..self.fresh_registers() }, step)
    }

    /// Registers with which a call in the process begins. Marking it as not in a system call keeps
    /// the kernel from restarting one.
    fn fresh_registers(&self) -> Registers {
        Registers { orig_rax: u64::MAX, ..self.registers }
    }

    /// Lets the process make the system call that it stands before.
    fn make_call(&mut self, step: &'static str) -> Result<(), Error> {
        for _ in ["beginning", "end"] {
            self.seized.resume(ResumeMode::ToCall, 0, step)?;
            self.wait_for_call(step)?;
        }
        Ok(())
    }

    /// Waits until the process stands at the beginning or the end of a system call.
    fn wait_for_call(&mut self, step: &'static str) -> Result<(), Error> {
        loop {
            match self.seized.wait_stop(self.until, step)? {
                StopKind::Call => return Ok(()),
                // The only signal that cannot be blocked and does not end the process: the process
                // gets it when it is released.
                StopKind::Signal(libc::SIGSTOP) => {
                    self.stopped_by = libc::SIGSTOP;
                    self.seized.resume(ResumeMode::ToCall, 0, step)?;
                }
                // The process is stopped by SIGSTOP, and stays so when it is released; or was a
                // moment ago.
                StopKind::Group | StopKind::Interrupted => {
                    self.seized.resume(ResumeMode::ToCall, 0, step)?
                }
                stop => return Err(unexpected_stop(self.seized, stop, step)),
            }
        }
    }

    /// Restores the process to its first instruction, from wherever it is. Returns the signal that
    /// stopped it meanwhile, or 0.
    pub(crate) fn finish_exec(mut self, memory: &ProcessMemory) -> Result<i32, Error> {
        const STEP: &str = "restoring its registers";
        self.seized.halt_thread(UNTIL_INTERRUPTED, STEP)?;
        // The process begins its program by itself until it has its own registers again; only then
        // does nothing refer to the code cave any more.
        self.prepare_to_resume(STEP)?;
        let tid = self.seized.thread_id();
        ptrace::set_vectors(tid, &mut self.vectors).map_err(self.seized.step_error(STEP))?;
        ptrace::set_blocked_signals(tid, self.mask).map_err(self.seized.step_error(STEP))?;
        self.seized.set_registers(&self.fresh_registers(), STEP)?;
        self.cave.restore_bytes(memory)?;
        Ok(self.stopped_by)
    }

    /// Restores an interrupted thread to where it was, so that the kernel continues or restarts its
    /// system call as if nothing had happened.
    pub(crate) fn finish_interrupted(mut self, memory: &ProcessMemory) -> Result<i32, Error> {
        const STEP: &str = "restoring its registers";
        self.seized.halt_thread(UNTIL_INTERRUPTED, STEP)?;
        self.prepare_to_resume(STEP)?;
        let tid = self.seized.thread_id();
        if self.seized.halt_again(Instant::now() + UNTIL_INTERRUPTED, STEP)? {
            self.stopped_by = libc::SIGSTOP;
        }
        ptrace::set_vectors(tid, &mut self.vectors).map_err(self.seized.step_error(STEP))?;
        ptrace::set_blocked_signals(tid, self.mask).map_err(self.seized.step_error(STEP))?;
        self.seized.set_registers(&self.registers, STEP)?;
        self.cave.restore_bytes(memory)?;
        Ok(self.stopped_by)
    }
}

/// Error for an unexpected stop.
pub(crate) fn unexpected_stop(seized: &TracedThread, stop: StopKind, step: &'static str) -> Error {
    let stop = match stop {
        StopKind::Signal(signal) => format!("signal {signal}"),
        stop => format!("{stop:?}"),
    };
    Error::Unexpected { process: seized.process_id(), stop, step }
}
