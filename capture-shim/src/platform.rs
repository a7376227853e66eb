//! Layer 2, the platform: stand-ins for the standard library. System calls, clocks, ids, checksums,
//! texts, and the program's environment and arguments.

pub(crate) mod arguments;
pub(crate) mod checksum;
pub(crate) mod clock;
pub(crate) mod environment;
mod filter;
pub(crate) mod identity;
pub(crate) mod inherited_filters;
mod init_once;
pub(crate) mod machine_code;
#[cfg(feature = "injected")]
pub(crate) mod mapped_memory;
pub(crate) mod mappings;
pub(crate) mod permitted_syscalls;
#[cfg(target_arch = "x86_64")]
pub(crate) mod processor;
pub(crate) mod raw;
pub(crate) mod seccomp;
#[cfg(all(not(feature = "injected"), target_arch = "x86_64"))]
pub(crate) mod symbols;
pub(crate) mod test_clock;
pub(crate) mod text;

pub(crate) use init_once::InitOnce;
