//! Places of a Go program where system calls can concern sockets or new programs, and where threads
//! begin and end, recognised by their bytes.
//!
//! All calls of `syscall`, `net` and `os` go through `Syscall6`. From Go 1.21 to 1.27, the path of
//! its package changed three times and its bytes never. `os/exec` creates processes through
//! `rawVforkSyscall`. The runtime's own calls are for waiting, memory, threads and signals, with
//! constant numbers. Of these only `sigaltstack` is wanted: each thread sets its alternate signal
//! stack before it runs goroutines, and disables it when it ends.

/// Bytes around the `syscall` of a place, and the number of bytes before it.
struct GoSitePattern {
    bytes: &'static [u8],
    before: usize,
}

/// `mov r10,rsi; mov rdx,rdi; mov rsi,rcx; mov rdi,rbx; syscall; cmp rax,-4095`
const SYSCALL6: GoSitePattern = GoSitePattern {
    bytes: b"\x49\x89\xf2\x48\x89\xfa\x48\x89\xce\x48\x89\xdf\x0f\x05\x48\x3d\x01\xf0\xff\xff",
    before: 12,
};

/// `mov rax,[rsp+8]; pop r12; syscall; push r12; cmp rax,-4095`
const RAW_VFORK: GoSitePattern = GoSitePattern {
    bytes: b"\x48\x8b\x44\x24\x08\x41\x5c\x0f\x05\x41\x54\x48\x3d\x01\xf0\xff\xff",
    before: 7,
};

/// `mov rdi,[rsp+8]; mov rsi,[rsp+16]; mov eax,131; syscall; cmp rax,-4095`
const ALTERNATE_STACK: GoSitePattern = GoSitePattern {
    bytes: b"\x48\x8b\x7c\x24\x08\x48\x8b\x74\x24\x10\xb8\x83\0\0\0\x0f\x05\
        \x48\x3d\x01\xf0\xff\xff",
    before: 15,
};

/// `sigaltstack` in older versions of Go, with the longer form `mov rax,131`.
const ALTERNATE_STACK_BEFORE: GoSitePattern = GoSitePattern {
    bytes: b"\x48\x8b\x7c\x24\x08\x48\x8b\x74\x24\x10\x48\xc7\xc0\x83\0\0\0\x0f\x05\
        \x48\x3d\x01\xf0\xff\xff",
    before: 17,
};

/// Kind of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoCallSite {
    /// Register 14 holds the goroutine.
    Syscall6,
    RawVfork,
    /// The runtime's `sigaltstack`.
    AlternateStack,
}

/// Address of the function `Syscall6`, given the address of its `syscall` instruction, at which a
/// [`GoCallSite::Syscall6`] is.
pub(crate) fn syscall6_start(site: u64) -> u64 {
    site.saturating_sub(SYSCALL6.before as u64)
}

/// Kind of the place with its `syscall` at index `at` of the code.
pub(crate) fn match_site(code: &[u8], at: usize) -> Option<GoCallSite> {
    let is = |known: &GoSitePattern| {
        at.checked_sub(known.before)
            .and_then(|begin| code.get(begin..))
            .is_some_and(|code| code.starts_with(known.bytes))
    };
    [
        (&SYSCALL6, GoCallSite::Syscall6),
        (&RAW_VFORK, GoCallSite::RawVfork),
        (&ALTERNATE_STACK, GoCallSite::AlternateStack),
        (&ALTERNATE_STACK_BEFORE, GoCallSite::AlternateStack),
    ]
    .into_iter()
    .find_map(|(known, which)| is(known).then_some(which))
}
