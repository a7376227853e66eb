//! Logs with snippets and operation files of arbitrary bytes, for fuzzing and property tests.
//! Panics if the crate violates an invariant.

use std::path::Path;

use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES};
use socket_log::{DamageKind, LogRecord, SocketLog, blank_snippets};

use crate::operations::entry::OperationEntry;
use crate::operations::operation_file::for_each_entry;
use crate::operations::{OperationFile, SnippetReplacement, operations_of_log, replace_snippets};

/// Reads `bytes` as a log: its operations are written to a file next to it, in `directory`, and no
/// snippet remains. All other records stay, unless chunks of the log are not in their places.
pub fn log(bytes: &[u8], directory: &Path) {
    let path = directory.join("7-1.sclog");
    let _ = std::fs::remove_file(path.with_extension(crate::operations::EXTENSION));
    let is_written = std::fs::write(&path, bytes).is_ok();
    assert!(is_written, "the directory is there");
    let Ok(whole) = SocketLog::open(&path) else { return };
    let recognised = operations_of_log(&whole);
    check_blanked_log(&whole, bytes);

    let replaced = replace_snippets(&path, |_| false);
    assert!(replaced.is_ok(), "{replaced:?}");
    if let Ok(SnippetReplacement::Operations(count)) = replaced {
        let mut read: Vec<OperationEntry> = Vec::new();
        let unread = OperationFile::open_for_log(&path)
            .ok()
            .flatten()
            .map(|file| file.for_each(|entry| read.push(entry)).unwrap_or(u64::MAX));
        assert_eq!((read.len(), unread.unwrap_or(0)), (count, 0));
        assert_eq!(read, recognised.entries);
    }
}

/// Checks a log of these bytes after its snippets are blanked: they yield no operation, and other
/// records stay if all chunks are in their places.
fn check_blanked_log(whole: &SocketLog, bytes: &[u8]) {
    let mut blank = bytes.to_vec();
    blank.chunks_mut(CHUNK_BYTES).skip(HEADER_BYTES / CHUNK_BYTES).for_each(|chunk| {
        blank_snippets(chunk);
    });
    let blank = SocketLog::from_bytes("input".as_ref(), blank);
    assert!(blank.is_ok(), "a log with blank heads is one");
    let Ok(blank) = blank else { return };
    assert_eq!(operations_of_log(&blank).entries, [], "blank heads tell nothing");
    let (others, is_in_place) = self::other_records(whole);
    assert!(!is_in_place || others == self::other_records(&blank).0, "other records stay");
}

/// Records of a log other than snippets, as text, and whether all chunks are in their places.
fn other_records(log: &SocketLog) -> (Vec<String>, bool) {
    let mut others = Vec::new();
    let damage = log.for_each(|entry| {
        if !matches!(entry.record, LogRecord::Head(_)) {
            others.push(format!("{entry:?}"));
        }
    });
    (others, damage.iter().all(|damage| damage.fault != DamageKind::NotAChunk))
}

/// Reads `bytes` as the part of an operation file after its header.
pub fn file(bytes: &[u8]) {
    let mut count = 0u64;
    let good = for_each_entry(&mut &bytes[..], &mut |_| count += 1);
    let good = good.unwrap_or(u64::MAX);
    assert!(good <= bytes.len() as u64 && count <= good, "{count} entries in {good} bytes");
}

#[cfg(test)]
#[path = "fuzz_tests.rs"]
mod tests;
