//! Stubs: what the jumps lead to, and the bytes of these jumps.
//!
//! The stubs of an image are one area, with a header that all of them use:
//!
//! ```text
//!  0  address of before_c     8  address of after_c
//! 16  address of before_go   24  address of after_go
//! 32  a bit for each number below 512 that is wanted
//! 96  address of before_goroutine    104  address of ready, or 0
//! 112  the stubs, each at a multiple of 16
//! ```
//!
//! A site with windows on both sides (`->` is the jump that was patched in):
//!
//! ```text
//!      window before -> before stub:  displaced instructions
//!                                     (variable numbers) is eax wanted? no: jmp site
//!                                     lea rcx, [next]
//!                                     jmp [before_c]        the library ends by jmp rcx
//!                               next: jmp site
//! site: syscall
//!      window behind -> after stub:   lea rcx, [next]
//!                                     jmp [after_c]
//!                               next: displaced instructions
//!                                     jmp behind the window
//! ```
//!
//! An entry within 2 GB is jumped to directly (`jmp before_c`), which the processor foresees
//! sooner.
//!
//! A window that two sites share has the hook behind the first, its instructions, and the hook
//! before the second. `Over` has all in one: instructions, hook, `syscall`, hook, instructions.
//! `Return` exchanges the return address once its hook has run, and keeps it below the stack
//! pointer, in the red zone: a signal's handler may make such a call, too, so no place of the
//! thread could hold it.
//!
//! ```text
//!      window before -> displaced instructions; is it wanted?; the hook; then
//!                       mov rcx, [rsp]; mov [rsp-120], rcx
//!                       lea rcx, [back]; mov [rsp], rcx; jmp site
//! site: syscall; ret -> back: push [rsp-128]          as it was at the site
//!                       lea rcx, [next]; jmp [after_c]
//!                 next: ret
//! ```
//!
//! A displaced call pushes the address that it would have pushed at its own place, and jumps: what
//! unwinds the stack, or looks at it as Go's runtime does, meets the program alone.
//!
//! Only `rcx`, `r11` and flags change, which a system call destroys too or which nothing needs
//! ([`crate::patching::windows`] sees to it). No stack is used.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction,
    InstructionBlock, MemoryOperand, OpKind, Register,
};

use crate::patching::error::PatchError;
use crate::patching::kind::PatchKind;
use crate::patching::numbers::{SyscallNumber, TABLE_NUMBERS, wanted_table};
use crate::patching::plan::{PatchPlan, PatchSite, SiteRuntime};
use crate::patching::tuning::{HEADER_BYTES, JUMP_BYTES, KEPT_BELOW, SITE_BYTES, STUB_ALIGNMENT};
use crate::patching::windows::PatchWindow;

/// Addresses of machine code in the process that a stub jumps to. Each ends with `jmp rcx`, and
/// changes nothing but `rcx`, `r11` and flags, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StubEntries {
    /// Before a system call in C.
    pub before_c: u64,
    /// Behind a system call in C.
    pub after_c: u64,
    /// Before a system call in Go.
    pub before_go: u64,
    /// Before a system call in Go, where register 14 holds the goroutine.
    pub before_goroutine: u64,
    /// Where a goroutine lets another go on, or starts it, if that is wanted. It begins with the
    /// address to go on at in `r11`, and ends with `jmp r11`. It may change `rdx`, `rsi`, `rdi`,
    /// `r8` to `r13`, the vector registers but `xmm15`, and flags. No byte of the stack may be
    /// used.
    pub ready: Option<u64>,
    /// Behind a system call in Go.
    pub after_go: u64,
}

/// Bytes to be written over others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePatch {
    /// Address in the process.
    pub address: u64,
    /// What is there: to be compared first, and what takes the patch back.
    pub old: Vec<u8>,
    /// The bytes to write, as many as the old ones.
    pub new: Vec<u8>,
    /// Address in the process of the system call that it is for, the first of two that share it.
    /// Where a goroutine lets another go on or starts it, there is none, and it is `address`.
    pub call: u64,
}

/// All that an image is patched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePatches {
    /// The bytes of the stubs' area. It is read and executed.
    pub stubs: Vec<u8>,
    /// The patches in the order of addresses. None touches another.
    pub patches: Vec<ImagePatch>,
}

impl PatchPlan {
    /// Upper bound of the stubs, in bytes: how much to map before their place is known.
    #[must_use]
    pub fn stub_bytes(&self) -> usize {
        let patched = self.sites.iter().filter(|site| !matches!(site.kind, PatchKind::Left(_)));
        HEADER_BYTES + (patched.count() + usize::from(self.ready.is_some())) * SITE_BYTES
    }
}

/// Makes stubs and patches. `bias` is the address where the image is loaded, less the one that it
/// is linked for. The stubs are for the address `stubs_at`, a multiple of 16.
///
/// # Errors
///
/// The stubs are more than 2 GB from the text, or from what its displaced instructions refer to.
pub fn assemble_patches(
    survey: &PatchPlan,
    bias: u64,
    stubs_at: u64,
    entries: &StubEntries,
) -> Result<ImagePatches, PatchError> {
    let mut area = StubAssembler::new(stubs_at, bias, entries);
    let mut before = None;
    for (place, site) in survey.sites.iter().enumerate() {
        let next = survey.sites.get(place + 1);
        // What two share was made with the first of them.
        let is_made = site.before.is_some() && shares_window(before, Some(site));
        match site.kind {
            PatchKind::Left(_) => {}
            PatchKind::Sandwich | PatchKind::Return => {
                if let Some(window) = site.before.as_ref().filter(|_| !is_made) {
                    area.begin_stub(site.address, window, window)?;
                    area.push_displaced(site.address, window)?;
                    area.enter_site(site)?;
                }
                if let Some(window) = &site.after {
                    area.begin_stub(site.address, window, window)?;
                    area.push_hook(site, SyscallSide::After)?;
                    area.push_displaced(site.address, window)?;
                    match next.filter(|_| shares_window(Some(site), next)) {
                        Some(next) => area.enter_site(next)?,
                        None => area.leave_stub(site.address, window)?,
                    }
                }
            }
            PatchKind::Over => {
                if let (Some(first), Some(last)) = (&site.before, &site.after) {
                    area.begin_stub(site.address, first, last)?;
                    area.push_displaced(site.address, first)?;
                    let skips = area.push_filter(site)?;
                    area.push_hook(site, SyscallSide::Before)?;
                    area.land_skips(skips);
                    area.bytes.extend([0x0f, 0x05]);
                    area.push_hook(site, SyscallSide::After)?;
                    area.push_displaced(site.address, last)?;
                    area.leave_stub(site.address, last)?;
                }
            }
        }
        before = Some(site);
    }
    if let Some(window) = survey.ready.as_ref().filter(|_| entries.ready.is_some()) {
        area.begin_stub(window.address, window, window)?;
        area.push_entry_jump(window.address, &[0x4c, 0x8d, 0x1d], 104)?;
        area.push_displaced(window.address, window)?;
        area.leave_stub(window.address, window)?;
    }
    area.patches.sort_by_key(|patch| patch.address);
    Ok(ImagePatches { stubs: area.bytes, patches: area.patches })
}

/// Whether the window behind a site is the one before the next.
fn shares_window(site: Option<&PatchSite>, next: Option<&PatchSite>) -> bool {
    let (Some(site), Some(next)) = (site, next) else { return false };
    site.kind == PatchKind::Sandwich
        && [PatchKind::Sandwich, PatchKind::Return].contains(&next.kind)
        && site.after.is_some()
        && site.after == next.before
}

#[derive(Clone, Copy)]
enum SyscallSide {
    Before,
    After,
}

/// The stubs as they grow.
struct StubAssembler {
    at: u64,
    bias: u64,
    bytes: Vec<u8>,
    patches: Vec<ImagePatch>,
    /// Address of the word that holds what a displaced call pushes.
    pushed: u64,
}

impl StubAssembler {
    fn new(at: u64, bias: u64, entries: &StubEntries) -> Self {
        let mut bytes = Vec::new();
        for entry in [entries.before_c, entries.after_c, entries.before_go, entries.after_go] {
            bytes.extend(entry.to_le_bytes());
        }
        bytes.extend(wanted_table().iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(entries.before_goroutine.to_le_bytes());
        bytes.extend(entries.ready.unwrap_or(0).to_le_bytes());
        Self { at, bias, bytes, patches: Vec::new(), pushed: 0 }
    }

    fn next_address(&self) -> u64 {
        self.at.wrapping_add(self.bytes.len() as u64)
    }

    /// Begins a stub, and makes the jump to it from the beginning of a window. `last` is the window
    /// that its instructions end with.
    fn begin_stub(
        &mut self,
        site: u64,
        window: &PatchWindow,
        last: &PatchWindow,
    ) -> Result<(), PatchError> {
        self.align_stub();
        let pushed = last.end().wrapping_add(self.bias);
        if self.decode_window(last).last().is_some_and(is_call) {
            self.pushed = self.next_address();
            self.bytes.extend(pushed.to_le_bytes());
            self.align_stub();
        }
        let address = window.address.wrapping_add(self.bias);
        let mut new = vec![0xe9];
        new.extend(self.distance_bytes(
            site,
            address.wrapping_add(JUMP_BYTES as u64),
            self.next_address(),
        )?);
        let call = site.wrapping_add(self.bias);
        self.patches.push(ImagePatch { address, old: window.old.to_vec(), new, call });
        Ok(())
    }

    fn align_stub(&mut self) {
        let length = self.bytes.len().next_multiple_of(STUB_ALIGNMENT);
        self.bytes.resize(length, 0xcc);
    }

    /// The distance from behind an instruction to an address, as the instruction has it.
    fn distance_bytes(&self, site: u64, from: u64, to: u64) -> Result<[u8; 4], PatchError> {
        let distance = to.wrapping_sub(from).cast_signed();
        let near = i32::try_from(distance).map_err(|_| PatchError::TooFar {
            site: site.wrapping_add(self.bias),
            stubs: self.at,
        })?;
        Ok(near.to_le_bytes())
    }

    /// An instruction that ends with the distance to an address.
    fn push_with_distance(&mut self, site: u64, code: &[u8], to: u64) -> Result<(), PatchError> {
        self.bytes.extend(code);
        let distance = self.distance_bytes(site, self.next_address().wrapping_add(4), to)?;
        self.bytes.extend(distance);
        Ok(())
    }

    /// `jmp`
    fn push_jump(&mut self, site: u64, to: u64) -> Result<(), PatchError> {
        self.push_with_distance(site, &[0xe9], to)
    }

    /// All before a system call that is executed at its own place.
    fn enter_site(&mut self, site: &PatchSite) -> Result<(), PatchError> {
        let skips = self.push_filter(site)?;
        self.push_hook(site, SyscallSide::Before)?;
        let back = (site.kind == PatchKind::Return).then(|| self.exchange_return());
        self.land_skips(skips);
        self.push_jump(site.address, site.address.wrapping_add(self.bias))?;
        let Some(back) = back else { return Ok(()) };
        let distance = (self.bytes.len() - back) as i32;
        self.patch_word(back, distance);
        // push [rsp-128]: the stack pointer is 8 bytes above where it was at the site.
        self.bytes.extend([0xff, 0x74, 0x24, (KEPT_BELOW + 8).wrapping_neg()]);
        self.push_hook(site, SyscallSide::After)?;
        self.bytes.push(0xc3);
        Ok(())
    }

    /// Exchanges the return address. The place that is returned, in bytes, is the one from which
    /// the distance in front of it is to be.
    fn exchange_return(&mut self) -> usize {
        // mov rcx,[rsp]; mov [rsp-120],rcx; lea rcx,[rip+?]; mov [rsp],rcx
        self.bytes.extend([0x48, 0x8b, 0x0c, 0x24]);
        self.bytes.extend([0x48, 0x89, 0x4c, 0x24, KEPT_BELOW.wrapping_neg()]);
        self.bytes.extend([0x48, 0x8d, 0x0d, 0, 0, 0, 0]);
        let back = self.bytes.len();
        self.bytes.extend([0x48, 0x89, 0x0c, 0x24]);
        back
    }

    /// Writes the four bytes in front of a place.
    fn patch_word(&mut self, end: usize, word: i32) {
        if let Some(bytes) = self.bytes.get_mut(end.saturating_sub(4)..end) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Where the number is variable, looks whether it is wanted. Returns the places of short jumps
    /// for where it is not.
    fn push_filter(&mut self, site: &PatchSite) -> Result<Option<[usize; 2]>, PatchError> {
        if site.numbers != SyscallNumber::Variable {
            return Ok(None);
        }
        let words = (TABLE_NUMBERS / 32) as u8;
        // mov ecx,eax; shr ecx,5; cmp ecx,16; jae ?
        self.bytes.extend([0x89, 0xc1, 0xc1, 0xe9, 5, 0x83, 0xf9, words, 0x73, 0]);
        let large = self.bytes.len();
        // lea r11,[table]; mov r11d,[r11+rcx*4]; bt r11d,eax; jnc ?
        self.push_with_distance(site.address, &[0x4c, 0x8d, 0x1d], self.at.wrapping_add(32))?;
        self.bytes.extend([0x45, 0x8b, 0x1c, 0x8b, 0x41, 0x0f, 0xa3, 0xc3, 0x73, 0]);
        Ok(Some([large, self.bytes.len()]))
    }

    /// Makes the filter's jumps lead here.
    fn land_skips(&mut self, skips: Option<[usize; 2]>) {
        let here = self.bytes.len();
        for behind in skips.into_iter().flatten() {
            // The hook between has less than 50 bytes.
            if let Some(distance) = self.bytes.get_mut(behind.saturating_sub(1)) {
                *distance = (here - behind) as u8;
            }
        }
    }

    /// The jump into the library, which comes back behind it.
    fn push_hook(&mut self, site: &PatchSite, side: SyscallSide) -> Result<(), PatchError> {
        let entry = match (site.runtime, side) {
            (SiteRuntime::C, SyscallSide::Before) => 0,
            (SiteRuntime::C, SyscallSide::After) => 8,
            (SiteRuntime::Go { has_goroutine: true }, SyscallSide::Before) => 96,
            (SiteRuntime::Go { has_goroutine: false }, SyscallSide::Before) => 16,
            (SiteRuntime::Go { .. }, SyscallSide::After) => 24,
        };
        self.push_entry_jump(site.address, &[0x48, 0x8d, 0x0d], entry)
    }

    /// `lea` of the address behind the jump, into the register that `lea` says, and the jump to the
    /// entry that stands at the place `entry` of the header.
    fn push_entry_jump(
        &mut self,
        site: u64,
        lea: &[u8; 3],
        entry: usize,
    ) -> Result<(), PatchError> {
        let address = self.bytes.get(entry..).and_then(|bytes| bytes.first_chunk());
        let to = address.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let jump = JUMP_BYTES as u8;
        self.bytes.extend(lea);
        if self
            .distance_bytes(site, self.next_address().wrapping_add(4 + u64::from(jump)), to)
            .is_ok()
        {
            self.bytes.extend([jump, 0, 0, 0]);
            self.push_jump(site, to)
        } else {
            self.bytes.extend([jump + 1, 0, 0, 0]);
            self.push_with_distance(site, &[0xff, 0x25], self.at.wrapping_add(entry as u64))
        }
    }

    /// The jump back behind a window, if its instructions get there.
    fn leave_stub(&mut self, site: u64, window: &PatchWindow) -> Result<(), PatchError> {
        let last = self.decode_window(window).last().map(Instruction::flow_control);
        match last {
            Some(FlowControl::Next | FlowControl::ConditionalBranch) | None => {
                self.push_jump(site, window.end().wrapping_add(self.bias))
            }
            _ => Ok(()),
        }
    }

    fn decode_window(&self, window: &PatchWindow) -> Vec<Instruction> {
        let address = window.address.wrapping_add(self.bias);
        Decoder::with_ip(64, &window.displaced, address, DecoderOptions::NONE).into_iter().collect()
    }

    /// The instructions of a window, written for here.
    fn push_displaced(&mut self, site: u64, window: &PatchWindow) -> Result<(), PatchError> {
        let place = site.wrapping_add(self.bias);
        let wrong = |error: iced_x86::IcedError| PatchError::Displaced {
            site: place,
            why: error.to_string(),
        };
        let mut code = self.decode_window(window);
        if let Some(call) = code.pop_if(|last| is_call(last)) {
            let word = MemoryOperand::with_base_displ(Register::RIP, self.pushed.cast_signed());
            code.push(Instruction::with1(Code::Push_rm64, word).map_err(wrong)?);
            let mut jump = call;
            if call.code() == Code::Call_rel32_64 {
                jump = Instruction::with_branch(Code::Jmp_rel32_64, call.near_branch_target())
                    .map_err(wrong)?;
            } else {
                jump.set_code(Code::Jmp_rm64);
            }
            code.push(jump);
        }
        // Each is a block of its own, or a jump to the window's beginning would become one to here.
        for instruction in &code {
            if instruction.op0_kind() == OpKind::NearBranch64 {
                self.distance_bytes(site, self.next_address(), instruction.near_branch_target())?;
                // Farther than its distance can say, a branch would have its target behind itself.
                self.distance_bytes(
                    site,
                    self.next_address() + 32,
                    instruction.near_branch_target(),
                )?;
            }
            let block =
                InstructionBlock::new(std::slice::from_ref(instruction), self.next_address());
            let made = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).map_err(wrong)?;
            self.bytes.extend(made.code_buffer);
        }
        Ok(())
    }
}

fn is_call(instruction: &Instruction) -> bool {
    [FlowControl::Call, FlowControl::IndirectCall].contains(&instruction.flow_control())
}
