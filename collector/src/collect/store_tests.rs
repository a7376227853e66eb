//! Tests of a host's store: what it stores, counts and refuses.

use std::fs::{self, File};
use std::path::Path;

use socket_log::layout::source;
use socket_log::write::LogWriter;

use super::*;
use crate::collect::stored_file::disk_use;

const LIMITS: HostLimits = HostLimits { bytes: 10 << 20, files: 3 };

/// Identity and bytes of a log of this process.
fn log(name: &str, pid: u32, imported: bool) -> (LogIdentity, Vec<u8>) {
    let mut log = LogWriter::new("web-1", pid, "/bin/x");
    if imported {
        log.set_source(source::STRACE).set_start(u64::from(pid));
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), log.to_bytes()).unwrap();
    (LogIdentity::read_identity(name, file.as_file()).unwrap().0, log.to_bytes())
}

fn store(store: &mut HostStore, name: &str, pid: u32, imported: bool) -> LogIdentity {
    let (identity, bytes) = log(name, pid, imported);
    store.select_file(name, identity).unwrap();
    store.write_extent(0, &bytes).unwrap();
    identity
}

fn total(directory: &Path) -> u64 {
    let files =
        fs::read_dir(directory).unwrap().map(|entry| File::open(entry.unwrap().path()).unwrap());
    files.map(|file| disk_use(&file).unwrap()).sum()
}

#[test]
fn counts_match_the_disk_in_any_order_of_writes() {
    let directory = tempfile::tempdir().unwrap();
    let mut host = HostStore::open(directory.path(), LIMITS, None).unwrap();
    let page = [7; PAGE];
    for round in 1..6_u64 {
        // One file, the other, and the first again, which becomes shorter.
        store(&mut host, "1-1.sclog", 1, false);
        (0..20).for_each(|at| host.write_extent((round * 20 + at) * PAGE as u64, &page).unwrap());
        store(&mut host, "2-1.sclog", 2, false);
        store(&mut host, "1-1.sclog", 1, false);
        host.set_length(if round % 2 == 0 { PAGE as u64 } else { 100 * PAGE as u64 }).unwrap();
        host.flush().unwrap();
        assert_eq!(host.used_bytes(), total(directory.path()), "round {round}");
    }
    assert_eq!(
        HostStore::open(directory.path(), LIMITS, None).unwrap().used_bytes(),
        host.used_bytes()
    );
}

#[test]
fn a_file_limit_does_not_block_existing_files() {
    let directory = tempfile::tempdir().unwrap();
    let mut host = HostStore::open(directory.path(), LIMITS, None).unwrap();
    for pid in 1..4 {
        store(&mut host, &format!("{pid}-1.sclog"), pid, false);
    }
    host.flush().unwrap();
    store(&mut host, "0-1.sclog", 9, false);
    store(&mut host, "1-1.sclog", 1, false);
    host.write_extent(4 * PAGE as u64, &[5; PAGE]).unwrap();
    assert!(matches!(host.flush(), Err((StorageShortage::Files, None))));
    assert_eq!(fs::metadata(directory.path().join("1-1.sclog")).unwrap().len(), 5 * PAGE as u64);
    host.flush().unwrap();
}

#[test]
fn an_imported_log_under_a_numbered_name_is_recognised_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut host = HostStore::open(directory.path(), LIMITS, None).unwrap();
    let first = store(&mut host, "x.sclog", 1, true);
    let second = store(&mut host, "x.sclog", 2, true);
    assert_ne!(first, second);
    host.flush().unwrap();
    let mut host = HostStore::open(directory.path(), LIMITS, None).unwrap();
    for identity in [first, second] {
        host.select_file("x.sclog", identity).unwrap();
        assert!(host.page_checksums(0, 10).unwrap().unwrap().0 > 0);
    }
    assert_eq!(
        (host.file_count(), host.inventory.assign_name(&second, "x.sclog")),
        (2, "x+2.sclog".to_owned())
    );
}

#[test]
fn checksums_cover_the_existing_pages() {
    let directory = tempfile::tempdir().unwrap();
    let mut host = HostStore::open(directory.path(), LIMITS, None).unwrap();
    let (identity, bytes) = log("1-1.sclog", 1, false);
    host.select_file("1-1.sclog", identity).unwrap();
    assert_eq!(host.page_checksums(0, 10).unwrap().unwrap(), (0, Vec::new()));
    store(&mut host, "1-1.sclog", 1, false);
    host.write_extent(10 * PAGE as u64, &[3; 100]).unwrap();
    host.flush().unwrap();
    let (length, sums) = host.page_checksums(0, 100).unwrap().unwrap();
    assert_eq!((length, sums.len()), (10 * PAGE as u64 + 100, 11));
    assert_eq!(
        (sums[0], sums[5], sums[10]),
        (crate::page::page_checksum(&bytes[..PAGE]), 0, crate::page::page_checksum(&[3; 100]))
    );
    assert_eq!(host.page_checksums(9, 100).unwrap().unwrap().1, sums[9..]);
    for past_end in [11, 1 << 52, u64::MAX] {
        assert_eq!(host.page_checksums(past_end, 100).unwrap().unwrap(), (length, Vec::new()));
    }
    // A file that cannot be read does not look missing.
    fs::remove_file(directory.path().join("1-1.sclog")).unwrap();
    fs::create_dir(directory.path().join("1-1.sclog")).unwrap();
    assert!(host.page_checksums(0, 1).unwrap().is_err());
}
