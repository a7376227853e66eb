//! Whatever happens to shipper, collector, network and disk while programs are recorded: in the end
//! the gathered logs equal the originals byte for byte.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use end_to_end::capture::python;
use end_to_end::gathering::{Collector, Tmpfs, assert_same, logs, wait};
use end_to_end::lab::{Host, Lab, Running};
use end_to_end::repository;
use rustix::process::Signal;

/// How often one of both sides is killed.
const KILLS: u32 = 100;

/// Two hosts and a program that is recorded on the first of them.
struct System {
    lab: Lab,
    host: Host,
    collector: Collector,
}

impl System {
    fn new() -> System {
        let mut lab = Lab::new();
        let network = lab.network(1);
        let (host, gatherer) = (lab.host("web-1", network), lab.host("gatherer", network));
        let collector = Collector::new(&gatherer, &lab.file(""), &["web-1"]);
        System { lab, host, collector }
    }

    /// Starts the program, which ends when [`end`](System::end) is called.
    fn program(&self) -> Running {
        let mut command = self.host.recorded(python());
        command
            .arg(repository().join("tests/programs/coming_and_going.py"))
            .arg(self.lab.file("end"));
        self.host.start(&mut command)
    }

    fn end(&self, program: Running) {
        fs::write(self.lab.file("end"), "").unwrap();
        program.finish();
    }

    fn ship(&self, options: &[&str]) -> Running {
        let data = self.lab.recording.data();
        self.host.start(&mut self.collector.ship(&self.host, &data, options))
    }

    fn ship_once(&self) {
        self.ship(&["--once"]).finish();
    }

    fn all_is_gathered(&self) {
        let original = logs(&self.lab.recording.data().join("hosts/web-1"));
        assert!(original.len() > 5, "{} logs", original.len());
        assert_same(&self.collector.gathered(&self.host), &original);
    }
}

/// Random numbers that are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A log of `pages` pages that cannot be compressed, as if it had been recorded before.
fn make_large(directory: &Path, pages: u64) {
    fs::create_dir_all(directory).unwrap();
    let path = directory.join("1-1.sclog");
    fs::write(&path, socket_log::write::LogWriter::new("web-1", 1, "/bin/large").bytes()).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let mut dice = Dice(5);
    for page in 1..pages {
        let bytes: Vec<u8> = (0..512)
            .flat_map(|_| (dice.below(1 << 31) << 32 | dice.below(1 << 31)).to_le_bytes())
            .collect();
        file.write_all_at(&bytes, page * 4096).unwrap();
    }
}

#[test]
fn either_side_is_killed_at_any_moment() {
    let system = System::new();
    make_large(&system.lab.recording.data().join("hosts/web-1"), 8000);
    let program = system.program();
    let options = ["--interval", "20ms", "--limit", "6M"];
    let mut collector = Some(system.collector.start());
    let mut shipper = Some(system.ship(&options));
    let mut dice = Dice(1);
    let mut killed = [0, 0];
    for _ in 0..KILLS {
        std::thread::sleep(Duration::from_millis(5 + dice.below(120)));
        let side = dice.below(2) as usize;
        killed[side] += 1;
        let victim = if side == 0 { shipper.take() } else { collector.take() };
        let mut victim = victim.expect("both run");
        victim.check();
        victim.stop(Signal::KILL);
        if side == 0 {
            shipper = Some(system.ship(&options));
        } else {
            collector = Some(system.collector.start());
        }
    }
    assert!(killed.iter().all(|times| *times > 20), "{killed:?}");
    system.end(program);
    // Stopped as it should be, it has nothing to complain of.
    let said = shipper.expect("it runs").stop(Signal::TERM);
    assert!(said.contains(" sent to "), "{said}");
    system.ship_once();
    system.all_is_gathered();
    let said = collector.expect("it runs").stop(Signal::TERM);
    assert!(!said.contains("refused"), "{said}");
}

#[test]
fn links_are_cut_and_restored() {
    let system = System::new();
    make_large(&system.lab.recording.data().join("hosts/web-1"), 4000);
    let program = system.program();
    let mut collector = Some(system.collector.start());
    let shipper = system.ship(&["--interval", "20ms", "--limit", "3M"]);
    let mut dice = Dice(2);
    for round in 0..12 {
        std::thread::sleep(Duration::from_millis(200 + dice.below(300)));
        system.host.namespace().ip("link set eth0 down");
        if round % 3 == 2 {
            // The collector is gone when the link is there again, and comes back later.
            collector.take().expect("it runs").stop(Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(50 + dice.below(700)));
        system.host.namespace().ip("link set eth0 up");
        collector = collector.take().or_else(|| Some(system.collector.start()));
    }
    system.end(program);
    shipper.stop(Signal::TERM);
    system.ship_once();
    system.all_is_gathered();
}

#[test]
fn a_full_disk_stops_acknowledgements_and_heals_by_itself() {
    let mut system = System::new();
    let disk = Tmpfs::new(&system.collector.data, 3000);
    system.collector.option("--quota", "1G");
    make_large(&system.lab.recording.data().join("hosts/web-1"), 2000);
    let program = system.program();
    let collector = system.collector.start();
    let shipper = system.ship(&["--interval", "20ms"]);
    shipper.wait_for("the collector's disk is full");
    std::thread::sleep(Duration::from_millis(300));
    system.end(program);
    disk.resize(200_000);
    let original = logs(&system.lab.recording.data().join("hosts/web-1"));
    system.collector.wait_for(&system.host, &original);
    shipper.stop(Signal::TERM);
    let said = collector.stop(Signal::TERM);
    assert!(said.contains("not stored: the collector's disk is full"), "{said}");
    system.all_is_gathered();
    drop(disk);
}

#[test]
fn files_grow_go_round_and_vanish_while_they_are_shipped() {
    let system = System::new();
    let data = system.lab.recording.data();
    let directory = data.join("hosts/web-1");
    // What is removed on the host stays here under another name.
    let kept = system.lab.file("kept");
    fs::create_dir_all(&kept).unwrap();
    let mut command = system.host.recorded(python());
    command.env("SOCKCAP_MAX_BYTES", "128K").env("SOCKCAP_WHEN_FULL", "newest");
    command
        .arg(repository().join("tests/programs/coming_and_going.py"))
        .arg(system.lab.file("end"))
        .args([&directory, &kept]);
    let _collector = system.collector.start();
    let program = system.host.start(&mut command);
    let shipper = system.ship(&["--interval", "200ms", "--remove-shipped"]);
    std::thread::sleep(Duration::from_secs(4));
    system.end(program);
    // All that has ended is removed, and nothing else was there.
    wait("the host's directory is empty", || logs(&directory).is_empty());
    shipper.stop(Signal::TERM);
    let original = logs(&kept);
    assert!(original.len() > 10, "{} logs", original.len());
    assert!(original.values().any(|bytes| bytes.len() == 128 << 10), "some have gone round");
    assert_same(&system.collector.gathered(&system.host), &original);
}
