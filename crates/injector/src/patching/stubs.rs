//! Stubs, and the bytes of the jumps to them.
//!
//! The stubs of an image are one area, with a common header:
//!
//! ```text
//!  0  address of before_c     8  address of after_c
//! 16  address of before_go   24  address of after_go
//! 32  one bit for each number below 512, set if it is wanted
//! 96  address of before_goroutine    104  address of ready, or 0
//! 112  the stubs, each at a multiple of 16
//! ```
//!
//! A site with windows on both sides (`->` is the patched jump):
//!
//! ```text
//!      window before -> before stub:  displaced instructions
//!                                     (variable numbers) is eax wanted? no: jmp site
//!                                     lea rcx, [next]
//!                                     jmp [before_c]        the library ends by jmp rcx
//!                               next: jmp site
//! site: syscall
//!       window after -> after stub:   lea rcx, [next]
//!                                     jmp [after_c]
//!                               next: displaced instructions
//!                                     jmp to after the window
//! ```
//!
//! An entry within 2 GB is jumped to directly (`jmp before_c`), which the processor predicts
//! sooner.
//!
//! A window that two sites share has the hook after the first site, its instructions, and the hook
//! before the second. `Over` has all in one: instructions, hook, `syscall`, hook, instructions.
//! `Return` replaces the return address after its hook, and keeps the original below the stack
//! pointer, in the red zone: a signal handler may make a call at the same site, so one place per
//! thread could not hold it.
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
//! A displaced call pushes the return address of its original place, and jumps: code that unwinds
//! or inspects the stack, as Go's runtime does, sees the program only.
//!
//! Only `rcx`, `r11` and flags change, which a system call destroys too or which are not needed
//! ([`crate::patching::windows`] checks it). No stack is used.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction,
    InstructionBlock, MemoryOperand, OpKind, Register,
};

use crate::patching::error::PatchError;
use crate::patching::kind::PatchKind;
use crate::patching::numbers::{SyscallNumber, TABLE_NUMBERS, wanted_table};
use crate::patching::plan::{PatchPlan, PatchSite, SiteRuntime};
use crate::patching::tuning::{
    HEADER_BYTES, JUMP_BYTES, SAVED_RETURN_DEPTH, SITE_BYTES, STUB_ALIGNMENT,
};
use crate::patching::windows::PatchWindow;

/// Addresses of machine code in the process to which stubs jump. Each entry ends with `jmp rcx`,
/// and changes nothing but `rcx`, `r11` and flags, unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StubEntries {
    /// Before a system call in C.
    pub before_c: u64,
    /// After a system call in C.
    pub after_c: u64,
    /// Before a system call in Go.
    pub before_go: u64,
    /// Before a system call in Go, where register 14 holds the goroutine.
    pub before_goroutine: u64,
    /// When a goroutine unblocks or starts another; `None` if this is not recorded. On entry `r11`
    /// has the address at which to continue, and the entry ends with `jmp r11`. It may change
    /// `rdx`, `rsi`, `rdi`, `r8` to `r13`, the vector registers except `xmm15`, and flags. No byte
    /// of the stack may be used.
    pub ready: Option<u64>,
    /// After a system call in Go.
    pub after_go: u64,
}

/// A patch of an image's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePatch {
    /// Address in the process.
    pub address: u64,
    /// Old bytes: compared before writing, and used to undo the patch.
    pub old: Vec<u8>,
    /// New bytes, as many as the old ones.
    pub new: Vec<u8>,
    /// Address in the process of the system call that the patch is for, or of the first of two
    /// system calls that share it. For a patch of `ready`, which has no system call, `address`.
    pub call: u64,
}

/// All patches of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePatches {
    /// The bytes of the stubs' area. It is read and executed.
    pub stubs: Vec<u8>,
    /// The patches in the order of addresses. None touches another.
    pub patches: Vec<ImagePatch>,
}

impl PatchPlan {
    /// Upper bound of the size of the stubs, in bytes: the size to map before their address is
    /// known.
    #[must_use]
    pub fn stub_bytes(&self) -> usize {
        let patched =
            self.sites.iter().filter(|site| !matches!(site.kind, PatchKind::Unpatched(_)));
        HEADER_BYTES + (patched.count() + usize::from(self.ready.is_some())) * SITE_BYTES
    }
}

/// Assembles stubs and patches. `bias` is the load address of the image minus its linked address.
/// The stubs are for the address `stubs_at`, a multiple of 16.
///
/// # Errors
///
/// If the stubs are more than 2 GB from the text, or from addresses to which its displaced
/// instructions refer.
pub fn assemble_patches(
    plan: &PatchPlan,
    bias: u64,
    stubs_at: u64,
    entries: &StubEntries,
) -> Result<ImagePatches, PatchError> {
    let mut area = StubAssembler::new(stubs_at, bias, entries);
    let mut before = None;
    for (place, site) in plan.sites.iter().enumerate() {
        let next = plan.sites.get(place + 1);
        // A shared window was assembled with the first of the two sites.
        let is_made = site.before.is_some() && shares_window(before, Some(site));
        match site.kind {
            PatchKind::Unpatched(_) => {}
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
    if let Some(window) = plan.ready.as_ref().filter(|_| entries.ready.is_some()) {
        area.begin_stub(window.address, window, window)?;
        area.push_entry_jump(window.address, &[0x4c, 0x8d, 0x1d], 104)?;
        area.push_displaced(window.address, window)?;
        area.leave_stub(window.address, window)?;
    }
    area.patches.sort_by_key(|patch| patch.address);
    Ok(ImagePatches { stubs: area.bytes, patches: area.patches })
}

/// Whether the window after a site is the one before the next site.
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

/// Stubs under construction.
struct StubAssembler {
    at: u64,
    bias: u64,
    bytes: Vec<u8>,
    patches: Vec<ImagePatch>,
    /// Address of the word with the return address that a displaced call pushes.
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

    /// Begins a stub, and assembles the jump to it at the beginning of a window. `last` is the
    /// window that ends its instructions.
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

    /// Distance from the end of an instruction to an address, as encoded in the instruction.
    fn distance_bytes(&self, site: u64, from: u64, to: u64) -> Result<[u8; 4], PatchError> {
        let distance = to.wrapping_sub(from).cast_signed();
        let near = i32::try_from(distance).map_err(|_| PatchError::TooFar {
            site: site.wrapping_add(self.bias),
            stubs: self.at,
        })?;
        Ok(near.to_le_bytes())
    }

    /// Appends an instruction that ends with the distance to an address.
    fn push_with_distance(&mut self, site: u64, code: &[u8], to: u64) -> Result<(), PatchError> {
        self.bytes.extend(code);
        let distance = self.distance_bytes(site, self.next_address().wrapping_add(4), to)?;
        self.bytes.extend(distance);
        Ok(())
    }

    /// Appends a `jmp`.
    fn push_jump(&mut self, site: u64, to: u64) -> Result<(), PatchError> {
        self.push_with_distance(site, &[0xe9], to)
    }

    /// Appends the instructions before a system call that is executed in its own place.
    fn enter_site(&mut self, site: &PatchSite) -> Result<(), PatchError> {
        let skips = self.push_filter(site)?;
        self.push_hook(site, SyscallSide::Before)?;
        let back = (site.kind == PatchKind::Return).then(|| self.exchange_return());
        self.land_skips(skips);
        self.push_jump(site.address, site.address.wrapping_add(self.bias))?;
        let Some(back) = back else { return Ok(()) };
        let distance = (self.bytes.len() - back) as i32;
        self.patch_word(back, distance);
        // push [rsp-128]: the stack pointer is 8 bytes above its value at the site.
        self.bytes.extend([0xff, 0x74, 0x24, (SAVED_RETURN_DEPTH + 8).wrapping_neg()]);
        self.push_hook(site, SyscallSide::After)?;
        self.bytes.push(0xc3);
        Ok(())
    }

    /// Appends instructions that keep the return address and replace it. Returns the index after
    /// the four bytes of the distance to the new return address, which counts from that index.
    fn exchange_return(&mut self) -> usize {
        // mov rcx,[rsp]; mov [rsp-120],rcx; lea rcx,[rip+?]; mov [rsp],rcx
        self.bytes.extend([0x48, 0x8b, 0x0c, 0x24]);
        self.bytes.extend([0x48, 0x89, 0x4c, 0x24, SAVED_RETURN_DEPTH.wrapping_neg()]);
        self.bytes.extend([0x48, 0x8d, 0x0d, 0, 0, 0, 0]);
        let back = self.bytes.len();
        self.bytes.extend([0x48, 0x89, 0x0c, 0x24]);
        back
    }

    /// Replaces the four bytes before the index `end`.
    fn patch_word(&mut self, end: usize, word: i32) {
        if let Some(bytes) = self.bytes.get_mut(end.saturating_sub(4)..end) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Appends a check whether the number in `eax` is wanted, for a site with a variable number.
    /// Returns the indices after the two short jumps that are taken if it is not.
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

    /// Directs the filter's short jumps to the current end of the bytes.
    fn land_skips(&mut self, skips: Option<[usize; 2]>) {
        let here = self.bytes.len();
        for jump_end in skips.into_iter().flatten() {
            // The hook in between has less than 50 bytes.
            if let Some(distance) = self.bytes.get_mut(jump_end.saturating_sub(1)) {
                *distance = (here - jump_end) as u8;
            }
        }
    }

    /// Appends the jump into the library, which returns after it.
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

    /// Appends a `lea` of the address after the jump, into the register encoded in `lea`, and the
    /// jump to the entry at index `entry` of the header.
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

    /// Appends the jump back to the end of a window, if its instructions get there.
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

    /// Appends the instructions of a window, re-encoded for this address.
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
        // Each is a separate block, or a jump to the window's beginning would become a jump to
        // here.
        for instruction in &code {
            if instruction.op0_kind() == OpKind::NearBranch64 {
                self.distance_bytes(site, self.next_address(), instruction.near_branch_target())?;
                // A branch beyond the range of its distance would be encoded with its target after
                // itself.
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
