//! Floor 2, the platform: stand-ins for the standard library. System calls, clocks, ids, checksums,
//! texts, and the program's environment and arguments.

pub(crate) mod arguments;
pub(crate) mod checksum;
pub(crate) mod clock;
pub(crate) mod environment;
mod filter;
pub(crate) mod handed_filters;
pub(crate) mod identity;
pub(crate) mod machine_code;
#[cfg(feature = "injected")]
pub(crate) mod mapped;
pub(crate) mod mappings;
mod once;
pub(crate) mod permitted;
pub(crate) mod raw;
pub(crate) mod seccomp;
#[cfg(all(feature = "resources", target_arch = "x86_64"))]
pub(crate) mod symbols;
pub(crate) mod test_clock;
pub(crate) mod text;

pub(crate) use once::Once;
