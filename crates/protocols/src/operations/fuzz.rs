//! Logs with heads and files of operations on any bytes, for fuzzing and property tests. Panics
//! where the crate breaks its word.

use std::path::Path;

use socket_log::layout::{CHUNK_BYTES, HEADER_BYTES};
use socket_log::{DamageKind, LogRecord, SocketLog, blank_snippets};

use crate::operations::entry::OperationEntry;
use crate::operations::operation_file::for_each_entry;
use crate::operations::{OperationFile, SnippetReplacement, operations_of_log, replace_snippets};

/// Takes `bytes` as a log: its operations are put beside it, in `directory`, and nothing of a head
/// is left. All other records stay, unless chunks of the log are not where they belong.
pub fn log(bytes: &[u8], directory: &Path) {
    let path = directory.join("7-1.sclog");
    let _ = std::fs::remove_file(path.with_extension(crate::operations::EXTENSION));
    let is_written = std::fs::write(&path, bytes).is_ok();
    assert!(is_written, "the directory is there");
    let Ok(whole) = SocketLog::open(&path) else { return };
    let told = operations_of_log(&whole);
    make_blank(&whole, bytes);

    let replaced = replace_snippets(&path, |_| false);
    assert!(replaced.is_ok(), "{replaced:?}");
    if let Ok(SnippetReplacement::Operations(count)) = replaced {
        let mut read: Vec<OperationEntry> = Vec::new();
        let unread = OperationFile::open_for_log(&path)
            .ok()
            .flatten()
            .map(|file| file.for_each(|entry| read.push(entry)).unwrap_or(u64::MAX));
        assert_eq!((read.len(), unread.unwrap_or(0)), (count, 0));
        assert_eq!(read, told.entries);
    }
}

/// Makes the heads of a log of these bytes blank. Nothing is told by them then, and other records
/// stay, if all chunks are where they belong.
fn make_blank(whole: &SocketLog, bytes: &[u8]) {
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

/// Records of a log that are no heads, as text, and whether all chunks are where they belong.
fn other_records(log: &SocketLog) -> (Vec<String>, bool) {
    let mut others = Vec::new();
    let damage = log.for_each(|entry| {
        if !matches!(entry.record, LogRecord::Head(_)) {
            others.push(format!("{entry:?}"));
        }
    });
    (others, damage.iter().all(|damage| damage.fault != DamageKind::NotAChunk))
}

/// Takes `bytes` as what is behind the header of a file of operations.
pub fn file(bytes: &[u8]) {
    let mut count = 0u64;
    let good = for_each_entry(&mut &bytes[..], &mut |_| count += 1);
    let good = good.unwrap_or(u64::MAX);
    assert!(good <= bytes.len() as u64 && count <= good, "{count} entries in {good} bytes");
}

#[cfg(test)]
#[path = "fuzz_tests.rs"]
mod tests;
