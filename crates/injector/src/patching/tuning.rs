//! Figures that were chosen by measurement or by rule, with their effect.

/// Size of a jump with a 32-bit distance, in bytes: the size of a patch.
pub(crate) const JUMP_BYTES: usize = 5;

/// How far before a site instructions are decoded, in bytes. A short jump reaches 128 bytes, a
/// window takes up to 15 + 4, and the rest is for the number of the call.
pub(crate) const BYTES_BEFORE_SITE: u64 = 224;

/// How far after a site instructions are decoded, in bytes, for the reason of
/// [`BYTES_BEFORE_SITE`].
pub(crate) const BYTES_AFTER_SITE: u64 = 192;

/// Distance from a site within which addresses in code or data are kept, in bytes. The number of a
/// call is searched within it.
pub(crate) const NEAR_BYTES: u64 = 96;

/// How far before a site decoding begins without a known function, in bytes. Decoding of x86 code
/// synchronises after a few instructions; data in between takes some more. Chosen, not measured.
pub(crate) const RUN_UP_BYTES: u64 = 256;

/// How far before the beginning of a known function decoding begins, to check that beginning, in
/// bytes. Chosen, not measured.
pub(crate) const CHECK_BYTES: u64 = 96;

/// Number of neighbouring offsets from which decoding begins without a known function. All
/// instructions are shorter, so one of these is right.
pub(crate) const RUN_UPS: u64 = 16;

/// Number of these offsets that must reach the same instructions at the site. Decoding from one or
/// two may be within a wrong instruction until the site.
pub(crate) const RUN_UPS_AGREED: usize = 13;

/// Number of the offsets that must agree with the beginning of a known function. If the file states
/// a wrong beginning (for the code that signal handlers return to, in old glibc), none agrees;
/// within the first bytes of a function, padding and other functions disturb some.
pub(crate) const CHECKS_AGREED: usize = 6;

/// Number of instructions up to and including the site that the offsets must have in common. A
/// window before a site has five at most.
pub(crate) const AGREED_INSTRUCTIONS: usize = 8;

/// Longest function that is decoded from its beginning, in bytes. Longer ones are decoded from
/// nearby, as if their beginning was unknown.
pub(crate) const MAX_FUNCTION_BYTES: u64 = 64 << 10;

/// Maximum number of entries of a jump table that are read. No compiler is known to produce larger
/// ones.
pub(crate) const MAX_TABLE_ENTRIES: usize = 4096;

/// Number of bytes that one bit of the map of sites covers. At 64 the map of 10 MB is 20 KB.
pub(crate) const GRANULE_BYTES: u64 = 64;

/// Size of the header of the stubs' area, in bytes: entries, the table of numbers, and alignment of
/// the stubs.
pub(crate) const HEADER_BYTES: usize = 112;

/// Upper bound of the stubs of one site, in bytes: two hooks (40 bytes with the check of a number),
/// 10 displaced instructions of at most 15 bytes that can grow by half, and alignment.
pub(crate) const SITE_BYTES: usize = 512;

/// Alignment of a stub, in bytes: the processor's fetch size.
pub(crate) const STUB_ALIGNMENT: usize = 16;

/// Offset below the stack pointer in the red zone where a stub keeps a return address. Signal
/// handlers spare 128 bytes; it must still be within these after the return.
pub(crate) const SAVED_RETURN_DEPTH: u8 = 120;

/// Maximum number of sites in a kept plan. libc has 526, the largest that is known.
pub(crate) const MAX_KEPT_SITES: usize = 1 << 14;

/// Maximum length of a window in a kept plan, in bytes: four bytes and the longest instruction, and
/// as much again between two neighbours that share one.
pub(crate) const MAX_WINDOW_BYTES: usize = 64;
