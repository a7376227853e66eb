//! Instructions of the processor that not all x86-64 processors have. A child process inherits what
//! was detected: under some hypervisors each `cpuid` takes microseconds.

use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;

/// A set of instructions.
#[derive(Clone, Copy)]
pub(crate) struct Instructions(u8);

impl Instructions {
    /// Carry-less multiplication (PCLMULQDQ) in registers of 128 bits, and SSE 4.1.
    pub(crate) const FOLDING: Instructions = Instructions(1);
    /// AVX2 and the instructions of its generation that count bits (POPCNT, LZCNT, BMI), if the
    /// system saves the wide registers.
    pub(crate) const AVX2: Instructions = Instructions(1 << 1);
    /// Carry-less multiplication (VPCLMULQDQ) in registers of 256 bits.
    pub(crate) const WIDE_FOLDING: Instructions = Instructions(1 << 2);
}

/// The instructions that were found.
static FOUND: AtomicU8 = AtomicU8::new(0);
/// Bit of [`FOUND`] that states that the processor was asked.
const ASKED: u8 = 1 << 7;

/// Whether the processor has these instructions; false until [`detect_instructions`] was called.
#[inline(always)]
pub(crate) fn has(instructions: Instructions) -> bool {
    FOUND.load(Relaxed) & instructions.0 != 0
}

/// Detects the processor's instructions, unless this process or its parent has done so.
pub(crate) fn detect_instructions() {
    const PCLMULQDQ: u32 = 1 << 1;
    const SSSE3: u32 = 1 << 9;
    const SSE41: u32 = 1 << 19;
    const POPCNT: u32 = 1 << 23;
    const OSXSAVE: u32 = 1 << 27;
    const BMI1: u32 = 1 << 3;
    const AVX2: u32 = 1 << 5;
    const BMI2: u32 = 1 << 8;
    const VPCLMULQDQ: u32 = 1 << 10;
    const LZCNT: u32 = 1 << 5;
    const SSE_AND_AVX_STATE: u64 = 0b110;
    if FOUND.load(Relaxed) & ASKED != 0 {
        return;
    }
    let contains = |register: u32, bits: u32| register & bits == bits;
    let basic = __cpuid(1).ecx;
    let mut found = ASKED;
    if contains(basic, PCLMULQDQ | SSSE3 | SSE41) {
        found |= Instructions::FOLDING.0;
    }
    let extended = (__cpuid(0).eax >= 7).then(|| __cpuid_count(7, 0));
    let counts_zeros = __cpuid(0x8000_0000).eax > 0x8000_0000
        && contains(__cpuid(0x8000_0001).ecx, LZCNT)
        && contains(basic, POPCNT);
    if let Some(extended) = extended
        && contains(basic, OSXSAVE)
        && contains(extended.ebx, AVX2 | BMI1 | BMI2)
        && counts_zeros
        // SAFETY: the processor has the instruction, as it has just reported.
        && unsafe { _xgetbv(0) } & SSE_AND_AVX_STATE == SSE_AND_AVX_STATE
    {
        found |= Instructions::AVX2.0;
        if found & Instructions::FOLDING.0 != 0 && contains(extended.ecx, VPCLMULQDQ) {
            found |= Instructions::WIDE_FOLDING.0;
        }
    }
    FOUND.store(found, Relaxed);
}
