//! Parsers of foreign bytes on arbitrary input, for fuzzing and property tests. Panics if a parser
//! violates its contract.

use crate::exec_announcement::message;
use crate::library::BlobLibrary;
use crate::{facts, maps, rights};

/// Reads bytes as an announcement, which is encoded to the same bytes again.
pub fn announcement(bytes: &[u8]) {
    let Ok(read) = message::read_announcement(bytes) else { return };
    let written =
        message::encode_announcement(read.who, read.tid, &read.program).unwrap_or_default();
    assert!(!written.is_empty() && bytes.starts_with(&written), "{read:?} is written otherwise");
}

/// Reads bytes as each kind of information on a process and its program's file.
pub fn process(bytes: &[u8]) {
    for region in maps::parse_maps(bytes).unwrap_or_default() {
        assert!(region.start < region.end, "{region:?}");
    }
    let _ = (
        facts::parse_auxiliary_vector(bytes),
        facts::linked_entry(bytes),
        rights::parse_interpreter(bytes),
    );
    let _ = facts::parse_heap_start(&String::from_utf8_lossy(bytes));
    if let Some(headers) = facts::parse_program_headers(bytes) {
        let extent = headers.image_extent(0x1000, 0);
        assert!(extent.is_none_or(|extent| extent.start < extent.code_end), "{extent:?}");
    }
    if let Ok(library) = BlobLibrary::parse(bytes, "begin", "slot") {
        assert!(library.blob.image.len() as u64 <= library.blob.memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            announcement(&bytes);
            announcement(&[&b"SCX1"[..], &bytes].concat());
            process(&bytes);
            process(&[&b"\x7fELF\x02\x01\x01"[..], &bytes].concat());
        }
    }
}
