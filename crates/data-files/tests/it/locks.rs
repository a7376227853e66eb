//! One command at a time holds the lock of a directory.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use data_files::{DataPath, DirectoryLock, try_lock};

/// Returns when a process waits for the lock, according to the kernel's list of locks.
fn await_waiter(data: &DataPath) {
    let inode = fs::metadata(data.join(".lock")).unwrap().ino().to_string();
    let waits = |line: &str| line.contains("->") && line.contains(&format!(":{inode} "));
    for _ in 0..10_000 {
        if fs::read_to_string("/proc/locks").unwrap().lines().any(waits) {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("nothing waits for the lock");
}

#[test]
fn the_second_command_learns_of_the_first_and_waits_for_it() {
    let place = tempfile::tempdir().unwrap();
    let data = DataPath::trusted(place.path());
    let first = try_lock(&data).unwrap().unwrap();
    assert_eq!(try_lock(&data).unwrap().unwrap_err(), Some(std::process::id()));
    let (begun, has_begun) = mpsc::channel();
    let (locked, has_locked) = mpsc::channel();
    let waiting = thread::spawn(move || {
        begun.send(()).unwrap();
        let lock = DirectoryLock::wait_for(&DataPath::trusted(place.path())).unwrap();
        locked.send(()).unwrap();
        drop(lock);
        place
    });
    has_begun.recv().unwrap();
    await_waiter(&data);
    assert!(has_locked.try_recv().is_err());
    drop(first);
    has_locked.recv().unwrap();
    let place = waiting.join().unwrap();
    assert!(try_lock(&DataPath::trusted(place.path())).unwrap().is_ok());
}

#[test]
fn other_users_cannot_hold_it() {
    let place = tempfile::tempdir().unwrap();
    let data = DataPath::trusted(place.path());
    drop(try_lock(&data).unwrap().unwrap());
    assert_eq!(fs::metadata(place.path().join(".lock")).unwrap().mode() & 0o777, 0o600);
    fs::remove_file(place.path().join(".lock")).unwrap();
    fs::write(place.path().join("other"), "kept").unwrap();
    symlink("other", place.path().join(".lock")).unwrap();
    assert!(try_lock(&data).is_err());
    assert_eq!(fs::read_to_string(place.path().join("other")).unwrap(), "kept");
}
