//! CRC-32 of datagrams, by carry-less multiplication if the processor supports it.
//!
//! crc32fast detects processor features only with the standard library; without it, crc32fast uses
//! a table and takes eight times as long (docs/decisions/0101). So buffers of 16 bytes and more are
//! folded in [`folding`]. The checksums of shorter buffers, and of all buffers on other processors,
//! are made by crc32fast's table.

use crc32fast::Hasher;

#[cfg(target_arch = "x86_64")]
mod folding;

/// CRC-32 (IEEE) of the bytes covered by `so_far` followed by `bytes`. The first `so_far` is 0.
#[inline(always)]
pub(crate) fn update_crc32(so_far: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(sum) = folding::update_folded(so_far, bytes) {
        return sum;
    }
    by_table(so_far, bytes)
}

/// Detects the processor's instructions.
pub(crate) fn choose_crc32() {
    #[cfg(target_arch = "x86_64")]
    super::processor::detect_instructions();
}

/// CRC-32 by crc32fast's table.
#[inline(never)]
fn by_table(so_far: u32, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(so_far);
    hasher.update(bytes);
    hasher.finalize()
}
