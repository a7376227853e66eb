//! CRC-32 of datagrams, by carry-less multiplication where the processor has it.
//!
//! crc32fast asks the processor what it has only with the standard library; without that, it takes
//! a table and eight times as long (docs/decisions/0101). So buffers of 16 bytes and more are
//! folded in [`folding`]. Shorter ones go through crc32fast's table, as does everything on other
//! processors.

use crc32fast::Hasher;

#[cfg(target_arch = "x86_64")]
mod folding;

/// CRC-32 (IEEE) of the bytes behind `so_far` and of `bytes` behind those. The first `so_far` is 0.
#[inline(always)]
pub(crate) fn update_crc32(so_far: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(sum) = folding::update_folded(so_far, bytes) {
        return sum;
    }
    by_table(so_far, bytes)
}

/// Asks the processor which instructions it has.
pub(crate) fn choose_crc32() {
    #[cfg(target_arch = "x86_64")]
    folding::choose_folding();
}

/// CRC-32 by crc32fast's table.
#[inline(never)]
fn by_table(so_far: u32, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(so_far);
    hasher.update(bytes);
    hasher.finalize()
}
