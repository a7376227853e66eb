//! Removal of files at a collector to make room while shippers run: the shippers notice, continue
//! with what they have yet to send, and no log at the collector is incomplete. No shipper is
//! restarted.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::FileExt;
use std::path::Path;

use collector::collect::{self, Deadlines, HostLimits};
use collector::link::StopFlag;
use collector::ship;
use message_trace::DataDir;

use crate::common::{
    EventRecorder, PLENTY, Stopping, contents, make_log, options, wait, with_collector,
};

/// A log that is longer than the data that a shipper sends between two acknowledgements, 8 MiB.
const LONG: u64 = 2304;

/// Removes all logs of a host, as a person would: the last ones first, so that none that had no
/// room gets room before it is removed itself.
fn clear(directory: &Path) {
    for name in contents(directory).into_keys().rev() {
        fs::remove_file(directory.join(name)).unwrap();
    }
}

/// The logs with these numbers.
fn numbered(logs: &BTreeMap<String, Vec<u8>>, numbers: &[u32]) -> BTreeMap<String, Vec<u8>> {
    let is_one = |name: &str| numbers.iter().any(|number| name.starts_with(&format!("{number}-")));
    logs.iter()
        .filter(|(name, _)| is_one(name))
        .map(|(name, log)| (name.clone(), log.clone()))
        .collect()
}

#[test]
fn a_full_quota_that_is_freed_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    let (host, gathered) = (from.join("hosts/web-1"), to.join("hosts/web-1"));
    let pages: Vec<u64> = (1..LONG).collect();
    for pid in 1..=4 {
        make_log(&host, pid, &pages, LONG);
    }
    // The last log is still written to.
    let last = make_log(&host, 5, &[1, 2], 3);
    let writer = fs::File::options().write(true).open(&last).unwrap();
    let recorder = EventRecorder::default();
    // There is room for three logs and for more of the fourth than a batch holds. So the batch
    // without room begins in the fourth, wherever the previous ones ended: if sending takes long,
    // they end early.
    let limits = HostLimits { bytes: (4 * LONG - 96) * 4096, files: 100 };
    let stop = StopFlag::default();
    with_collector(&to, limits, &recorder, |address| {
        let options = ship::ShipOptions { follow: true, ..options(&from, address) };
        std::thread::scope(|scope| {
            let _stopping = Stopping(&stop);
            scope.spawn(|| ship::run_shipper(&options, &recorder, &stop));
            let full = || {
                let lines = recorder.lines();
                lines.iter().filter(|line| line.contains("Quota") && line.contains("again")).count()
            };
            wait(&recorder, "the limit is reached", || full() >= 2);
            let whole = numbered(&contents(&host), &[1, 2, 3]);
            assert_eq!(numbered(&contents(&gathered), &[1, 2, 3]), whole);
            clear(&gathered);
            // Incomplete logs arrive as a whole, and the last one grows. The first three are
            // finished and stay removed.
            let comes = || {
                let (here, there) = (contents(&host), contents(&gathered));
                there == numbered(&here, &[4, 5])
            };
            wait(&recorder, "there is room again", comes);
            writer.write_all_at(&[7; 4096], 3 * 4096).unwrap();
            wait(&recorder, "the log continues", comes);
        });
    });
}

#[test]
fn a_file_limit_that_is_freed_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    let (host, gathered) = (from.join("hosts/web-1"), to.join("hosts/web-1"));
    (1..=3).for_each(|pid| drop(make_log(&host, pid, &[1], 2)));
    let recorder = EventRecorder::default();
    let stop = StopFlag::default();
    with_collector(&to, HostLimits { files: 2, ..PLENTY }, &recorder, |address| {
        let options = ship::ShipOptions { follow: true, ..options(&from, address) };
        std::thread::scope(|scope| {
            let _stopping = Stopping(&stop);
            scope.spawn(|| ship::run_shipper(&options, &recorder, &stop));
            wait(&recorder, "the limit is reached", || {
                recorder.lines().iter().any(|line| line.contains("shortage: Files"))
            });
            // All were in one batch, so none is known to be stored; two have room.
            let first = contents(&host).into_keys().next().unwrap();
            fs::remove_file(host.join(first)).unwrap();
            clear(&gathered);
            wait(&recorder, "the others have room", || contents(&gathered) == contents(&host));
        });
    });
}

#[test]
fn a_growing_log_is_sent_as_a_whole_after_its_removal() {
    let directory = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
    let (host, gathered) = (from.join("hosts/web-1"), to.join("hosts/web-1"));
    let path = make_log(&host, 1, &[1, 2, 3, 9], 300);
    let writer = fs::File::options().write(true).open(&path).unwrap();
    let recorder = EventRecorder::default();
    let same = || {
        wait(&recorder, "all files are gathered", || {
            gathered.exists() && contents(&gathered) == contents(&host)
        })
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let stop = StopFlag::default();
    let collect = |work: &dyn Fn()| {
        let listener = TcpListener::bind(address).unwrap();
        let stop = StopFlag::default();
        let options = collect::CollectOptions {
            data: DataDir::new(&to),
            tls: None,
            revoked: None,
            limits: PLENTY,
            deadlines: Deadlines::default(),
        };
        std::thread::scope(|scope| {
            let _stopping = Stopping(&stop);
            scope.spawn(|| collect::run_collector(&options, &listener, &recorder, &stop).unwrap());
            work();
        });
    };
    let options = ship::ShipOptions { follow: true, ..options(&from, address) };
    std::thread::scope(|scope| {
        let _stopping = Stopping(&stop);
        scope.spawn(|| ship::run_shipper(&options, &recorder, &stop));
        collect(&|| {
            same();
            clear(&gathered);
            writer.write_all_at(&[5; 100], 20 * 4096).unwrap();
            same();
            // Removed with its directory.
            fs::remove_dir_all(&gathered).unwrap();
            writer.write_all_at(&[6; 100], 21 * 4096).unwrap();
            same();
            // Moved, so that a process which has it open writes to it there.
            let elsewhere = to.join("moved.sclog");
            let name = contents(&gathered).into_keys().next().unwrap();
            fs::rename(gathered.join(name), &elsewhere).unwrap();
            writer.write_all_at(&[7; 100], 22 * 4096).unwrap();
            same();
        });
        // Removed while no collector ran.
        clear(&gathered);
        writer.write_all_at(&[8; 100], 23 * 4096).unwrap();
        collect(&same);
    });
}
