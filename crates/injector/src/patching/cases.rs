//! Small programs for tests: a handwritten file with one segment of code.

use crate::patching::image::ElfImage;
use crate::patching::kind::PatchKind;
use crate::patching::plan::{PatchPlan, PatchSite, plan_patches};

/// Linked address of the code.
pub(crate) const AT: u64 = 0x40_1000;

/// A program for a fixed address with this code, followed by an instruction that cannot be moved.
pub(crate) fn program(code: &[u8]) -> Vec<u8> {
    let mut file = vec![0; 0x1000];
    file[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0");
    let mut write = |at: usize, value: u64, bytes: usize| {
        file[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    };
    let length = code.len() as u64 + 16;
    write(20, 1, 4);
    // Entry, program headers, and the sizes of all headers.
    write(24, AT, 8);
    write(32, 64, 8);
    write(52, 64, 2);
    write(54, 56, 2);
    write(56, 1, 2);
    write(58, 64, 2);
    // A segment of code: type, permissions, offset, addresses, sizes, alignment.
    for (at, value, bytes) in [
        (0, 1, 4),
        (4, 5, 4),
        (8, 0x1000, 8),
        (16, AT, 8),
        (24, AT, 8),
        (32, length, 8),
        (40, length, 8),
        (48, 0x1000, 8),
    ] {
        write(64 + at, value, bytes);
    }
    file.extend(code);
    file.extend([0x0f, 0x0b].repeat(8));
    file
}

/// A function that can be decoded from any address before a piece of code: 64 times `nop`, the
/// code, and `ret`.
pub(crate) fn padded(code: &[u8]) -> Vec<u8> {
    [&[0x90; 63], &[0xc3][..], code].concat()
}

/// Address at which the code of `padded` begins.
pub(crate) const PADDED_AT: u64 = AT + 64;

/// Plan for a piece of code.
pub(crate) fn look(code: &[u8]) -> PatchPlan {
    let file = program(&padded(code));
    crate::patching::fuzz::fuzz(&file);
    plan_patches(&ElfImage::parse(&file).unwrap()).unwrap()
}

/// Kinds of the sites of a piece of code.
pub(crate) fn kinds(code: &[u8]) -> Vec<PatchKind> {
    look(code).sites.iter().map(|site| site.kind).collect()
}

/// The only site of a piece of code.
pub(crate) fn only(code: &[u8]) -> PatchSite {
    let [site] = look(code).sites.try_into().unwrap();
    site
}
