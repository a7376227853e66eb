//! Figures that were chosen by measurement or by rule, with what they are worth.

/// Bytes of a jump with a 32-bit distance: what a patch takes.
pub(crate) const JUMP_BYTES: usize = 5;

/// How far before a site instructions are decoded, in bytes. A short jump reaches 128 bytes, a
/// window takes up to 15 + 4, and the number of a call is looked for in what is left.
pub(crate) const BEHIND_BYTES: u64 = 224;

/// How far behind a site instructions are decoded, in bytes, for the same reason.
pub(crate) const AHEAD_BYTES: u64 = 192;

/// How far from a site addresses that code or data refer to are kept, in bytes. The number of a
/// call is looked for within it.
pub(crate) const NEAR_BYTES: u64 = 96;

/// How far before a site decoding begins where no function is known, in bytes. x86 code falls into
/// step after a few instructions; data in between costs some more. Chosen, not measured.
pub(crate) const RUN_UP_BYTES: u64 = 256;

/// How far before it decoding begins where a function is known, to see whether that can be right.
/// Chosen, not measured.
pub(crate) const CHECK_BYTES: u64 = 96;

/// From how many neighbouring offsets decoding begins where no function is known. All instructions
/// are shorter, so one of these is right.
pub(crate) const RUN_UPS: u64 = 16;

/// How many of them must come to the same instructions at the site. One or two may end in an
/// instruction that is wrong until the site.
pub(crate) const RUN_UPS_AGREED: usize = 13;

/// How many of them must come to what the beginning of a known function says. Where it begins
/// elsewhere than the file says (the code that signals' handlers return to, in old glibc), none
/// does; within the first bytes of a function, padding and other functions confuse some.
pub(crate) const CHECKS_AGREED: usize = 6;

/// How many instructions before a site, and the site, these must have in common. A window before a
/// site has five at most.
pub(crate) const AGREED_INSTRUCTIONS: usize = 8;

/// Longest function that is decoded from its beginning, in bytes. Longer ones are decoded from
/// nearby, as if their beginning was unknown.
pub(crate) const FUNCTION_BYTES: u64 = 64 << 10;

/// Entries of a jump table that are read at most. Larger ones are not known of any compiler.
pub(crate) const TABLE_ENTRIES: usize = 4096;

/// Bytes that one bit of the map of sites stands for. At 64 the map of 10 MB is 20 KB.
pub(crate) const GRANULE_BYTES: u64 = 64;

/// Bytes at the beginning of the stubs' area: entries, the table of numbers, and what aligns the
/// stubs.
pub(crate) const HEADER_BYTES: usize = 112;

/// Upper bound of the stubs of one site, in bytes: two hooks (40 bytes with the look at a number),
/// 10 displaced instructions of at most 15 bytes that can grow by half, and what aligns them.
pub(crate) const SITE_BYTES: usize = 512;

/// Alignment of a stub, in bytes: what the processor fetches at once.
pub(crate) const STUB_ALIGNMENT: usize = 16;

/// Place in the red zone where a stub keeps an address to return to, below the stack pointer at
/// the site. Signal handlers leave 128 bytes alone; it must still be within these after the
/// return.
pub(crate) const KEPT_BELOW: u8 = 120;

/// Maximum number of sites in a survey that was kept. libc has 526, the largest that is known.
pub(crate) const KEPT_SITES: usize = 1 << 14;

/// Maximum length of a window in a survey that was kept, in bytes: what four bytes and the longest
/// instruction take, and as much between two neighbours that share one.
pub(crate) const WINDOW_BYTES: usize = 64;
