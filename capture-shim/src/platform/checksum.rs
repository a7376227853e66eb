//! The CRC-32 of datagrams, by carry-less multiplication where the processor has it.
//!
//! crc32fast asks the processor what it has only with the standard library; without, it takes a
//! table and eight times as long (docs/decisions/0101). So what counts, buffers of 16 bytes and
//! more, is folded in [`folding`], and shorter ones go through crc32fast's table, as does
//! everything on other processors.

use crc32fast::Hasher;

#[cfg(target_arch = "x86_64")]
mod folding;

/// The CRC-32 (IEEE) of what a checksum `so_far` was made of, with `bytes` behind it. Begins with
/// 0.
#[inline(always)]
pub(crate) fn update(so_far: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(sum) = folding::update(so_far, bytes) {
        return sum;
    }
    by_table(so_far, bytes)
}

/// Asks the processor what it has.
pub(crate) fn choose() {
    #[cfg(target_arch = "x86_64")]
    folding::choose();
}

#[inline(never)]
fn by_table(so_far: u32, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(so_far);
    hasher.update(bytes);
    hasher.finalize()
}
