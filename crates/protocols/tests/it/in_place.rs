//! Operations go to a file beside the log, and heads are blank from then on.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use protocols::operations::{Entry, OperationFile, Replaced, of_log, replace, update};
use socket_log::{Log, Record, blank_heads};
use tempfile::TempDir;

use crate::made::server;

fn written(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("7-1.sclog");
    fs::write(&path, server().bytes()).unwrap();
    path
}

fn read(log: &Path) -> (Vec<Entry>, u64) {
    let mut entries = Vec::new();
    let file = OperationFile::of_log(log).unwrap().unwrap();
    let unread = file.for_each(|entry| entries.push(entry)).unwrap();
    (entries, unread)
}

fn holds(path: &Path, text: &[u8]) -> bool {
    fs::read(path).unwrap().windows(text.len()).any(|window| window == text)
}

#[test]
fn names_take_the_place_of_heads() {
    let directory = TempDir::new().unwrap();
    let path = written(&directory);
    let before = Log::open(&path).unwrap();
    let expected = of_log(&before).entries;
    assert!(holds(&path, b"hunter2") && holds(&path, b"1234567"));

    let running = replace(&path, |_| true).unwrap();
    assert_eq!(running, Replaced::Running);
    assert!(holds(&path, b"hunter2"));
    assert_eq!(replace(&path, |_| false).unwrap(), Replaced::Operations(4));
    assert_eq!(read(&path), (expected.clone(), 0));
    for file in fs::read_dir(directory.path()).unwrap() {
        let file = file.unwrap().path();
        let is_there = [&b"hunter2"[..], b"1234567", b"shop"].map(|text| holds(&file, text));
        assert_eq!(is_there, [false; 3], "{}", file.display());
    }
    // The log is the same but for its heads.
    let (mut others, mut heads) = (Vec::new(), 0);
    let log = Log::open(&path).unwrap();
    assert!(
        log.for_each(|entry| match entry.record {
            Record::Head(head) => heads += usize::from(head.bytes.iter().all(|byte| *byte == 0)),
            _ => others.push(entry),
        })
        .is_empty()
    );
    let mut expected_others = Vec::new();
    let made = Log::from_bytes("made".as_ref(), server().bytes()).unwrap();
    made.for_each(|entry| {
        if !matches!(entry.record, Record::Head(_)) {
            expected_others.push(entry);
        }
    });
    assert_eq!((heads, others), (4, expected_others));

    // Done again, it changes nothing.
    assert_eq!(replace(&path, |_| false).unwrap(), Replaced::Nothing);
    update(&path).unwrap();
    assert_eq!(read(&path), (expected, 0));
}

#[test]
fn what_was_interrupted_is_ended_without_a_loss() {
    let directory = TempDir::new().unwrap();
    let path = written(&directory);
    let expected = of_log(&Log::open(&path).unwrap()).entries;
    update(&path).unwrap();
    // One of its chunks was made blank, and then the program was killed.
    let mut bytes = fs::read(&path).unwrap();
    let blanked = bytes.chunks_mut(4096).skip(1).map(blank_heads).find(|count| *count > 0);
    assert_eq!(blanked, Some(2));
    fs::write(&path, bytes).unwrap();
    assert!(matches!(replace(&path, |_| false).unwrap(), Replaced::Operations(_)));
    assert_eq!(read(&path), (expected, 0));
    assert!(!holds(&path, b"HTTP/"));
}

#[test]
fn a_log_is_no_file_of_operations_and_the_other_way_round() {
    let directory = TempDir::new().unwrap();
    let path = written(&directory);
    assert!(OperationFile::open(&path).is_err());
    assert!(OperationFile::of_log(&path).unwrap().is_none());
    update(&path).unwrap();
    let error = Log::open(path.with_extension("operations")).unwrap_err();
    assert!(error.to_string().contains("operations, not calls"), "{error}");
}

#[test]
fn a_record_that_is_being_written_is_made_blank_too() {
    let mut bytes = server().bytes();
    let at = bytes.windows(7).position(|window| window == b"hunter2").unwrap();
    let chunk = at / 4096 * 4096;
    // Its first word still says that it is reserved.
    let tag = (chunk..at).rev().step_by(1).find(|at| at % 4 == 0 && bytes[*at] == 33).unwrap();
    bytes[tag] = 255;
    blank_heads(&mut bytes[chunk..chunk + 4096]);
    assert!(!bytes[chunk..chunk + 4096].windows(7).any(|window| window == b"hunter2"));
}

#[test]
fn a_head_is_made_blank_wherever_a_damaged_log_has_it() {
    let whole = server().bytes();
    let put_in: [&[u8]; 3] = [b"xyz", b"GET /1234567", &[0; 8]];
    for (at, put_in) in
        [4096, 4098, 5000, 8192].into_iter().flat_map(|at| put_in.map(|of| (at, of)))
    {
        let directory = TempDir::new().unwrap();
        let path = written(&directory);
        let damaged = [&whole[..at], put_in, &whole[at..]].concat();
        fs::write(&path, damaged).unwrap();
        replace(&path, |_| false).unwrap();
        let is_there = [&b"hunter2"[..], b"1234567", b"7654321"].map(|text| holds(&path, text));
        assert_eq!(is_there, [false; 3], "{put_in:?} at {at}");
        assert_eq!(replace(&path, |_| false).unwrap(), Replaced::Nothing);
        assert_eq!(Log::open(&path).unwrap().length(), (whole.len() + put_in.len()) as u64);
    }
}

#[test]
fn a_chunk_that_is_being_cleared_is_made_blank() {
    let mut bytes = server().bytes();
    bytes[4096..4100].copy_from_slice(b"FREE");
    assert_eq!(blank_heads(&mut bytes[4096..8192]), 1);
    assert_eq!(&bytes[4096..4100], b"FREE");
    assert_eq!(bytes[4100..8192], [0; 4092]);
    assert_eq!(blank_heads(&mut bytes[4096..8192]), 0);
}

proptest! {
    /// A file that is cut off or damaged gives what is before the damage, and never fails.
    #[test]
    fn any_damage_leaves_what_is_before_it(at in 4096_usize..4600, byte: u8, cut in 0_usize..600) {
        let directory = TempDir::new().unwrap();
        let path = written(&directory);
        update(&path).unwrap();
        let (whole, _) = read(&path);
        let file = path.with_extension("operations");
        let mut bytes = fs::read(&file).unwrap();
        bytes.truncate(bytes.len().saturating_sub(cut).max(4096));
        let is_whole = bytes.len();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        fs::write(&file, &bytes).unwrap();
        let (found, unread) = read(&path);
        prop_assert!(found.len() <= whole.len() + 1 && unread <= is_whole as u64);
        if cut > 0 && at >= bytes.len() {
            prop_assert_eq!(&found[..], &whole[..found.len()]);
        }
    }

    /// Whatever a chunk holds, making its heads blank keeps its length and can be done again.
    #[test]
    fn making_blank_is_done_once(words in prop::collection::vec(any::<u32>(), 0..1100)) {
        let magic = u32::from_le_bytes(*b"CHNK");
        let words = std::iter::once(magic).chain(words);
        let mut bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        let length = bytes.len();
        blank_heads(&mut bytes);
        let once = bytes.clone();
        prop_assert_eq!(blank_heads(&mut bytes), 0);
        prop_assert_eq!((bytes.len(), &bytes), (length, &once));
    }
}

/// Recordings that end together name the same logs.
#[test]
fn several_at_once_leave_all_operations() {
    for _ in 0..40 {
        let directory = TempDir::new().unwrap();
        let path = written(&directory);
        let expected = of_log(&Log::open(&path).unwrap()).entries;
        std::thread::scope(|scope| {
            let each = (0..4).map(|_| scope.spawn(|| replace(&path, |_| false)));
            let all: Vec<_> = each.collect();
            for one in all {
                one.join().unwrap().unwrap();
            }
        });
        assert_eq!(read(&path), (expected, 0));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
