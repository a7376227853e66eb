//! Machine code that makes system calls by itself, past libc.
//!
//! An instruction that calls the kernel takes the call's number from a register. Compilers set that
//! register to a constant shortly before, or, in a function that makes any call, copy it from an
//! argument. Code is not disassembled: all bytes that look like one of these two forms count. Of
//! all dynamically linked programs and libraries of a Debian 12 with compilers, Java and LLVM, only
//! two were found: liburing, and stress-ng, which has a function that makes any call. A call whose
//! constant is kept in another register is not found; libgomp has one, but makes no socket calls.

#[cfg(target_arch = "x86_64")]
use socket_log::layout::uncaptured::CALLS_ANY;
use socket_log::layout::uncaptured::{CALLS_RINGS, CALLS_SOCKETS};

/// Maximum number of bytes between the constant and the call. Compilers put the other arguments in
/// between.
pub(crate) const REACH: usize = 64;

/// Kind of the system call with this number, a flag of [`socket_log::layout::uncaptured`]; 0 for
/// calls that move no bytes of sockets.
fn call_kind(number: u32) -> u32 {
    match i64::from(number) {
        libc::SYS_io_uring_setup => CALLS_RINGS,
        libc::SYS_socket
        | libc::SYS_connect
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_sendto
        | libc::SYS_sendmsg
        | libc::SYS_sendmmsg
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_recvmmsg
        | libc::SYS_bind
        | libc::SYS_listen => CALLS_SOCKETS,
        _ => 0,
    }
}

/// Kinds of calls in the code, as flags of [`socket_log::layout::uncaptured`]. Its first [`REACH`]
/// bytes are only searched for numbers.
#[cfg(target_arch = "x86_64")]
pub(crate) fn own_calls(code: &[u8]) -> u32 {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let mut found = 0;
    let mut rest = REACH.min(code.len());
    while let Some(at) = find_pair(code.get(rest..).unwrap_or(&[]), SYSCALL) {
        let site = rest + at;
        let before = code.get(site - REACH..site).unwrap_or(&[]);
        found |= match takes_number(before) {
            true => CALLS_ANY,
            false => number_before(before).map_or(0, call_kind),
        };
        rest = site + SYSCALL.len();
    }
    found
}

/// Index of the first occurrence of these two bytes.
#[cfg(target_arch = "x86_64")]
fn find_pair(bytes: &[u8], [first, second]: [u8; 2]) -> Option<usize> {
    use core::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
    };
    const STEP: usize = size_of::<__m128i>();
    let mut at = 0;
    // SAFETY: every x86-64 has these instructions, and both loads lie within the bytes.
    unsafe {
        let [wanted, wanted_next] = [first, second].map(|byte| _mm_set1_epi8(byte as i8));
        while at + STEP < bytes.len() {
            let place = bytes.as_ptr().add(at);
            let here = _mm_cmpeq_epi8(_mm_loadu_si128(place.cast()), wanted);
            let next = _mm_cmpeq_epi8(_mm_loadu_si128(place.add(1).cast()), wanted_next);
            let both = _mm_movemask_epi8(_mm_and_si128(here, next));
            if both != 0 {
                return Some(at + both.trailing_zeros() as usize);
            }
            at += STEP;
        }
    }
    let rest = bytes.get(at..)?.windows(2).position(|pair| *pair == [first, second])?;
    Some(at + rest)
}

/// Whether the last instructions of `code` copy words between registers and from the stack, and one
/// of them copies the call's number from the stack or from a function's first argument: then the
/// function makes any call.
#[cfg(target_arch = "x86_64")]
fn takes_number(mut code: &[u8]) -> bool {
    const NUMBER: u8 = 0;
    const FIRST_ARGUMENT: u8 = 7;
    // A prefix has another bit for each of the two registers of an instruction.
    let register = |low: u8, prefix: u8, bit: u8| low & 7 | (prefix >> bit & 1) << 3;
    loop {
        let (length, to, from) = match *code {
            // mov REGISTER, [rsp + OFFSET]
            [.., p @ (0x48 | 0x4c), 0x8b, to, 0x24, _] if to & 0xc7 == 0x44 => {
                (5, register(to >> 3, p, 2), None)
            }
            // mov REGISTER, [rbp + OFFSET]
            [.., p @ (0x48 | 0x4c), 0x8b, to, _] if to & 0xc7 == 0x45 => {
                (4, register(to >> 3, p, 2), None)
            }
            // mov REGISTER, REGISTER
            [.., p @ (0x48 | 0x49 | 0x4c | 0x4d), 0x89, both] if both >= 0xc0 => {
                (3, register(both, p, 0), Some(register(both >> 3, p, 2)))
            }
            // movsxd REGISTER, REGISTER
            [.., p @ (0x48 | 0x49 | 0x4c | 0x4d), 0x63, both] if both >= 0xc0 => {
                (3, register(both >> 3, p, 2), Some(register(both, p, 0)))
            }
            _ => return false,
        };
        if to == NUMBER {
            return from.is_none_or(|from| from == FIRST_ARGUMENT);
        }
        code = code.get(..code.len() - length).unwrap_or(&[]);
    }
}

/// Number from the last instruction in `code` that sets the register of the call's number to a
/// constant; `None` if there is none.
#[cfg(target_arch = "x86_64")]
fn number_before(code: &[u8]) -> Option<u32> {
    const LIMIT: u32 = 1024;
    (0..code.len()).rev().find_map(|at| match *code.get(at..)? {
        // mov eax, NUMBER, or the end of mov rax, NUMBER.
        [0xb8, a, b, 0, 0, ..] => Some(u32::from_le_bytes([a, b, 0, 0])).filter(|n| *n < LIMIT),
        [0x48, 0xc7, 0xc0, a, b, 0, 0, ..] => {
            Some(u32::from_le_bytes([a, b, 0, 0])).filter(|n| *n < LIMIT)
        }
        // push NUMBER; pop rax.
        [0x6a, number @ 0..=0x7f, 0x58, ..] => Some(number.into()),
        _ => None,
    })
}

/// Kinds of calls in the code, as flags of [`socket_log::layout::uncaptured`]. Its first [`REACH`]
/// bytes are only searched for numbers.
#[cfg(target_arch = "aarch64")]
pub(crate) fn own_calls(code: &[u8]) -> u32 {
    const SVC: [u8; 4] = 0xd400_0001u32.to_le_bytes();
    let number = |word: &[u8]| match *word {
        // mov x8, NUMBER and mov w8, NUMBER.
        [a, b, c, d] => {
            let word = u32::from_le_bytes([a, b, c, d]);
            (word & 0x7fe0_001f == 0x5280_0008).then_some(word >> 5 & 0xffff)
        }
        _ => None,
    };
    let sites = (REACH..code.len().saturating_sub(3)).step_by(4);
    sites
        .filter(|at| code.get(*at..at + 4) == Some(&SVC))
        .filter_map(|at| code.get(at - REACH..at)?.rchunks_exact(4).find_map(number))
        .fold(0, |found, number| found | call_kind(number))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;

    /// Code after `before` zero bytes and the bytes that are not searched for calls.
    fn at(before: usize, code: &[u8]) -> Vec<u8> {
        [vec![0x90; REACH + before], code.to_vec(), vec![0xcc; 40]].concat()
    }

    #[test]
    fn socket_and_ring_calls_are_found_at_any_offset() {
        let socket: &[u8] = &[0xb8, 41, 0, 0, 0, 0x31, 0xd2, 0x0f, 0x05];
        let ring: &[u8] = &[0x48, 0xc7, 0xc0, 0xa9, 1, 0, 0, 0x0f, 0x05];
        let pushed: &[u8] = &[0x6a, 42, 0x58, 0x0f, 0x05];
        for before in 0..50 {
            assert_eq!(own_calls(&at(before, socket)), CALLS_SOCKETS, "{before}");
            assert_eq!(own_calls(&at(before, ring)), CALLS_RINGS, "{before}");
            assert_eq!(own_calls(&at(before, pushed)), CALLS_SOCKETS, "{before}");
        }
        assert_eq!(own_calls(&[at(3, socket), at(9, ring)].concat()), CALLS_SOCKETS | CALLS_RINGS);
    }

    #[test]
    fn functions_that_take_a_call_number_are_found() {
        // mov rax, rdi; mov rdi, rsi; mov rsi, rdx; mov rdx, rcx; mov r10, r8; mov r8, r9.
        let libc_like: &[u8] = &[
            0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x4d, 0x89,
            0xc2, 0x4d, 0x89, 0xc8, 0x0f, 0x05,
        ];
        // mov rax, [rbp - 24]; mov rdi, [rbp - 32]; mov r10, [rbp - 8].
        let unoptimized: &[u8] =
            &[0x48, 0x8b, 0x45, 0xe8, 0x48, 0x8b, 0x7d, 0xe0, 0x4c, 0x8b, 0x55, 0xf8, 0x0f, 0x05];
        // mov rax, [rsp + 24]; mov rdi, [rsp + 32].
        let of_go: &[u8] = &[0x48, 0x8b, 0x44, 0x24, 24, 0x48, 0x8b, 0x7c, 0x24, 32, 0x0f, 0x05];
        for code in [libc_like, unoptimized, of_go] {
            assert_eq!(own_calls(&at(5, code)), CALLS_ANY, "{code:?}");
        }
    }

    #[test]
    fn other_calls_and_data_are_ignored() {
        let futex: &[u8] = &[0xb8, 202, 0, 0, 0, 0x0f, 0x05];
        // A number that is set for another call, and replaced before this one.
        let replaced: &[u8] = &[0xb8, 41, 0, 0, 0, 0xb8, 3, 0, 0, 0, 0x0f, 0x05];
        // mov eax, r12d: possibly a constant that was set long before.
        let kept: &[u8] = &[0x44, 0x89, 0xe0, 0x0f, 0x05];
        for code in [futex, replaced, kept, b"\x0f", b"\x0f\x05", b""] {
            assert_eq!(own_calls(&at(7, code)), 0, "{code:?}");
            assert_eq!(own_calls(code), 0, "{code:?}");
        }
    }
}
