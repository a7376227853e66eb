//! Interpreter of seccomp filters: the kernel's classic packet filter (BPF), as far as it is used
//! for system calls.
//!
//! A program that restricts itself passes its filter to the kernel through a hook. Interpreting a
//! copy of the filter shows which system calls it permits. Trying a call that it does not permit
//! would kill the program.

use libc::sock_filter;

/// Maximum number of instructions in a filter that the kernel accepts.
pub(crate) const MAX_INSTRUCTIONS: usize = 4096;

/// Number of memory words of a filter.
const MEMORY_WORDS: usize = 16;

/// System call, in the words that filters inspect: number, architecture, the calling instruction's
/// address, and the six arguments; each of the last seven in two words, the low one first.
pub(crate) struct SystemCall([u32; 16]);

/// The kernel's number of this architecture (`AUDIT_ARCH_`).
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;

/// The kernel's number of this architecture (`AUDIT_ARCH_`).
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

impl SystemCall {
    /// System call as this library makes it.
    pub(crate) fn new(number: usize, arguments: &[usize; 6]) -> SystemCall {
        let mut words = [0; 16];
        let own = SystemCall::new as *const () as usize;
        words[0] = number as u32;
        words[1] = ARCHITECTURE;
        for (pair, value) in words[2..].chunks_exact_mut(2).zip([&own].into_iter().chain(arguments))
        {
            pair.copy_from_slice(&[*value as u32, (*value >> 32) as u32]);
        }
        SystemCall(words)
    }
}

/// Result of the filter: a `SECCOMP_RET_` word. `None` for a filter that the kernel would have
/// rejected.
pub(crate) fn run_filter(filter: &[sock_filter], call: &SystemCall) -> Option<u32> {
    let (mut a, mut x) = (0u32, 0u32);
    let mut memory = [0u32; MEMORY_WORDS];
    let mut at = 0;
    // Jumps lead forward only, so this ends.
    loop {
        let instruction = filter.get(at)?;
        let (code, k) = (u32::from(instruction.code), instruction.k);
        at += 1;
        // The low three bits are the class.
        match code & 7 {
            // Loads: absolute, immediate, from memory, the length. The other modes do not apply to
            // a system call.
            class @ (libc::BPF_LD | libc::BPF_LDX) => {
                let value = match code & 0xe0 {
                    libc::BPF_ABS if k % 4 == 0 => *call.0.get(k as usize / 4)?,
                    libc::BPF_IMM => k,
                    libc::BPF_MEM => *memory.get(k as usize)?,
                    libc::BPF_LEN => size_of::<SystemCall>() as u32,
                    _ => return None,
                };
                *(if class == libc::BPF_LD { &mut a } else { &mut x }) = value;
            }
            libc::BPF_ST => *memory.get_mut(k as usize)? = a,
            libc::BPF_STX => *memory.get_mut(k as usize)? = x,
            libc::BPF_ALU => {
                let operand = if code & libc::BPF_X != 0 { x } else { k };
                a = calculate_operation(code & 0xf0, a, operand)?;
            }
            libc::BPF_JMP => {
                let operand = if code & libc::BPF_X != 0 { x } else { k };
                let is_true = match code & 0xf0 {
                    libc::BPF_JA => {
                        at = at.checked_add(k as usize)?;
                        continue;
                    }
                    libc::BPF_JEQ => a == operand,
                    libc::BPF_JGT => a > operand,
                    libc::BPF_JGE => a >= operand,
                    libc::BPF_JSET => a & operand != 0,
                    _ => return None,
                };
                at += usize::from(if is_true { instruction.jt } else { instruction.jf });
            }
            libc::BPF_RET => return Some(if code & 0x18 == libc::BPF_A { a } else { k }),
            _ if code & 0xf8 == libc::BPF_TXA => a = x,
            _ => x = a,
        }
    }
}

/// Result of an arithmetic instruction; `None` for a division by zero or an unknown operation.
fn calculate_operation(operation: u32, a: u32, operand: u32) -> Option<u32> {
    Some(match operation {
        libc::BPF_ADD => a.wrapping_add(operand),
        libc::BPF_SUB => a.wrapping_sub(operand),
        libc::BPF_MUL => a.wrapping_mul(operand),
        // The kernel ends the filter here with a zero, which kills the process.
        libc::BPF_DIV => a.checked_div(operand)?,
        libc::BPF_AND => a & operand,
        libc::BPF_OR => a | operand,
        libc::BPF_XOR => a ^ operand,
        libc::BPF_LSH => a.checked_shl(operand).unwrap_or(0),
        libc::BPF_RSH => a.checked_shr(operand).unwrap_or(0),
        libc::BPF_NEG => a.wrapping_neg(),
        _ => return None,
    })
}
