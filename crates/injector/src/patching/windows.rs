//! Windows: whole instructions that give way to a jump of five bytes.
//!
//! A window is as short as five bytes allow. Nothing may jump to any byte of it but the first, and
//! each instruction must do the same at another place. What is in a window is executed there.

use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
    RflagsBits,
};

use serde::{Deserialize, Serialize};

use crate::patching::kind::Reason;
use crate::patching::sites::Found;
use crate::patching::sites::reached::Reached;
use crate::patching::tuning::JUMP_BYTES;

/// Instructions that give way to a jump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Address of the first of them, as linked. The jump is here.
    pub address: u64,
    /// Their bytes.
    pub displaced: Vec<u8>,
    /// What the jump is written over: the first five bytes of `displaced`, or these and what aligns
    /// the next function.
    pub old: [u8; JUMP_BYTES],
}

impl Window {
    /// Address behind the displaced instructions, as linked.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address + self.displaced.len() as u64
    }

    /// Address behind all that it takes: displaced instructions, and bytes of the jump.
    #[must_use]
    pub fn taken_end(&self) -> u64 {
        self.end().max(self.address + JUMP_BYTES as u64)
    }
}

/// What windows of a site are made of.
pub(crate) struct Ground<'a> {
    pub(crate) site: &'a Found<'a>,
    pub(crate) reached: &'a Reached<'a>,
    /// Nothing before this address may be taken.
    pub(crate) floor: u64,
    /// Nothing from this address on may be taken.
    pub(crate) ceiling: u64,
}

impl Ground<'_> {
    fn behind(&self) -> u64 {
        self.site.address + 2
    }

    /// The instructions before the system call, the last one first, each followed by the next.
    fn before_site(&self) -> impl Iterator<Item = &Instruction> {
        let mut behind = self.site.address;
        let before = self.site.code.get(..self.site.place).unwrap_or_default();
        before.iter().rev().take_while(move |instruction| {
            let follows = instruction.next_ip() == behind;
            behind = instruction.ip();
            follows
        })
    }

    /// The instructions behind the system call, each followed by the next.
    fn behind_site(&self) -> impl Iterator<Item = &Instruction> {
        let mut ip = self.behind();
        self.site.code.get(self.site.place + 1..).unwrap_or_default().iter().take_while(
            move |instruction| {
                let follows = instruction.ip() == ip;
                ip = instruction.next_ip();
                follows
            },
        )
    }

    fn window(&self, address: u64, end: u64) -> Option<Window> {
        let bytes = self.site.segment.from(address)?;
        Some(Window {
            address,
            displaced: bytes.get(..usize::try_from(end.checked_sub(address)?).ok()?)?.to_vec(),
            old: *bytes.first_chunk()?,
        })
    }

    /// The window that ends where the system call begins.
    pub(crate) fn before(&self) -> Result<Window, Reason> {
        let begin = self.begin_before(JUMP_BYTES as u64)?;
        self.window(begin, self.site.address).ok_or(Reason::NoRoom)
    }

    /// Goes back from the system call until there are `bytes`.
    fn begin_before(&self, bytes: u64) -> Result<u64, Reason> {
        let (mut begin, mut instructions) = (self.site.address, self.before_site());
        while self.site.address - begin < bytes {
            if self.reached.contains(begin) {
                return Err(Reason::Reached);
            }
            let Some(instruction) = instructions.next() else { return Err(Reason::NoRoom) };
            if instruction.ip() < self.floor {
                return Err(Reason::Neighbour);
            }
            let goes_on = [FlowControl::Next, FlowControl::ConditionalBranch];
            if !goes_on.contains(&instruction.flow_control()) || !can_move(instruction) {
                return Err(Reason::NoRoom);
            }
            if self.reached.is_inside(instruction) {
                return Err(Reason::Reached);
            }
            begin = instruction.ip();
        }
        Ok(begin)
    }

    /// The window that begins behind the system call.
    pub(crate) fn after(&self) -> Result<Window, Reason> {
        self.is_live()?;
        let (end, _) = self.end_after(self.behind(), JUMP_BYTES as u64)?;
        self.window(self.behind(), end).ok_or(Reason::NoRoom)
    }

    /// Goes on from behind the system call until there are `bytes` from `begin` on. Says where the
    /// last instruction ends, and where the bytes that are not executed behind it do.
    fn end_after(&self, begin: u64, bytes: u64) -> Result<(u64, u64), Reason> {
        let (mut end, mut taken) = (self.behind(), self.behind());
        let (mut instructions, mut is_over) = (self.behind_site(), false);
        while taken - begin < bytes {
            if taken > begin && self.reached.contains(taken) {
                return Err(Reason::Reached);
            }
            let Some(instruction) = instructions.next() else { return Err(Reason::NoRoom) };
            if instruction.next_ip() > self.ceiling {
                return Err(Reason::Neighbour);
            }
            if self.reached.is_inside(instruction) {
                return Err(Reason::Reached);
            }
            taken = instruction.next_ip();
            if is_over {
                if !is_padding(instruction) {
                    return Err(Reason::NoRoom);
                }
                continue;
            }
            if !can_move(instruction) {
                return Err(Reason::NoRoom);
            }
            end = taken;
            match instruction.flow_control() {
                FlowControl::Next | FlowControl::ConditionalBranch => {}
                FlowControl::UnconditionalBranch
                | FlowControl::Return
                | FlowControl::IndirectBranch => is_over = true,
                // It comes back behind itself.
                FlowControl::Call | FlowControl::IndirectCall if taken - begin >= bytes => {}
                _ => return Err(Reason::NoRoom),
            }
        }
        Ok((end, taken))
    }

    /// One window for all from behind this system call to the next one.
    pub(crate) fn shared(&self, next: u64) -> Result<Window, Reason> {
        self.is_live()?;
        let mut end = self.behind();
        for instruction in self.behind_site() {
            if end >= next {
                break;
            }
            if end > self.behind() && self.reached.contains(end) {
                return Err(Reason::Reached);
            }
            let goes_on = [FlowControl::Next, FlowControl::ConditionalBranch];
            if !goes_on.contains(&instruction.flow_control()) || !can_move(instruction) {
                return Err(Reason::NoRoom);
            }
            if self.reached.is_inside(instruction) {
                return Err(Reason::Reached);
            }
            end = instruction.next_ip();
        }
        if end != next || self.reached.contains(next) || next - self.behind() < JUMP_BYTES as u64 {
            return Err(Reason::Neighbour);
        }
        self.window(self.behind(), next).ok_or(Reason::NoRoom)
    }

    /// What goes before and behind a system call that moves with them, either of them may be empty.
    /// The jump is at the beginning of the first.
    pub(crate) fn over(&self) -> Result<(Window, Window), Reason> {
        self.is_live()?;
        let wanted = JUMP_BYTES as u64 - 2;
        // As far back as it goes, so that as little as possible behind the call has to move.
        let begin = (0..=wanted).rev().find_map(|bytes| self.begin_before(bytes).ok());
        let begin = begin.unwrap_or(self.site.address);
        let (end, _) = self.end_after(begin, JUMP_BYTES as u64)?;
        let before = self.window(begin, self.site.address).ok_or(Reason::NoRoom)?;
        let after = self.window(self.behind(), end).ok_or(Reason::NoRoom)?;
        Ok((before, after))
    }

    /// Whether the system call is right before the end of its function, which no jump fits before.
    pub(crate) fn returns_at_once(&self) -> bool {
        self.behind_site().next().is_some_and(|of| of.code() == Code::Retnq)
    }

    /// Whether code before the system call keeps something below its stack pointer.
    pub(crate) fn uses_red_zone(&self) -> bool {
        let of_stack = |instruction: &Instruction| {
            instruction.memory_base() == Register::RSP
                && (instruction.memory_displacement64().cast_signed() < 0
                    || instruction.memory_index() != Register::None)
        };
        self.site.code.iter().any(of_stack)
    }

    /// Whether what the library destroys is needed behind the system call: flags, which a system
    /// call preserves, and the two registers that it changes.
    fn is_live(&self) -> Result<(), Reason> {
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
        for instruction in self.behind_site() {
            // The next system call destroys the same.
            if instruction.mnemonic() == Mnemonic::Syscall {
                break;
            }
            let conditional = instruction.flow_control() == FlowControl::ConditionalBranch;
            if instruction.rflags_read() & flags != 0 {
                return Err(Reason::Live);
            }
            let used = factory.info(instruction).used_registers();
            let of = |register: Register| {
                used.iter().filter(move |used| used.register().full_register() == register)
            };
            for register in &registers {
                if of(*register)
                    .any(|used| !matches!(used.access(), OpAccess::Write | OpAccess::CondWrite))
                {
                    return Err(Reason::Live);
                }
            }
            registers.retain(|register| {
                !of(*register)
                    .any(|used| used.access() == OpAccess::Write && used.register().size() >= 4)
            });
            flags &= !instruction.rflags_modified();
            // What a function calls or goes back to takes nothing from flags.
            if instruction.flow_control() != FlowControl::Next && !conditional
                || flags == 0 && registers.is_empty()
            {
                break;
            }
        }
        Ok(())
    }
}

/// Whether an instruction does the same elsewhere, with the help of `stubs`.
fn can_move(instruction: &Instruction) -> bool {
    // An address of 32 bits that depends on the place is another one above 4 GB.
    if instruction.memory_base() == Register::EIP {
        return false;
    }
    match instruction.flow_control() {
        FlowControl::Next
        | FlowControl::UnconditionalBranch
        | FlowControl::IndirectBranch
        | FlowControl::Return => true,
        // The others look at rcx, and reach no further than 128 bytes.
        FlowControl::ConditionalBranch => instruction.is_jcc_short_or_near(),
        FlowControl::Call => instruction.code() == Code::Call_rel32_64,
        // The address to return to is pushed before the target is read.
        FlowControl::IndirectCall => {
            instruction.code() == Code::Call_rm64
                && instruction.memory_base() != Register::RSP
                && instruction.op0_register() != Register::RSP
        }
        FlowControl::Interrupt | FlowControl::XbeginXabortXend | FlowControl::Exception => false,
    }
}

/// What fills the room between functions.
fn is_padding(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Nop
        || instruction.code() == Code::Int3
        // `xchg ax,ax` and zeros, as some assemblers fill.
        || instruction.code() == Code::Add_rm8_r8 && instruction.len() == 2
}
