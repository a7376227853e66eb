//! Replacement of snippets: operations are in a file next to the log, and its snippets are blank.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use protocols::operations::{
    OperationEntry, OperationFile, SnippetReplacement, operations_of_log, replace_snippets,
    update_operations,
};
use socket_log::{LogRecord, SocketLog, blank_snippets};
use tempfile::TempDir;

use crate::synthetic_logs::server_log;

fn written_log(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("7-1.sclog");
    fs::write(&path, server_log().to_bytes()).unwrap();
    path
}

fn read_operations(log: &Path) -> (Vec<OperationEntry>, u64) {
    let mut entries = Vec::new();
    let file = OperationFile::open_for_log(log).unwrap().unwrap();
    let unread = file.for_each(|entry| entries.push(entry)).unwrap();
    (entries, unread)
}

fn contains_bytes(path: &Path, text: &[u8]) -> bool {
    fs::read(path).unwrap().windows(text.len()).any(|window| window == text)
}

#[test]
fn operations_replace_snippets() {
    let directory = TempDir::new().unwrap();
    let path = written_log(&directory);
    let before = SocketLog::open(&path).unwrap();
    let expected = operations_of_log(&before).entries;
    assert!(contains_bytes(&path, b"hunter2") && contains_bytes(&path, b"1234567"));

    let running = replace_snippets(&path, |_| true).unwrap();
    assert_eq!(running, SnippetReplacement::Running);
    assert!(contains_bytes(&path, b"hunter2"));
    assert_eq!(replace_snippets(&path, |_| false).unwrap(), SnippetReplacement::Operations(4));
    assert_eq!(read_operations(&path), (expected.clone(), 0));
    for file in fs::read_dir(directory.path()).unwrap() {
        let file = file.unwrap().path();
        let is_there =
            [&b"hunter2"[..], b"1234567", b"shop"].map(|text| contains_bytes(&file, text));
        assert_eq!(is_there, [false; 3], "{}", file.display());
    }
    // The log is unchanged except for its snippets.
    let (mut others, mut heads) = (Vec::new(), 0);
    let log = SocketLog::open(&path).unwrap();
    assert!(
        log.for_each(|entry| match entry.record {
            LogRecord::Head(head) => heads += usize::from(head.bytes.iter().all(|byte| *byte == 0)),
            _ => others.push(entry),
        })
        .is_empty()
    );
    let mut expected_others = Vec::new();
    let made = SocketLog::from_bytes("made".as_ref(), server_log().to_bytes()).unwrap();
    made.for_each(|entry| {
        if !matches!(entry.record, LogRecord::Head(_)) {
            expected_others.push(entry);
        }
    });
    assert_eq!((heads, others), (4, expected_others));

    // Repeating it changes nothing.
    assert_eq!(replace_snippets(&path, |_| false).unwrap(), SnippetReplacement::Nothing);
    update_operations(&path).unwrap();
    assert_eq!(read_operations(&path), (expected, 0));
}

#[test]
fn an_interrupted_replacement_is_completed_without_loss() {
    let directory = TempDir::new().unwrap();
    let path = written_log(&directory);
    let expected = operations_of_log(&SocketLog::open(&path).unwrap()).entries;
    update_operations(&path).unwrap();
    // One chunk of the log was blanked before the program was killed.
    let mut bytes = fs::read(&path).unwrap();
    let blanked = bytes.chunks_mut(4096).skip(1).map(blank_snippets).find(|count| *count > 0);
    assert_eq!(blanked, Some(2));
    fs::write(&path, bytes).unwrap();
    assert!(matches!(
        replace_snippets(&path, |_| false).unwrap(),
        SnippetReplacement::Operations(_)
    ));
    assert_eq!(read_operations(&path), (expected, 0));
    assert!(!contains_bytes(&path, b"HTTP/"));
}

#[test]
fn logs_and_operation_files_are_not_confused() {
    let directory = TempDir::new().unwrap();
    let path = written_log(&directory);
    assert!(OperationFile::open(&path).is_err());
    assert!(OperationFile::open_for_log(&path).unwrap().is_none());
    update_operations(&path).unwrap();
    let error = SocketLog::open(path.with_extension("operations")).unwrap_err();
    assert!(error.to_string().contains("operations, not calls"), "{error}");
}

#[test]
fn an_unfinished_record_is_blanked_too() {
    let mut bytes = server_log().to_bytes();
    let at = bytes.windows(7).position(|window| window == b"hunter2").unwrap();
    let chunk = at / 4096 * 4096;
    // The first word of the record still marks it as reserved.
    let tag = (chunk..at).rev().step_by(1).find(|at| at % 4 == 0 && bytes[*at] == 33).unwrap();
    bytes[tag] = 255;
    blank_snippets(&mut bytes[chunk..chunk + 4096]);
    assert!(!bytes[chunk..chunk + 4096].windows(7).any(|window| window == b"hunter2"));
}

#[test]
fn a_snippet_is_blanked_anywhere_in_a_damaged_log() {
    let whole = server_log().to_bytes();
    let put_in: [&[u8]; 3] = [b"xyz", b"GET /1234567", &[0; 8]];
    for (at, put_in) in
        [4096, 4098, 5000, 8192].into_iter().flat_map(|at| put_in.map(|of| (at, of)))
    {
        let directory = TempDir::new().unwrap();
        let path = written_log(&directory);
        let damaged = [&whole[..at], put_in, &whole[at..]].concat();
        fs::write(&path, damaged).unwrap();
        replace_snippets(&path, |_| false).unwrap();
        let is_there =
            [&b"hunter2"[..], b"1234567", b"7654321"].map(|text| contains_bytes(&path, text));
        assert_eq!(is_there, [false; 3], "{put_in:?} at {at}");
        assert_eq!(replace_snippets(&path, |_| false).unwrap(), SnippetReplacement::Nothing);
        assert_eq!(SocketLog::open(&path).unwrap().length(), (whole.len() + put_in.len()) as u64);
    }
}

#[test]
fn a_chunk_that_is_being_cleared_is_blanked() {
    let mut bytes = server_log().to_bytes();
    bytes[4096..4100].copy_from_slice(b"FREE");
    assert_eq!(blank_snippets(&mut bytes[4096..8192]), 1);
    assert_eq!(&bytes[4096..4100], b"FREE");
    assert_eq!(bytes[4100..8192], [0; 4092]);
    assert_eq!(blank_snippets(&mut bytes[4096..8192]), 0);
}

proptest! {
    /// A truncated or damaged file yields the entries before the damage, and never fails.
    #[test]
    fn entries_before_damage_are_read(at in 4096_usize..4600, byte: u8, cut in 0_usize..600) {
        let directory = TempDir::new().unwrap();
        let path = written_log(&directory);
        update_operations(&path).unwrap();
        let (whole, _) = read_operations(&path);
        let file = path.with_extension("operations");
        let mut bytes = fs::read(&file).unwrap();
        bytes.truncate(bytes.len().saturating_sub(cut).max(4096));
        let is_whole = bytes.len();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        fs::write(&file, &bytes).unwrap();
        let (found, unread) = read_operations(&path);
        prop_assert!(found.len() <= whole.len() + 1 && unread <= is_whole as u64);
        if cut > 0 && at >= bytes.len() {
            prop_assert_eq!(&found[..], &whole[..found.len()]);
        }
    }

    /// Blanking the snippets of an arbitrary chunk keeps its length and can be repeated.
    #[test]
    fn blanking_can_be_repeated(words in prop::collection::vec(any::<u32>(), 0..1100)) {
        let magic = u32::from_le_bytes(*b"CHNK");
        let words = std::iter::once(magic).chain(words);
        let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        let length = bytes.len();
        blank_snippets(&mut bytes);
        let once = bytes.clone();
        prop_assert_eq!(blank_snippets(&mut bytes), 0);
        prop_assert_eq!((bytes.len(), &bytes), (length, &once));
    }
}

/// Recordings that end at the same time replace the snippets of the same logs.
#[test]
fn concurrent_replacements_keep_all_operations() {
    for _ in 0..40 {
        let directory = TempDir::new().unwrap();
        let path = written_log(&directory);
        let expected = operations_of_log(&SocketLog::open(&path).unwrap()).entries;
        std::thread::scope(|scope| {
            let each = (0..4).map(|_| scope.spawn(|| replace_snippets(&path, |_| false)));
            let all: Vec<_> = each.collect();
            for one in all {
                one.join().unwrap().unwrap();
            }
        });
        assert_eq!(read_operations(&path), (expected, 0));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
