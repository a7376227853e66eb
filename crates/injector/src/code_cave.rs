//! Code cave: a few instructions in unused bytes of a process's code, from which the tracer makes
//! system calls in the process. The instructions lead to the program's beginning by themselves, so
//! if the tracer is killed at any moment, the process runs its program as if nothing had happened.
//!
//! Each system call, and the called function, is followed by code that restores the blocked
//! signals, the stack pointer and rdx, and jumps to the program's first instruction. At that point
//! no other register has a meaning (System V ABI, "Process Initialization").

pub(crate) mod interrupted;

use crate::facts::{AuxiliaryVector, ProgramHeaders};
use crate::maps::{MemoryRegion, PAGE};
use crate::memory::ProcessMemory;
use crate::outcome::Error;

/// State with which the process continues by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResumeState {
    /// Signals to block, a bit each.
    pub mask: u64,
    /// Stack pointer.
    pub stack: u64,
    /// Value of rdx: a function for the end of the program, or 0.
    pub rdx: u64,
    /// Address of the program's first instruction.
    pub entry: u64,
}

/// Offset of the return address of a called function. The code there keeps the result in rdi and
/// makes a system call without effect, at which the tracer finds it.
const RETURN_TARGET: u64 = 4;
/// Offset after the system call at [`RETURN_TARGET`]: from here the process begins its program by
/// itself.
const RESUME_AT: u64 = 14;
/// Size of code and data, in bytes.
pub(crate) const CAVE_BYTES: usize = 96;

/// The instructions. The four numbers of [`ResumeState`] follow them.
const CODE: [u8; 64] = [
    0x0f, 0x05, // syscall
    0xeb, 0x0a, // jmp finish
    0x48, 0x89, 0xc7, // called: mov rdi, rax
    0xb8, 0x27, 0x00, 0x00, 0x00, // mov eax, getpid
    0x0f, 0x05, // syscall
    0xb8, 0x0e, 0x00, 0x00, 0x00, // finish: mov eax, rt_sigprocmask
    0xbf, 0x02, 0x00, 0x00, 0x00, // mov edi, SIG_SETMASK
    0x48, 0x8d, 0x35, 0x21, 0x00, 0x00, 0x00, // lea rsi, [rip + mask]
    0x31, 0xd2, // xor edx, edx
    0x41, 0xba, 0x08, 0x00, 0x00, 0x00, // mov r10d, 8
    0x0f, 0x05, // syscall
    0x48, 0x8b, 0x25, 0x18, 0x00, 0x00, 0x00, // mov rsp, [rip + stack]
    0x48, 0x8b, 0x15, 0x19, 0x00, 0x00, 0x00, // mov rdx, [rip + rdx]
    0xff, 0x25, 0x1b, 0x00, 0x00, 0x00, // jmp [rip + entry]
    0xcc, 0xcc, 0xcc, // nothing
];

/// Assembles code and numbers.
pub(crate) fn assemble_cave(back: ResumeState) -> Vec<u8> {
    let numbers = [back.mask, back.stack, back.rdx, back.entry];
    let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
    CODE.into_iter().chain(numbers).collect()
}

/// Addresses at which a code cave may be placed: between the end of an executable segment and the
/// end of its page.
pub(crate) fn unused_code(
    headers: &ProgramHeaders,
    bias: u64,
    regions: &[MemoryRegion],
    bytes: usize,
) -> Vec<u64> {
    // A segment that is longer in memory than in the file is followed by the program's variables.
    let segments = headers.segments.iter();
    let whole =
        segments.filter(|segment| segment.executable && segment.file_bytes == segment.bytes);
    let places = whole.filter_map(|segment| {
        let end = segment.start.wrapping_add(bias).checked_add(segment.file_bytes)?;
        let place = end.checked_next_multiple_of(16)?;
        let fits = place.checked_add(bytes as u64)? <= end.checked_next_multiple_of(PAGE)?;
        fits.then_some(place)
    });
    places.filter(|place| is_code(*place, regions, bytes)).collect()
}

/// Addresses in the vDSO at which a code cave may be placed: its last bytes, if they are zero or
/// the cave of a killed recorder.
pub(crate) fn unused_vdso(
    auxiliary: &AuxiliaryVector,
    regions: &[MemoryRegion],
    memory: &ProcessMemory,
    bytes: usize,
) -> Vec<u64> {
    let is_it = |region: &&MemoryRegion| {
        region.start == auxiliary.vdso && region.executable && !region.shared
    };
    let vdso = regions.iter().find(is_it);
    let place = vdso.and_then(|region| region.end.checked_sub(bytes as u64));
    let unused = |place: &u64| memory.read(*place, bytes).is_ok_and(|bytes| is_unused(&bytes));
    place.filter(unused).into_iter().collect()
}

/// Whether the last bytes of the vDSO are unused.
fn is_unused(bytes: &[u8]) -> bool {
    let (before, last) = bytes.split_at(bytes.len().saturating_sub(CAVE_BYTES));
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    interrupted::is_cave(bytes) || is_zero(before) && (is_zero(last) || last.starts_with(&CODE))
}

/// Whether all bytes of a code cave would be executable and private to the process.
fn is_code(place: u64, regions: &[MemoryRegion], bytes: usize) -> bool {
    let end = place.saturating_add(bytes as u64);
    let holds = |region: &&MemoryRegion| region.start <= place && end <= region.end;
    regions.iter().filter(holds).any(|region| region.executable && !region.shared)
}

/// Code cave in use.
#[derive(Debug)]
pub(crate) struct CodeCave {
    at: u64,
    old: Vec<u8>,
}

impl CodeCave {
    /// Writes a code cave into unused bytes of the program's code or of the vDSO. `code` comes from
    /// this file, or from [`interrupted`].
    pub(crate) fn take_cave(
        process: u32,
        memory: &ProcessMemory,
        places: &[u64],
        code: &[u8],
    ) -> Result<CodeCave, Error> {
        let at = *places.first().ok_or(Error::NoFoothold { process })?;
        let mut old = memory.read(at, code.len())?;
        if interrupted::is_cave(&old) {
            old.fill(0);
        }
        memory.write(at, code)?;
        Ok(CodeCave { at, old })
    }

    /// Address of the instruction `syscall`.
    pub(crate) fn call_address(&self) -> u64 {
        self.at
    }

    /// Address from which the process begins its program by itself.
    pub(crate) fn finish_address(&self) -> u64 {
        self.at + RESUME_AT
    }

    /// Return address of a called function.
    pub(crate) fn return_target(&self) -> u64 {
        self.at + RETURN_TARGET
    }

    /// Address at which a called function has returned.
    pub(crate) fn returned_address(&self) -> u64 {
        self.at + RESUME_AT
    }

    /// Restores the bytes that the code cave has replaced.
    pub(crate) fn restore_bytes(&self, memory: &ProcessMemory) -> Result<(), Error> {
        memory.write(self.at, &self.old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::ProgramSegment;

    #[test]
    fn the_numbers_are_where_the_instructions_look() {
        let bytes = assemble_cave(ResumeState { mask: 1, stack: 2, rdx: 3, entry: 4 });
        assert_eq!(bytes.len(), CAVE_BYTES);
        // Offset after an instruction that ends in a distance, and the number that it must lead to.
        for (after, number) in [(31, 1), (48, 2), (55, 3), (61, 4)] {
            let distance: [u8; 4] = bytes[after - 4..after].try_into().unwrap();
            let at = after + u32::from_le_bytes(distance) as usize;
            assert_eq!(bytes[at..at + 8], u64::to_le_bytes(number), "after {after}");
        }
        // The jump over the code at the return address.
        assert_eq!(4 + u64::from(bytes[3]), RESUME_AT);
        assert_eq!(bytes[RETURN_TARGET as usize..][..3], [0x48, 0x89, 0xc7]);
        assert_eq!(bytes[RESUME_AT as usize - 2..][..2], [0x0f, 0x05]);
    }

    /// In a program without another place, no recorder could attach again.
    #[test]
    fn a_killed_recorders_cave_is_reused() {
        let zeros = || vec![0; interrupted::cave_bytes()];
        let with = |at: usize, code: &[u8]| {
            let mut bytes = zeros();
            bytes[at..at + code.len()].copy_from_slice(code);
            bytes
        };
        // SAFETY: the structure consists of numbers.
        let registers = unsafe { std::mem::zeroed() };
        let back = ResumeState { mask: 1, stack: 2, rdx: 3, entry: 4 };
        assert!(is_unused(&zeros()));
        assert!(is_unused(&interrupted::assemble_cave(&registers, &[7; 600], 1)));
        assert!(is_unused(&with(interrupted::cave_bytes() - CAVE_BYTES, &assemble_cave(back))));
        assert!(!is_unused(&with(0, &[1])));
        assert!(!is_unused(&with(interrupted::cave_bytes() - 1, &[1])));
    }

    #[test]
    fn a_cave_is_placed_after_code_with_room_in_its_page() {
        let regions =
            [MemoryRegion { start: 0x40_1000, end: 0x40_3000, executable: true, shared: false }];
        let segment = |file_bytes, bytes, executable| ProgramHeaders {
            segments: vec![ProgramSegment { start: 0x1000, file_bytes, bytes, executable }],
            interpreted: false,
        };
        let places =
            |headers: &ProgramHeaders| unused_code(headers, 0x40_0000, &regions, CAVE_BYTES);
        assert_eq!(places(&segment(0x1235, 0x1235, true)), [0x40_2240]);
        assert_eq!(places(&segment(0x1fa0, 0x1fa0, true)), [0x40_2fa0]);
        for none in [
            segment(0x1fa1, 0x1fa1, true),
            segment(0x2000, 0x2000, true),
            segment(0x1235, 0x2235, true),
            segment(0x1235, 0x1235, false),
            segment(0x2235, 0x2235, true),
        ] {
            assert_eq!(places(&none), [0u64; 0], "{none:?}");
        }
    }
}
