//! Evacuation of threads that are inside a blob, or that wait in a system call with a hook, so that
//! the blob can be removed.
//!
//! A thread inside the blob continues for a moment and is stopped again. That changes nothing in
//! the thread, as a single step would, so it is unharmed if its tracer is killed.
//!
//! A thread that waits in a system call has a waiting hook, too, and may have made the call with
//! the hook's arguments. The hook is dropped, and the call restarts with the program's own
//! arguments. The kernel has not begun its work, or it would not restart the call.

use std::collections::BTreeSet;
use std::time::Instant;

use super::installed_blob::InstalledBlob;
use crate::blob::HookOffsets;
use crate::code_cave::interrupted::is_interrupted;
use crate::memory::ProcessMemory;
use crate::outcome::Error;
use crate::ptrace::Registers;
use crate::threads::{StoppedThread, StoppedThreads};
use crate::tuning::{MAX_DROPPED_HOOKS, MOMENT, MOMENTS};

/// Bytes below the stack pointer at which a stub keeps a return address that it has replaced.
const SAVED_RETURN_DEPTH: u64 = 120;

/// A blob in a process that stands still.
pub(super) struct StoppedBlob<'a> {
    pub installed: &'a InstalledBlob,
    pub memory: &'a ProcessMemory,
    /// Offsets by which waiting hooks are found.
    pub waiting: HookOffsets,
}

/// Slot of a thread: the memory in which its hooks work, found by the thread's GS base.
struct RemoteSlot {
    /// Address of the slot.
    at: u64,
    /// Address of the newest waiting frame, or 0.
    newest: u64,
    /// Start and end of the stack that hooks run on.
    stack: (u64, u64),
    /// Start and end of the thread's alternate stack for signals.
    alternate: (u64, u64),
}

impl StoppedBlob<'_> {
    /// Leads all threads out of the blob; threads inside it continue for short moments. Returns
    /// `false` if a thread is still inside. All threads stand still in either case.
    pub(super) fn evacuate_threads(
        &self,
        threads: &mut StoppedThreads,
        until: Instant,
    ) -> Result<bool, Error> {
        for moment in 1..=MOMENTS {
            let mut within = BTreeSet::new();
            for thread in &mut threads.all {
                // If something cannot be read, the thread counts as inside.
                if !self.evacuate_thread(thread).unwrap_or(false) {
                    within.insert(thread.seized.thread_id());
                }
            }
            if within.is_empty() {
                return Ok(true);
            }
            if moment < MOMENTS {
                let is_within =
                    |thread: &StoppedThread| within.contains(&thread.seized.thread_id());
                threads.resume_briefly(is_within, MOMENT * moment, until)?;
            }
        }
        Ok(false)
    }

    /// Drops the hooks that wait for the thread's system call. Returns `false` if the thread is
    /// inside the blob, or will return to it.
    fn evacuate_thread(&self, thread: &mut StoppedThread) -> Result<bool, Error> {
        for _ in 0..MAX_DROPPED_HOOKS {
            let slot = self.slot_of(&thread.registers)?;
            let at = thread.registers.rip;
            let is_interrupted = is_interrupted(&thread.registers);
            let is_at_call = || Ok(self.memory.read(at, 2)? == [0x0f, 0x05]);
            if is_interrupted || is_at_call()? {
                if let Some(slot) = &slot
                    && let Some(frame) = self.own_frame(slot, &thread.registers)?
                {
                    self.drop_hook(thread, slot, frame, is_interrupted)?;
                    continue;
                }
                if self.is_stub(at) {
                    // A call that was moved, and that no hook observes.
                    let back = self.installed.original_address(at, is_interrupted);
                    let rip = back.ok_or_else(|| self.inconsistent_state())?;
                    thread.set_registers(Registers { rip, ..thread.registers })?;
                    continue;
                }
            }
            let rsp = thread.registers.rsp;
            let is_on_stack = slot.as_ref().is_some_and(|slot| range_contains(slot.stack, rsp));
            if self.is_within(at) || is_on_stack {
                return Ok(false);
            }
            let Some(slot) = slot else { return Ok(true) };
            // A hook that waits after its call will continue inside the blob.
            let waits_after_call =
                !is_interrupted && self.own_frame(&slot, &thread.registers)?.is_some();
            return Ok(!waits_after_call && self.is_idle(&slot, &thread.registers)?);
        }
        Ok(false)
    }

    /// Whether an address is in the blob's code or in a stub.
    fn is_within(&self, at: u64) -> bool {
        range_contains(self.installed.code, at) || self.is_stub(at)
    }

    fn is_stub(&self, at: u64) -> bool {
        self.installed.stubs.iter().any(|range| range_contains(*range, at))
    }

    /// Slot of the thread with these registers, if it has one of its own.
    fn slot_of(&self, registers: &Registers) -> Result<Option<RemoteSlot>, Error> {
        let at = registers.gs_base;
        if at == 0 {
            return Ok(None);
        }
        let word = |offset: u64| self.memory.word(at.wrapping_add(offset));
        if word(self.waiting.owner)? != registers.fs_base {
            return Ok(None);
        }
        let (end, length) = (word(self.waiting.stack_end)?, word(self.waiting.stack_length)?);
        let alternate = word(self.waiting.alternate)?;
        let alternate_length = word(self.waiting.alternate_length)?;
        Ok(Some(RemoteSlot {
            at,
            newest: word(self.waiting.newest)?,
            stack: (end.wrapping_sub(length), end),
            alternate: (alternate, alternate.wrapping_add(alternate_length)),
        }))
    }

    /// Frame of the hook that waits for the system call at or before the thread's position; `None`
    /// if no hook waits for it.
    fn own_frame(&self, slot: &RemoteSlot, registers: &Registers) -> Result<Option<u64>, Error> {
        let kept = [
            registers.r15,
            registers.r14,
            registers.r13,
            registers.r12,
            registers.rbp,
            registers.rbx,
        ];
        for frame in self.waiting_frames(slot)? {
            if self.memory.word(frame.wrapping_add(self.waiting.stack))? == registers.rsp
                && self.read_words(frame.wrapping_add(self.waiting.registers))? == kept
            {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// Addresses of the waiting frames of a slot, the newest first.
    fn waiting_frames(&self, slot: &RemoteSlot) -> Result<Vec<u64>, Error> {
        let (mut frames, mut frame) = (Vec::new(), slot.newest);
        while range_contains(slot.stack, frame) && !frames.contains(&frame) {
            frames.push(frame);
            frame = self.memory.word(frame.wrapping_add(self.waiting.before))?;
        }
        Ok(frames)
    }

    /// Reads six numbers of 8 bytes each at an address.
    fn read_words(&self, at: u64) -> Result<[u64; 6], Error> {
        let mut words = [0; 6];
        for (place, word) in (0..).zip(&mut words) {
            *word = self.memory.word(at.wrapping_add(place * 8))?;
        }
        Ok(words)
    }

    /// Drops the waiting hook and restores the program's own arguments.
    fn drop_hook(
        &self,
        thread: &mut StoppedThread,
        slot: &RemoteSlot,
        frame: u64,
        is_interrupted: bool,
    ) -> Result<(), Error> {
        let [r9, r8, r10, rdx, rsi, rdi] =
            self.read_words(frame.wrapping_add(self.waiting.arguments))?;
        let number = self.memory.word(frame.wrapping_add(self.waiting.number))?;
        let registers = Registers { r9, r8, r10, rdx, rsi, rdi, ..thread.registers };
        let mut registers = match is_interrupted {
            true => Registers { orig_rax: number, ..registers },
            false => Registers { rax: number, ..registers },
        };
        if self.is_stub(registers.rip) {
            let back = self.installed.original_address(registers.rip, is_interrupted);
            registers.rip = back.ok_or_else(|| self.inconsistent_state())?;
        } else if self.is_stub(self.memory.word(registers.rsp).unwrap_or(0)) {
            // The return address had been replaced.
            let own = self.memory.word(registers.rsp.wrapping_sub(SAVED_RETURN_DEPTH))?;
            self.memory.write(registers.rsp, &own.to_le_bytes())?;
        }
        // The hook is dropped first: without it, the code after the call continues unchanged.
        let before = self.memory.word(frame.wrapping_add(self.waiting.before))?;
        let write = |offset: u64, value: u64| {
            self.memory.write(slot.at.wrapping_add(offset), &value.to_le_bytes())
        };
        write(self.waiting.newest, before)?;
        write(self.waiting.floor, frame.wrapping_add(self.waiting.length))?;
        thread.set_registers(registers)
    }

    /// Whether the thread will not return to the blob: no signal handler is running that
    /// interrupted a hook, or a call with a waiting hook.
    fn is_idle(&self, slot: &RemoteSlot, registers: &Registers) -> Result<bool, Error> {
        if range_contains(slot.alternate, registers.rsp) {
            return Ok(false);
        }
        for frame in self.waiting_frames(slot)? {
            // A lower frame was left by a jump out of its call.
            if self.memory.word(frame.wrapping_add(self.waiting.stack))? > registers.rsp {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Error for a process in an unexpected state.
    fn inconsistent_state(&self) -> Error {
        Error::StaysWithin { process: self.installed.process }
    }
}

/// Whether a range contains an address.
fn range_contains((start, end): (u64, u64), at: u64) -> bool {
    start <= at && at < end
}
