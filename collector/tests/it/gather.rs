//! Ship and collect in one process over loopback: the gathered files equal the originals, however
//! often either side restarts, and data that the collector already has is not sent again.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use collector::collect::{self, Deadlines, HostLimits};
use collector::link::StopFlag;
use collector::ship;
use message_trace::DataDir;

use crate::common::{EventRecorder, PLENTY, contents, make_log, once, options, with_collector};

#[test]
fn all_is_gathered_and_nothing_is_sent_twice() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    let host = from.join("hosts/web-1");
    let all: Vec<u64> = (1..300).collect();
    make_log(&host, 1, &all, 300);
    make_log(&host, 2, &[1, 2, 90], 70_000);
    let third = make_log(&host, 3, &[], 1);
    // The last page of this log is partial.
    fs::File::options().write(true).open(&third).unwrap().set_len(10_000).unwrap();
    fs::write(host.join("4-1.spare"), [0; 8192]).unwrap();
    let recorder = EventRecorder::default();
    let [first, again, changed] = with_collector(&to, PLENTY, &recorder, |address| {
        let options = options(&from, address);
        let first = once(&options, &recorder);
        assert_eq!(contents(&to.join("hosts/web-1")), contents(&host), "{:?}", recorder.lines());
        let again = once(&options, &recorder);
        // One page is changed, one is added, and one is removed.
        let file = fs::File::options().write(true).open(&third).unwrap();
        file.write_all_at(b"x", 5000).unwrap();
        file.write_all_at(&[7; 5000], 10_000).unwrap();
        let second = fs::File::options().write(true).open(host.join("2-1700000000.sclog")).unwrap();
        second.write_all_at(&[0; 4096], 2 * 4096).unwrap();
        second.set_len(60 * 4096).unwrap();
        [first, again, once(&options, &recorder)]
    });
    assert_eq!(contents(&to.join("hosts/web-1")), contents(&host));
    assert_eq!(first.sent, (300 + 4 + 1) * 4096);
    assert_eq!(again.sent, 0, "{:?}", recorder.lines());
    // The third file's pages 1 (changed), 2 and 3 (added, the last in part), the second's page 2.
    assert_eq!(changed.sent, 4096 + 4096 + (15_000 - 3 * 4096) + 4096);
    assert!(!to.join("hosts/web-1/4-1.spare").exists(), "it was not begun");
}

#[test]
fn logs_without_writers_are_removed_once_they_are_gathered() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    let host = from.join("hosts/web-1");
    make_log(&host, 1, &[1, 2, 3], 4);
    let open = make_log(&host, 2, &[1], 2);
    let before = contents(&host);
    let writer = fs::File::options().write(true).open(&open).unwrap();
    let recorder = EventRecorder::default();
    with_collector(&to, PLENTY, &recorder, |address| {
        let options = ship::ShipOptions { remove: true, ..options(&from, address) };
        once(&options, &recorder);
        assert_eq!(contents(&to.join("hosts/web-1")), before);
        let left: Vec<String> = contents(&host).into_keys().collect();
        assert_eq!(left, ["2-1700000000.sclog"], "it can still be written to");
        drop(writer);
        once(&options, &recorder);
        assert_eq!(contents(&host).len(), 0);
    });
    assert_eq!(contents(&to.join("hosts/web-1")), before);
}

#[test]
fn another_log_under_a_previous_name_is_kept_next_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    let host = from.join("hosts/web-1");
    let path = make_log(&host, 1, &[1], 2);
    let first = fs::read(&path).unwrap();
    let recorder = EventRecorder::default();
    let renamed = host.join("renamed.sclog");
    with_collector(&to, PLENTY, &recorder, |address| {
        let options = options(&from, address);
        once(&options, &recorder);
        let other = make_log(&directory.path().join("other"), 9, &[1, 2], 3);
        fs::rename(&path, &renamed).unwrap();
        fs::rename(other, &path).unwrap();
        let sent = once(&options, &recorder).sent;
        assert_eq!(sent, 3 * 4096, "the renamed one is there already");
    });
    let gathered = contents(&to.join("hosts/web-1"));
    assert_eq!(gathered["1-1700000000.sclog"], first);
    assert_eq!(gathered["1-1700000000+2.sclog"], fs::read(&path).unwrap());
    assert_eq!(gathered.len(), 2);
}

#[test]
fn a_quota_stops_a_host_and_a_larger_one_lets_it_continue() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    let host = from.join("hosts/web-1");
    for pid in 1..5 {
        make_log(&host, pid, &(1..64).collect::<Vec<_>>(), 64);
    }
    let recorder = Arc::new(EventRecorder::default());
    let small = HostLimits { bytes: 600 << 10, files: 1000 };
    with_collector(&to, small, &recorder, |address| {
        let stop = StopFlag::default();
        let options = options(&from, address);
        std::thread::scope(|scope| {
            let shipper = scope.spawn(|| ship::run_shipper(&options, &*recorder, &stop));
            while !recorder
                .lines()
                .iter()
                .any(|line| line.contains("NotStored") && line.contains("again"))
            {
                assert!(!shipper.is_finished(), "{:?}", recorder.lines());
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Relaxed);
            shipper.join().unwrap().unwrap();
        });
    });
    let stored: u64 =
        contents(&to.join("hosts/web-1")).values().map(|bytes| bytes.len() as u64).sum();
    assert!(stored <= 600 << 10, "{stored}");
    with_collector(&to, PLENTY, &recorder, |address| once(&options(&from, address), &recorder));
    assert_eq!(contents(&to.join("hosts/web-1")), contents(&host));
    let few = HostLimits { files: 4, ..PLENTY };
    make_log(&host, 5, &[1], 2);
    with_collector(&to, few, &recorder, |address| {
        let options = options(&from, address);
        let stop = StopFlag::default();
        std::thread::scope(|scope| {
            scope.spawn(|| ship::run_shipper(&options, &*recorder, &stop));
            while !recorder.lines().iter().any(|line| line.contains("shortage: Files")) {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Relaxed);
        });
    });
    assert_eq!(contents(&to.join("hosts/web-1")).len(), 4);
}

#[test]
fn a_following_shipper_sends_new_data_and_continues_at_another_collector() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to, other] = ["from", "to", "other"].map(|name| directory.path().join(name));
    let host = from.join("hosts/web-1");
    let recorder = EventRecorder::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let stop = StopFlag::default();
    let same = |to: &Path| {
        let gathered = to.join("hosts/web-1");
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while !gathered.exists() || contents(&gathered) != contents(&host) {
            assert!(std::time::Instant::now() < deadline, "{:?}", recorder.lines());
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let collect_at = |to: &Path, work: &dyn Fn()| {
        let listener = TcpListener::bind(address).unwrap();
        let options = collect::CollectOptions {
            data: DataDir::new(to),
            tls: None,
            revoked: None,
            limits: PLENTY,
            deadlines: Deadlines::default(),
        };
        let stop = StopFlag::default();
        std::thread::scope(|scope| {
            let collector =
                scope.spawn(|| collect::run_collector(&options, &listener, &recorder, &stop));
            work();
            stop.store(true, Relaxed);
            collector.join().unwrap().unwrap();
        });
    };
    let options = ship::ShipOptions { follow: true, ..options(&from, address) };
    std::thread::scope(|scope| {
        scope.spawn(|| ship::run_shipper(&options, &recorder, &stop));
        let path = make_log(&host, 1, &[1], 200);
        collect_at(&to, &|| {
            same(&to);
            let file = fs::File::options().write(true).open(&path).unwrap();
            for page in [1, 7, 150, 7] {
                file.write_all_at(&[page as u8 + 1; 100], page * 4096 + 50).unwrap();
                same(&to);
            }
            make_log(&host, 2, &[1, 2, 3], 4);
            same(&to);
            // Files that are removed on the host stay at the collector.
            fs::remove_file(&path).unwrap();
        });
        assert_eq!(contents(&to.join("hosts/web-1")).len(), 2);
        // A new collection under the same address is empty, and gets everything that remains.
        collect_at(&other, &|| same(&other));
        stop.store(true, Relaxed);
    });
}

#[test]
fn of_two_copies_of_a_log_the_first_is_sent_and_none_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    let host = from.join("hosts/web-1");
    let path = make_log(&host, 1, &[1, 2, 3], 4);
    fs::copy(&path, host.join("2-copy.sclog")).unwrap();
    let before = contents(&host);
    let recorder = EventRecorder::default();
    let summary = with_collector(&to, PLENTY, &recorder, |address| {
        once(&ship::ShipOptions { remove: true, ..options(&from, address) }, &recorder)
    });
    assert_eq!((summary.sent, contents(&host)), (4 * 4096, before));
    let gathered: Vec<String> = contents(&to.join("hosts/web-1")).into_keys().collect();
    assert_eq!(gathered, ["1-1700000000.sclog"]);
    assert_eq!(recorder.lines().iter().filter(|line| line.starts_with("Twin")).count(), 1);
}

#[test]
fn a_file_that_cannot_be_read_holds_up_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    let host = from.join("hosts/web-1");
    let last = make_log(&host, 9, &[1], 2);
    std::os::unix::fs::symlink(&last, host.join("1-link.sclog")).unwrap();
    fs::write(host.join("2-none.sclog"), "no log").unwrap();
    let mut version = fs::read(&last).unwrap();
    version[8] = 77;
    fs::write(host.join("3-version.sclog"), version).unwrap();
    let recorder = EventRecorder::default();
    let summary =
        with_collector(&to, PLENTY, &recorder, |address| once(&options(&from, address), &recorder));
    assert_eq!((summary.sent, summary.unreadable), (2 * 4096, 2), "{:?}", recorder.lines());
    let gathered = contents(&to.join("hosts/web-1"));
    assert_eq!(
        gathered.into_iter().collect::<Vec<_>>(),
        [("9-1700000000.sclog".into(), fs::read(&last).unwrap())]
    );
}

#[test]
fn a_shipper_that_does_not_follow_ends_after_a_long_shortage() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    make_log(&from.join("hosts/web-1"), 1, &(1..100).collect::<Vec<_>>(), 100);
    let recorder = EventRecorder::default();
    let small = HostLimits { bytes: 100 << 10, files: 10 };
    with_collector(&to, small, &recorder, |address| {
        let options = ship::ShipOptions { patience: Duration::ZERO, ..options(&from, address) };
        let error =
            ship::run_shipper(&options, &recorder, &StopFlag::default()).unwrap_err().to_string();
        assert!(error.contains("used up its quota"), "{error}");
    });
}

#[test]
fn two_collectors_do_not_gather_into_one_directory() {
    let directory = tempfile::tempdir().unwrap();
    let recorder = EventRecorder::default();
    with_collector(directory.path(), PLENTY, &recorder, |_| {
        let locked = || {
            fs::read_to_string(directory.path().join("hosts/.store")).is_ok_and(|id| id.len() == 33)
        };
        while !locked() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let data = DataDir::new(directory.path());
        let options = collect::CollectOptions {
            data,
            tls: None,
            revoked: None,
            limits: PLENTY,
            deadlines: Deadlines::default(),
        };
        let error = collect::run_collector(&options, &listener, &recorder, &StopFlag::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("another collector gathers into this directory"), "{error}");
    });
}

#[test]
fn an_error_contains_the_address_once() {
    let directory = tempfile::tempdir().unwrap();
    let recorder = EventRecorder::default();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for to in [
        closed.to_string(),
        format!("localhost:{}", closed.port()),
        "no-such-host.invalid:9712".into(),
    ] {
        let options = ship::ShipOptions {
            to: to.clone(),
            patience: Duration::ZERO,
            ..options(directory.path(), closed)
        };
        let error =
            ship::run_shipper(&options, &recorder, &StopFlag::default()).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{to}: ")) && error.matches(&to).count() == 1,
            "{error}"
        );
    }
}
