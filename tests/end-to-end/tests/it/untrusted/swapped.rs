//! A log that is replaced by a link to a file of root's at the moment when a command looks at it:
//! inotify informs the attacker as soon as the log is opened.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::planted::{PlantedPlace, TALK, python_program};

/// Number of attempts. The former version loses within some five.
const ATTEMPTS: usize = 25;

/// Swaps `log` and `link` whenever the log was opened, until `is_over`.
fn swap_repeatedly(log: &Path, link: &Path, is_over: &AtomicBool, swaps: &AtomicUsize) {
    let events = inotify::init(CreateFlags::NONBLOCK).unwrap();
    let directory = log.parent().unwrap();
    inotify::add_watch(&events, directory, WatchFlags::OPEN | WatchFlags::ACCESS).unwrap();
    let mut buffer = [0_u8; 4096];
    while !is_over.load(Ordering::Relaxed) {
        if rustix::io::read(&events, &mut buffer).is_ok() {
            let swapped = renameat_with(CWD, log, CWD, link, RenameFlags::EXCHANGE);
            swaps.fetch_add(usize::from(swapped.is_ok()), Ordering::Relaxed);
        }
        thread::yield_now();
    }
}

#[test]
fn a_log_swapped_for_a_link_affects_no_other_file() {
    let place = PlantedPlace::record_talker();
    let target = place.elsewhere_dir().join("log");
    // Root's own file is a log with snippets, too: a command that opened it would blank them.
    let script = format!("{} -c '{TALK}'; kill -9 $PPID", python_program());
    place.run_to_end(&["record", "--protocols", "--host", "kept", "--", "/bin/sh", "-c", &script]);
    let logs = fs::read_dir(place.data_dir().join("hosts/kept")).unwrap();
    let is_of_python = |path: &std::path::PathBuf| {
        fs::read(path).unwrap().windows(8).any(|window| window == b"question")
    };
    let log = logs.map(|entry| entry.unwrap().path()).find(is_of_python).unwrap();
    fs::copy(&log, &target).unwrap();
    let with_heads = fs::read(&log).unwrap();
    let link = place.file_path("link.sclog");
    let before = place.elsewhere_state();
    let (is_over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    for _ in 0..ATTEMPTS {
        let _ = fs::remove_file(&link);
        let _ = fs::remove_file(&log);
        fs::write(&log, &with_heads).unwrap();
        symlink(&target, &link).unwrap();
        is_over.store(false, Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| swap_repeatedly(&log, &link, &is_over, &swaps));
            for command in [&["names", "--all-users"][..], &["info", "--all-users"]] {
                place.run_to_end(command);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(place.elsewhere_state(), before);
    }
    let swaps = swaps.into_inner();
    assert!(swaps >= ATTEMPTS, "{swaps} swaps");
}
