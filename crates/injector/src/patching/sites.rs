//! The places of an image where a system call is made, found by disassembly.
//!
//! Two bytes, `0f 05`, are looked for. They can be data, or the inside of another instruction. A
//! place counts only if it is where an instruction begins for whoever decodes from the beginning of
//! its function, or, where no function is known, from nearly every one of some neighbouring
//! addresses before it ([`sweep`]).

mod found;
pub(crate) mod go;
pub(crate) mod number;
pub(crate) mod reached;
pub(crate) mod sweep;

pub(crate) use found::Found;

use crate::patching::image::Image;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Sites<'a> {
    /// The system calls, in order of addresses.
    pub(crate) found: Vec<Found<'a>>,
    /// Addresses of two bytes that are like a system call, where it is not certain that they are
    /// one.
    pub(crate) uncertain: Vec<u64>,
}

/// Finds all system calls.
pub(crate) fn find<'a>(image: &Image<'a>) -> Sites<'a> {
    let mut sites = Sites::default();
    for segment in image.code() {
        for at in memchr::memmem::find_iter(segment.bytes, &[0x0f, 0x05]) {
            let Some(address) = segment.address.checked_add(at as u64) else { break };
            match sweep::around(&segment, &image.functions, address) {
                sweep::Answer::Instruction { code, place } => {
                    sites.found.push(Found { address, code, place, segment })
                }
                sweep::Answer::Uncertain => sites.uncertain.push(address),
                sweep::Answer::Inside => {}
            }
        }
    }
    sites.found.sort_by_key(|found| found.address);
    // Segments that overlap hold a place twice.
    sites.found.dedup_by_key(|found| found.address);
    sites.uncertain.sort_unstable();
    sites.uncertain.dedup();
    sites
}
