//! Code cave for a thread that was interrupted anywhere: like the code cave of the parent module,
//! but it restores all registers, as each has a meaning where the program continues.
//!
//! The instructions are used as bytes and run only in the other process.

use crate::ptrace::Registers;

/// Size of the vector registers in the layout of `fxsave`, with which an `xsave` area begins, in
/// bytes.
const VECTOR_BYTES: usize = 512;

core::arch::global_asm!(
    ".pushsection .rodata.sockcap_whole_foothold,\"a\",@progbits",
    // The compiler may put the code that uses the labels into another object file.
    ".globl sockcap_whole_begin, sockcap_whole_end",
    ".hidden sockcap_whole_begin, sockcap_whole_end",
    ".balign 16",
    "sockcap_whole_begin:",
    // As in the code cave of the parent module: a system call; the return address of a called
    // function; the code that restores everything.
    "syscall",
    ".byte 0xeb, 10",
    "mov rdi, rax",
    "mov eax, 39",
    "syscall",
    "lea rsp, [rip + 5f]",
    // Neither moves nor a system call change the flags.
    "popfq",
    "mov rsp, [rip + 6f]",
    "fxrstor64 [rip + 3f]",
    "mov eax, 14",
    "mov edi, 2",
    "lea rsi, [rip + 4f]",
    "mov edx, 0",
    "mov r10d, 8",
    "syscall",
    "mov r15, [rip + 8f]",
    "mov r14, [rip + 8f + 8]",
    "mov r13, [rip + 8f + 16]",
    "mov r12, [rip + 8f + 24]",
    "mov r11, [rip + 8f + 32]",
    "mov r10, [rip + 8f + 40]",
    "mov r9, [rip + 8f + 48]",
    "mov r8, [rip + 8f + 56]",
    "mov rdi, [rip + 8f + 64]",
    "mov rsi, [rip + 8f + 72]",
    "mov rbp, [rip + 8f + 80]",
    "mov rbx, [rip + 8f + 88]",
    "mov rdx, [rip + 8f + 96]",
    "mov rcx, [rip + 8f + 104]",
    "mov rax, [rip + 8f + 112]",
    "jmp [rip + 7f]",
    ".balign 16",
    "sockcap_whole_end:",
    "3: .skip 512",
    "4: .quad 0",
    "5: .quad 0",
    "6: .quad 0",
    "7: .quad 0",
    "8: .skip 120",
    ".popsection",
);

unsafe extern "C" {
    #[link_name = "sockcap_whole_begin"]
    static BEGIN: u8;
    #[link_name = "sockcap_whole_end"]
    static END: u8;
}

/// The instructions.
fn instruction_bytes() -> &'static [u8] {
    let (begin, end) = (&raw const BEGIN, &raw const END);
    // SAFETY: both are labels around constant bytes of this program.
    unsafe { std::slice::from_raw_parts(begin, end.addr() - begin.addr()) }
}

/// Size of code and data, in bytes.
pub(crate) fn cave_bytes() -> usize {
    (instruction_bytes().len() + VECTOR_BYTES + 19 * 8).next_multiple_of(16)
}

/// Assembles code and numbers for a thread with these registers, vector registers (as `xsave` lays
/// them out) and blocked signals. An interrupted system call is restarted.
pub(crate) fn assemble_cave(registers: &Registers, vectors: &[u8], mask: u64) -> Vec<u8> {
    let at = restart_syscall(registers);
    let mut code = instruction_bytes().to_vec();
    let end = code.len() + VECTOR_BYTES;
    code.extend(vectors.iter().take(VECTOR_BYTES));
    code.resize(end, 0);
    let numbers = [
        mask, at.eflags, at.rsp, at.rip, at.r15, at.r14, at.r13, at.r12, at.r11, at.r10, at.r9,
        at.r8, at.rdi, at.rsi, at.rbp, at.rbx, at.rdx, at.rcx, at.rax,
    ];
    code.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    code.resize(cave_bytes(), 0);
    code
}

/// Whether bytes are a code cave of this kind.
pub(crate) fn is_cave(bytes: &[u8]) -> bool {
    bytes.starts_with(instruction_bytes())
}

/// Whether the kernel would restart a thread's system call.
pub(crate) fn is_interrupted(registers: &Registers) -> bool {
    const RESTART_CODES: [i64; 4] = [-512, -513, -514, -516];
    registers.orig_rax.cast_signed() >= 0 && RESTART_CODES.contains(&registers.rax.cast_signed())
}

/// Registers of a thread as the kernel would set them to restart its system call.
fn restart_syscall(registers: &Registers) -> Registers {
    const RESTART_BLOCK: i64 = -516;
    let mut again = *registers;
    if is_interrupted(registers) {
        again.rip = registers.rip.wrapping_sub(2);
        again.rax = match registers.rax.cast_signed() {
            RESTART_BLOCK => libc::SYS_restart_syscall as u64,
            _ => registers.orig_rax,
        };
    }
    again
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers() -> Registers {
        // SAFETY: the structure consists of numbers.
        unsafe { std::mem::zeroed() }
    }

    #[test]
    fn both_caves_begin_with_the_same_instructions() {
        let code = assemble_cave(&registers(), &[7; 600], 1);
        assert_eq!(code.len(), cave_bytes());
        assert_eq!(code[..14], super::super::CODE[..14]);
        assert_eq!(code[instruction_bytes().len()..][..VECTOR_BYTES], [7; VECTOR_BYTES]);
    }

    #[test]
    fn an_interrupted_call_is_restarted() {
        let mut of = registers();
        (of.rip, of.orig_rax) = (100, 45);
        for (rax, expected) in [(-512, 45), (-513, 45), (-514, 45), (-516, 219)] {
            of.rax = i64::cast_unsigned(rax);
            assert_eq!((restart_syscall(&of).rip, restart_syscall(&of).rax), (98, expected));
        }
        of.rax = 5;
        assert_eq!((restart_syscall(&of).rip, restart_syscall(&of).rax), (100, 5));
        (of.rax, of.orig_rax) = (i64::cast_unsigned(-512), u64::MAX);
        assert_eq!(restart_syscall(&of).rip, 100);
    }
}
