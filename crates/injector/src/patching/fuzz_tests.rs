//! Random and damaged programs.

use proptest::prelude::*;

use crate::patching::cases::{padded, program};
use crate::patching::fuzz::{fuzz, fuzz_kept};
use crate::patching::image::ElfImage;
use crate::patching::plan::plan_patches;
use crate::patching::plan_bytes::HEAD_BYTES;

/// Instructions that compilers put around system calls, and some that cannot be moved.
const PIECES: &[&[u8]] = &[
    b"\x0f\x05",
    b"\x0f\x05",
    b"\xb8\x2c\0\0\0",
    b"\x31\xc0",
    b"\x4c\x89\xc0",
    b"\x49\x89\xca",
    b"\x48\x8d\x35\x40\0\0\0",
    b"\x48\x3d\0\xf0\xff\xff",
    b"\x48\x63\x7d\x04",
    b"\x75\x05",
    b"\x74\xf6",
    b"\x0f\x84\xf0\xff\xff\xff",
    b"\xeb\x03",
    b"\xe8\x10\0\0\0",
    b"\xff\xd0",
    b"\xff\x15\x20\0\0\0",
    b"\xff\x54\x24\x08",
    b"\xc3",
    b"\x90",
    b"\x0f\x1f\x44\0\0",
    b"\xcc",
    b"\xf3\x0f\x1e\xfa",
    b"\x48\x89\x7c\x24\xf8",
    b"\xf4",
    b"\xba\x0f\x05\0\0",
];

#[test]
fn seeds_for_fuzzing() {
    let seed = program(&padded(&PIECES.concat()));
    fuzz(&seed);
    if let Some(corpus) = std::env::var_os("FUZZ_SEEDS") {
        let directory = std::path::Path::new(&corpus).join("image");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("seed"), &seed).unwrap();
        let plan = plan_patches(&ElfImage::parse(&seed).unwrap()).unwrap();
        let content = plan.to_bytes(b"a key").unwrap().split_off(HEAD_BYTES);
        let directory = std::path::Path::new(&corpus).join("survey");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("seed"), content).unwrap();
    }
}

/// A fuzzing result: segments at addresses that no program can have.
#[test]
fn impossible_addresses_are_handled() {
    for address in [u64::MAX - 0x1000, u64::MAX, 1 << 47, (1 << 47) - 0x20_0000, 1 << 63] {
        let mut file = program(&padded(&PIECES.concat()));
        file[64 + 16..64 + 24].copy_from_slice(&address.to_le_bytes());
        fuzz(&file);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_code(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        fuzz(&program(&padded(&pieces.concat())));
    }

    #[test]
    fn any_bytes_with_calls(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..30),
    ) {
        fuzz(&program(&parts.join(&b"\x0f\x05"[..])));
    }

    #[test]
    fn kept_plans(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let image = program(&padded(&PIECES.concat()));
        let plan = plan_patches(&ElfImage::parse(&image).unwrap()).unwrap();
        let mut content = plan.to_bytes(b"a key").unwrap().split_off(HEAD_BYTES);
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte;
        }
        fuzz_kept(&content);
    }

    #[test]
    fn damaged_programs(
        changes in prop::collection::vec((0usize..400, any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = program(&padded(&PIECES.concat()));
        for (at, byte) in changes {
            file[at] = byte;
        }
        fuzz(&file);
        file.truncate(cut.index(file.len()));
        fuzz(&file);
    }
}
