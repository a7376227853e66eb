//! Places in an image where a system call is made, found by disassembly.
//!
//! The search is for the two bytes of `syscall`, `0f 05`. They can also be data, or inside another
//! instruction. A place counts only if an instruction begins there when decoding from the beginning
//! of its function, or, without a known function, from nearly all of some neighbouring addresses
//! before it ([`sweep`]).

pub(crate) mod go;
pub(crate) mod jump_targets;
pub(crate) mod number;
pub(crate) mod sweep;
mod syscall_site;

pub(crate) use syscall_site::SyscallSite;

use crate::patching::image::ElfImage;

/// Result of the search.
#[derive(Debug, Default)]
pub(crate) struct SyscallSites<'a> {
    /// The system calls, in order of addresses.
    pub(crate) found: Vec<SyscallSite<'a>>,
    /// Addresses of two bytes that may or may not be a system call.
    pub(crate) uncertain: Vec<u64>,
}

/// Finds all system calls.
pub(crate) fn find_syscalls<'a>(image: &ElfImage<'a>) -> SyscallSites<'a> {
    let mut sites = SyscallSites::default();
    for segment in image.code_segments() {
        for at in memchr::memmem::find_iter(segment.bytes, &[0x0f, 0x05]) {
            let Some(address) = segment.address.checked_add(at as u64) else { break };
            match sweep::decode_around(&segment, &image.functions, address) {
                sweep::DecodedSite::Instruction { code, place } => {
                    sites.found.push(SyscallSite { address, code, place, segment })
                }
                sweep::DecodedSite::Uncertain => sites.uncertain.push(address),
                sweep::DecodedSite::Inside => {}
            }
        }
    }
    sites.found.sort_by_key(|found| found.address);
    // Segments that overlap contain a place twice.
    sites.found.dedup_by_key(|found| found.address);
    sites.uncertain.sort_unstable();
    sites.uncertain.dedup();
    sites
}
