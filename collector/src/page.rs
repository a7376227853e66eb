//! Pages: the units of comparison and transfer. A log is not only appended to: its header and the
//! chunks to which threads write change in place, and stores of the traced process through a
//! mapping do not change the file's times. So a file is examined in pages of 4 KiB, the size of a
//! log's chunks, each identified by a checksum of its content.

use twox_hash::XxHash3_64;

/// The size of a page in bytes; the last one of a file may be shorter.
pub(crate) const PAGE: usize = 4096;

/// Checksum of a page: XXH3 of 64 bits, over the page padded with zeros to [`PAGE`] bytes. A page
/// of zeros has the checksum 0, and so do holes in a file and missing pages.
///
/// A changed page goes unnoticed once in 2^64 times. Checksums guard against accidents only: a host
/// is trusted about its own files anyway.
pub(crate) fn page_checksum(page: &[u8]) -> u64 {
    if is_zero(page) {
        return 0;
    }
    let sum = match page.len() {
        PAGE.. => XxHash3_64::oneshot(page),
        short => {
            let mut whole = [0; PAGE];
            whole[..short].copy_from_slice(page);
            XxHash3_64::oneshot(&whole)
        }
    };
    sum.max(1)
}

/// Whether all bytes are zero.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    // The first word nearly always decides; the rest is compared with itself shifted by it, at the
    // speed of memory.
    let head = bytes.len().min(16);
    bytes[..head].iter().all(|byte| *byte == 0) && bytes[head..] == bytes[..bytes.len() - head]
}

/// Number of pages of `length` bytes.
pub(crate) fn page_count(length: u64) -> u64 {
    length.div_ceil(PAGE as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_recognised() {
        assert!(is_zero(&[]) && is_zero(&[0; 5]) && is_zero(&[0; PAGE]));
        for at in [0, 3, 15, 16, 17, 100, PAGE - 1] {
            let mut page = [0; PAGE];
            page[at] = 1;
            assert!(!is_zero(&page), "byte {at}");
            assert_ne!(page_checksum(&page), 0);
        }
        assert_eq!(page_checksum(&[0; 100]), 0);
    }

    #[test]
    fn a_short_page_equals_its_zero_padded_page() {
        let mut page = [0; PAGE];
        page[..3].copy_from_slice(b"abc");
        assert_eq!(page_checksum(b"abc"), page_checksum(&page));
        assert_ne!(page_checksum(b"abc"), page_checksum(b"abd"));
    }

    #[test]
    fn pages_of_a_length() {
        assert_eq!([0, 1, 4096, 4097].map(page_count), [0, 1, 1, 2]);
    }
}
