//! Patch windows: whole instructions that give way to a jump of five bytes.
//!
//! A window is as short as five bytes allow. No code may jump to any of its bytes except the first,
//! and each instruction must have the same effect at another address, where the window's
//! instructions are executed.

use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
    RflagsBits,
};

use serde::{Deserialize, Serialize};

use crate::patching::kind::UnpatchedReason;
use crate::patching::sites::SyscallSite;
use crate::patching::sites::jump_targets::JumpTargets;
use crate::patching::tuning::JUMP_BYTES;

/// Instructions that give way to a jump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchWindow {
    /// Address of the first instruction, as linked, where the jump is.
    pub address: u64,
    /// Bytes of the displaced instructions.
    pub displaced: Vec<u8>,
    /// Bytes that the jump overwrites: the first five bytes of `displaced`, or all of them and
    /// padding before the next function.
    pub old: [u8; JUMP_BYTES],
}

impl PatchWindow {
    /// Address after the displaced instructions, as linked.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address + self.displaced.len() as u64
    }

    /// Address after everything that the window takes: displaced instructions, and bytes of the
    /// jump.
    #[must_use]
    pub fn taken_end(&self) -> u64 {
        self.end().max(self.address + JUMP_BYTES as u64)
    }
}

/// Search for the windows of a site.
pub(crate) struct WindowSearch<'a> {
    pub(crate) site: &'a SyscallSite<'a>,
    pub(crate) reached: &'a JumpTargets<'a>,
    /// No bytes before this address may be taken.
    pub(crate) floor: u64,
    /// No bytes from this address on may be taken.
    pub(crate) ceiling: u64,
}

impl WindowSearch<'_> {
    fn after_address(&self) -> u64 {
        self.site.address + 2
    }

    /// Instructions before the system call, the last one first, as long as they are contiguous.
    fn before_site(&self) -> impl Iterator<Item = &Instruction> {
        let mut next_start = self.site.address;
        let before = self.site.code.get(..self.site.place).unwrap_or_default();
        before.iter().rev().take_while(move |instruction| {
            let follows = instruction.next_ip() == next_start;
            next_start = instruction.ip();
            follows
        })
    }

    /// Instructions after the system call, as long as they are contiguous.
    fn after_site(&self) -> impl Iterator<Item = &Instruction> {
        let mut ip = self.after_address();
        self.site.code.get(self.site.place + 1..).unwrap_or_default().iter().take_while(
            move |instruction| {
                let follows = instruction.ip() == ip;
                ip = instruction.next_ip();
                follows
            },
        )
    }

    fn make_window(&self, address: u64, end: u64) -> Option<PatchWindow> {
        let bytes = self.site.segment.bytes_from(address)?;
        Some(PatchWindow {
            address,
            displaced: bytes.get(..usize::try_from(end.checked_sub(address)?).ok()?)?.to_vec(),
            old: *bytes.first_chunk()?,
        })
    }

    /// Window that ends where the system call begins.
    pub(crate) fn window_before(&self) -> Result<PatchWindow, UnpatchedReason> {
        let begin = self.before_start(JUMP_BYTES as u64)?;
        self.make_window(begin, self.site.address).ok_or(UnpatchedReason::NoRoom)
    }

    /// Start of a window of at least `bytes` bytes of whole instructions before the system call.
    fn before_start(&self, bytes: u64) -> Result<u64, UnpatchedReason> {
        let (mut begin, mut instructions) = (self.site.address, self.before_site());
        while self.site.address - begin < bytes {
            if self.reached.contains(begin) {
                return Err(UnpatchedReason::Reached);
            }
            let Some(instruction) = instructions.next() else {
                return Err(UnpatchedReason::NoRoom);
            };
            if instruction.ip() < self.floor {
                return Err(UnpatchedReason::Neighbour);
            }
            let goes_on = [FlowControl::Next, FlowControl::ConditionalBranch];
            if !goes_on.contains(&instruction.flow_control()) || !can_move(instruction) {
                return Err(UnpatchedReason::NoRoom);
            }
            if self.reached.is_inside(instruction) {
                return Err(UnpatchedReason::Reached);
            }
            begin = instruction.ip();
        }
        Ok(begin)
    }

    /// Window that begins after the system call.
    pub(crate) fn window_after(&self) -> Result<PatchWindow, UnpatchedReason> {
        self.check_live()?;
        let (end, _) = self.after_end(self.after_address(), JUMP_BYTES as u64)?;
        self.make_window(self.after_address(), end).ok_or(UnpatchedReason::NoRoom)
    }

    /// Extends a window from `begin` past the system call until it has at least `bytes` bytes.
    /// Returns the end of its last instruction, and the end of the bytes after it that are not
    /// executed.
    fn after_end(&self, begin: u64, bytes: u64) -> Result<(u64, u64), UnpatchedReason> {
        let (mut end, mut taken) = (self.after_address(), self.after_address());
        let (mut instructions, mut is_over) = (self.after_site(), false);
        while taken - begin < bytes {
            if taken > begin && self.reached.contains(taken) {
                return Err(UnpatchedReason::Reached);
            }
            let Some(instruction) = instructions.next() else {
                return Err(UnpatchedReason::NoRoom);
            };
            if instruction.next_ip() > self.ceiling {
                return Err(UnpatchedReason::Neighbour);
            }
            if self.reached.is_inside(instruction) {
                return Err(UnpatchedReason::Reached);
            }
            taken = instruction.next_ip();
            if is_over {
                if !is_padding(instruction) {
                    return Err(UnpatchedReason::NoRoom);
                }
                continue;
            }
            if !can_move(instruction) {
                return Err(UnpatchedReason::NoRoom);
            }
            end = taken;
            match instruction.flow_control() {
                FlowControl::Next | FlowControl::ConditionalBranch => {}
                FlowControl::UnconditionalBranch
                | FlowControl::Return
                | FlowControl::IndirectBranch => is_over = true,
                // The called function returns to the address after the call.
                FlowControl::Call | FlowControl::IndirectCall if taken - begin >= bytes => {}
                _ => return Err(UnpatchedReason::NoRoom),
            }
        }
        Ok((end, taken))
    }

    /// One window for everything between this system call and the next one.
    pub(crate) fn shared_window(&self, next: u64) -> Result<PatchWindow, UnpatchedReason> {
        self.check_live()?;
        let mut end = self.after_address();
        for instruction in self.after_site() {
            if end >= next {
                break;
            }
            if end > self.after_address() && self.reached.contains(end) {
                return Err(UnpatchedReason::Reached);
            }
            let goes_on = [FlowControl::Next, FlowControl::ConditionalBranch];
            if !goes_on.contains(&instruction.flow_control()) || !can_move(instruction) {
                return Err(UnpatchedReason::NoRoom);
            }
            if self.reached.is_inside(instruction) {
                return Err(UnpatchedReason::Reached);
            }
            end = instruction.next_ip();
        }
        if end != next
            || self.reached.contains(next)
            || next - self.after_address() < JUMP_BYTES as u64
        {
            return Err(UnpatchedReason::Neighbour);
        }
        self.make_window(self.after_address(), next).ok_or(UnpatchedReason::NoRoom)
    }

    /// Instructions before and after a system call that move together with it; either of them may
    /// be empty. The jump is at the beginning of the first.
    pub(crate) fn windows_over(&self) -> Result<(PatchWindow, PatchWindow), UnpatchedReason> {
        self.check_live()?;
        let wanted = JUMP_BYTES as u64 - 2;
        // The window begins as far back as possible, so that as little as possible after the call
        // has to move.
        let begin = (0..=wanted).rev().find_map(|bytes| self.before_start(bytes).ok());
        let begin = begin.unwrap_or(self.site.address);
        let (end, _) = self.after_end(begin, JUMP_BYTES as u64)?;
        let before = self.make_window(begin, self.site.address).ok_or(UnpatchedReason::NoRoom)?;
        let after = self.make_window(self.after_address(), end).ok_or(UnpatchedReason::NoRoom)?;
        Ok((before, after))
    }

    /// Whether the system call is so near to the end of its function that no jump fits in between.
    pub(crate) fn returns_immediately(&self) -> bool {
        self.after_site().next().is_some_and(|of| of.code() == Code::Retnq)
    }

    /// Whether code before the system call uses memory below its stack pointer.
    pub(crate) fn uses_red_zone(&self) -> bool {
        let of_stack = |instruction: &Instruction| {
            instruction.memory_base() == Register::RSP
                && (instruction.memory_displacement64().cast_signed() < 0
                    || instruction.memory_index() != Register::None)
        };
        self.site.code.iter().any(of_stack)
    }

    /// Checks that the code after the system call does not need what the library destroys: flags,
    /// which a system call preserves, and the two registers that it changes.
    fn check_live(&self) -> Result<(), UnpatchedReason> {
        let mut factory = InstructionInfoFactory::new();
        let (mut flags, mut registers) = (
            RflagsBits::CF
                | RflagsBits::PF
                | RflagsBits::AF
                | RflagsBits::ZF
                | RflagsBits::SF
                | RflagsBits::OF,
            vec![Register::RCX, Register::R11],
        );
        for instruction in self.after_site() {
            // The next system call destroys the same registers.
            if instruction.mnemonic() == Mnemonic::Syscall {
                break;
            }
            let conditional = instruction.flow_control() == FlowControl::ConditionalBranch;
            if instruction.rflags_read() & flags != 0 {
                return Err(UnpatchedReason::Live);
            }
            let used = factory.info(instruction).used_registers();
            let of = |register: Register| {
                used.iter().filter(move |used| used.register().full_register() == register)
            };
            for register in &registers {
                if of(*register)
                    .any(|used| !matches!(used.access(), OpAccess::Write | OpAccess::CondWrite))
                {
                    return Err(UnpatchedReason::Live);
                }
            }
            registers.retain(|register| {
                !of(*register)
                    .any(|used| used.access() == OpAccess::Write && used.register().size() >= 4)
            });
            flags &= !instruction.rflags_modified();
            // A called function, or a caller that is returned to, does not read flags.
            if instruction.flow_control() != FlowControl::Next && !conditional
                || flags == 0 && registers.is_empty()
            {
                break;
            }
        }
        Ok(())
    }
}

/// Whether an instruction has the same effect at another address, with the help of `stubs`.
fn can_move(instruction: &Instruction) -> bool {
    // A position-relative 32-bit address would differ above 4 GB.
    if instruction.memory_base() == Register::EIP {
        return false;
    }
    match instruction.flow_control() {
        FlowControl::Next
        | FlowControl::UnconditionalBranch
        | FlowControl::IndirectBranch
        | FlowControl::Return => true,
        // Other conditional branches test rcx, and reach no further than 128 bytes.
        FlowControl::ConditionalBranch => instruction.is_jcc_short_or_near(),
        FlowControl::Call => instruction.code() == Code::Call_rel32_64,
        // The return address is pushed before the target is read.
        FlowControl::IndirectCall => {
            instruction.code() == Code::Call_rm64
                && instruction.memory_base() != Register::RSP
                && instruction.op0_register() != Register::RSP
        }
        FlowControl::Interrupt | FlowControl::XbeginXabortXend | FlowControl::Exception => false,
    }
}

/// Whether an instruction is padding between functions.
fn is_padding(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Nop
        || instruction.code() == Code::Int3
        // `xchg ax,ax` and zeros, with which some assemblers pad.
        || instruction.code() == Code::Add_rm8_r8 && instruction.len() == 2
}
