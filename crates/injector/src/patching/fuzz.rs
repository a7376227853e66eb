//! Arbitrary bytes as an image, for fuzzing and property tests. Panics if an invariant is violated:
//! patches are disjoint, replace the bytes that they name, keep each system call that stays, and
//! lead to the same instructions. The invariants are checked for arbitrary bytes as a kept plan,
//! too.

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, OpKind, Register};

use crate::patching::image::ElfImage;
use crate::patching::kind::PatchKind;
use crate::patching::numbers::SyscallNumber;
use crate::patching::plan::{PatchPlan, PatchSite, plan_patches};
use crate::patching::stubs::{ImagePatches, StubEntries, assemble_patches};
use crate::patching::tuning::{HEADER_BYTES, JUMP_BYTES};
use crate::patching::windows::PatchWindow;

const ENTRIES: StubEntries = StubEntries {
    before_c: 1,
    after_c: 2,
    before_go: 3,
    before_goroutine: 5,
    after_go: 4,
    ready: Some(6),
};

/// Size of the check of a variable number, in bytes.
const FILTER_BYTES: u64 = 27;

/// Patches `file` if it is a program.
pub fn fuzz(file: &[u8]) {
    let Ok(image) = ElfImage::parse(file) else { return };
    let Ok(plan) = plan_patches(&image) else { return };
    assert!(plan.sites.is_sorted_by_key(|site| site.address), "sites are in order");
    let at = plan.span.end.saturating_add(1 << 20) & !0xfff;
    for bias in [0, 0x5555_0000_0000] {
        let stubs_at = at.wrapping_add(bias);
        let Ok(patches) = assemble_patches(&plan, bias, stubs_at, &ENTRIES) else { continue };
        assert!(patches.stubs.len() <= plan.stub_bytes(), "stubs are larger than announced");
        check_patches(&image, &plan.sites, &patches, bias, stubs_at);
    }
}

/// Reads bytes as a kept plan, and as the content of one. A plan that is read can be assembled, and
/// is encoded to the same bytes.
pub fn fuzz_kept(bytes: &[u8]) {
    check_plan_bytes(bytes);
    check_plan_bytes(&crate::patching::plan_bytes::with_header(bytes));
}

fn check_plan_bytes(bytes: &[u8]) {
    let key = b"a key";
    let Some(plan) = PatchPlan::from_bytes(bytes, key) else { return };
    let again = plan.to_bytes(key).ok().and_then(|bytes| PatchPlan::from_bytes(&bytes, key));
    assert_eq!(again.as_ref(), Some(&plan));
    for bias in [0, 0x5555_0000_0000] {
        // An instruction that cannot be moved is an error.
        let _ = assemble_patches(&plan, bias, plan.span.end.wrapping_add(bias) & !0xfff, &ENTRIES);
    }
}

fn check_patches(
    image: &ElfImage<'_>,
    sites: &[PatchSite],
    patches: &ImagePatches,
    bias: u64,
    stubs_at: u64,
) {
    let bytes = |address: u64, count: usize| {
        let mut code = image.code_segments();
        code.find_map(|segment| segment.bytes_from(address)?.get(..count))
    };
    let mut end = 0;
    for patch in &patches.patches {
        assert!(patch.address >= end, "{patch:?} touches another");
        assert_eq!((patch.old.len(), patch.new.len()), (JUMP_BYTES, JUMP_BYTES));
        end = patch.address.wrapping_add(JUMP_BYTES as u64);
        let linked = patch.address.wrapping_sub(bias);
        assert!(image.code_segments().any(|segment| {
            segment.bytes_from(linked).is_some_and(|of| of.starts_with(&patch.old))
        }));
        let of = sites.iter().find(|site| site.address.wrapping_add(bias) == patch.call);
        let windows = of.map(|site| [site.before.as_ref(), site.after.as_ref()]);
        let is_of_it = windows.is_some_and(|windows| {
            windows.into_iter().flatten().any(|window| window.address == linked)
        });
        assert!(is_of_it || patch.call == patch.address, "{patch:?} is for another call");
        let moved = sites.iter().filter(|site| site.kind != PatchKind::Over);
        for site in moved.filter(|site| site.numbers.may_be_wanted()) {
            let apart = site.address + 2 <= linked || site.address >= linked + JUMP_BYTES as u64;
            assert!(apart, "{patch:?} is over {site:?}");
        }
    }
    let check = StubWalker { patches, bias, stubs_at };
    for site in sites {
        let patched = !matches!(site.kind, PatchKind::Unpatched(_));
        assert_eq!(site.before.is_some(), patched, "{site:?}");
        for window in site.before.iter().chain(&site.after) {
            assert_eq!(bytes(window.address, window.displaced.len()), Some(&*window.displaced));
        }
        let filter = if site.numbers == SyscallNumber::Variable { FILTER_BYTES } else { 0 };
        let (Some(before), after) = (&site.before, &site.after) else { continue };
        if site.kind == PatchKind::Over {
            let last = check.compare_window(before, check.jump_target(before.address));
            let last = check.hook_return(check.hook_return(last + filter) + 2);
            if let Some(after) = after {
                check.compare_window(after, last);
            }
            continue;
        }
        // In a shared window, the hook after the first call comes first.
        let is_shared = sites
            .iter()
            .any(|other| other.address != site.address && other.after.as_ref() == Some(before));
        let begin = check.jump_target(before.address);
        let begin = if is_shared { check.hook_return(begin) } else { begin };
        let last = check.compare_window(before, begin);
        check.hook_return(last + filter);
        if let Some(after) = after {
            assert_eq!(after.address, site.address + 2);
            check.compare_window(after, check.hook_return(check.jump_target(after.address)));
        }
    }
}

struct StubWalker<'a> {
    patches: &'a ImagePatches,
    bias: u64,
    stubs_at: u64,
}

impl StubWalker<'_> {
    /// Target of the jump at an address of the program.
    fn jump_target(&self, linked: u64) -> u64 {
        let address = linked.wrapping_add(self.bias);
        let patch = self.patches.patches.iter().find(|patch| patch.address == address);
        let patch = patch.unwrap_or_else(|| unreachable!("no jump at {linked:#x}"));
        let mut decoder = Decoder::with_ip(64, &patch.new, address, DecoderOptions::NONE);
        let jump = decoder.decode();
        assert_eq!(jump.code(), Code::Jmp_rel32_64);
        assert!(jump.near_branch_target() - self.stubs_at >= HEADER_BYTES as u64);
        jump.near_branch_target()
    }

    /// Address after the hook at `at`, which sets where to continue and jumps to an entry: directly
    /// if the entry is near, and nowhere else.
    fn hook_return(&self, at: u64) -> u64 {
        let mut there = self.decoder_at(at);
        let (lea, jump) = (there.decode(), there.decode());
        assert_eq!((lea.code(), lea.op0_register()), (Code::Lea_r64_m, Register::RCX), "{at:#x}");
        assert_eq!(lea.ip_rel_memory_address(), there.ip(), "where it goes on");
        let entries = [1, 2, 3, 4, 5];
        if jump.code() == Code::Jmp_rel32_64 {
            assert!(entries.contains(&jump.near_branch_target()));
        } else {
            assert!(jump.code() == Code::Jmp_rm64 && there.ip() > 1 << 31, "{at:#x}");
            let place = (jump.ip_rel_memory_address() - self.stubs_at) as usize;
            assert!(place < HEADER_BYTES);
            let entry = self.patches.stubs.get(place..).and_then(|bytes| bytes.first_chunk());
            assert!(entry.is_some_and(|entry| entries.contains(&u64::from_le_bytes(*entry))));
        }
        there.ip()
    }

    fn decoder_at(&self, at: u64) -> Decoder<'_> {
        let skipped = (at - self.stubs_at) as usize;
        let bytes = self.patches.stubs.get(skipped..).unwrap_or_default();
        Decoder::with_ip(64, bytes, at, DecoderOptions::NONE)
    }

    /// Compares the instructions of a window with the instructions of its stub. Returns the address
    /// after the instructions of the stub.
    fn compare_window(&self, window: &PatchWindow, at: u64) -> u64 {
        let own = window.address.wrapping_add(self.bias);
        let mut there = self.decoder_at(at);
        for instruction in Decoder::with_ip(64, &window.displaced, own, DecoderOptions::NONE) {
            let mut moved = there.decode();
            if [Code::Call_rel32_64, Code::Call_rm64].contains(&instruction.code()) {
                assert_eq!(moved.code(), Code::Push_rm64);
                let word = (moved.ip_rel_memory_address() - self.stubs_at) as usize;
                let word = self.patches.stubs.get(word..).and_then(|of| of.first_chunk());
                let pushed = word.map(|word| u64::from_le_bytes(*word));
                assert_eq!(pushed, Some(instruction.next_ip()), "what is returned to");
                moved = there.decode();
                assert!(
                    [Code::Jmp_rel32_64, Code::Jmp_rel8_64, Code::Jmp_rm64].contains(&moved.code())
                );
                moved.set_code(instruction.code());
            }
            assert!(is_same(&instruction, &moved), "{instruction:?} became {moved:?}");
        }
        there.ip()
    }
}

fn is_near_branch(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::NearBranch64
}

/// Whether two instructions at different addresses do the same.
fn is_same(one: &Instruction, other: &Instruction) -> bool {
    if one.mnemonic() != other.mnemonic() || one.op_count() != other.op_count() {
        return false;
    }
    if is_near_branch(one) {
        let (target, there) = (one.near_branch_target(), other.near_branch_target());
        // A jump to itself is the same at any address.
        let is_loop = target == one.ip() && there == other.ip();
        return is_near_branch(other) && (target == there || is_loop);
    }
    let of_memory = |of: &Instruction| {
        let displacement = of.memory_displacement64();
        (
            of.memory_base(),
            of.memory_index(),
            of.memory_index_scale(),
            displacement,
            of.segment_prefix(),
        )
    };
    // An immediate may be encoded in a shorter form.
    of_memory(one) == of_memory(other)
        && (0..one.op_count()).all(|at| {
            (one.op_register(at), one.try_immediate(at).ok())
                == (other.op_register(at), other.try_immediate(at).ok())
        })
}
