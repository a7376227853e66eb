//! Whatever happens to shipper, collector, network and disk while programs are recorded: in the end
//! the gathered logs equal the originals byte for byte.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use end_to_end::capture::python_path;
use end_to_end::gathering::{SmallTmpfs, TestCollector, assert_same, logs_in, wait_until};
use end_to_end::lab::{HostLab, LabHost, RunningProgram};
use end_to_end::repository;
use rustix::process::Signal;

/// Number of times that one of the two sides is killed.
const KILLS: u32 = 100;

/// Two hosts and a program that is recorded on the first of them.
struct FaultySystem {
    lab: HostLab,
    host: LabHost,
    collector: TestCollector,
}

impl FaultySystem {
    fn new() -> FaultySystem {
        let mut lab = HostLab::new();
        let network = lab.add_network(1);
        let (host, gatherer) = (lab.add_host("web-1", network), lab.add_host("gatherer", network));
        let collector = TestCollector::new(&gatherer, &lab.file_path(""), &["web-1"]);
        FaultySystem { lab, host, collector }
    }

    /// Starts the program, which ends when [`end`](System::end) is called.
    fn start_program(&self) -> RunningProgram {
        let mut command = self.host.recorded_command(python_path());
        command
            .arg(repository().join("tests/programs/short_lived.py"))
            .arg(self.lab.file_path("end"));
        self.host.start_program(&mut command)
    }

    fn end_program(&self, program: RunningProgram) {
        fs::write(self.lab.file_path("end"), "").unwrap();
        program.wait_success();
    }

    fn start_shipper(&self, options: &[&str]) -> RunningProgram {
        let data = self.lab.recording.data_dir();
        self.host.start_program(&mut self.collector.ship_command(&self.host, &data, options))
    }

    fn ship_once(&self) {
        self.start_shipper(&["--once"]).wait_success();
    }

    fn all_is_gathered(&self) {
        let original = logs_in(&self.lab.recording.data_dir().join("hosts/web-1"));
        assert!(original.len() > 5, "{} logs", original.len());
        assert_same(&self.collector.gathered_logs(&self.host), &original);
    }
}

/// Random numbers that are the same in each run.
struct SeededDice(u64);

impl SeededDice {
    fn next_below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A log of `pages` pages that cannot be compressed, as if recorded earlier.
fn make_large(directory: &Path, pages: u64) {
    fs::create_dir_all(directory).unwrap();
    let path = directory.join("1-1.sclog");
    fs::write(&path, socket_log::write::LogWriter::new("web-1", 1, "/bin/large").to_bytes())
        .unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let mut dice = SeededDice(5);
    for page in 1..pages {
        let bytes: Vec<u8> = (0..512)
            .flat_map(|_| (dice.next_below(1 << 31) << 32 | dice.next_below(1 << 31)).to_le_bytes())
            .collect();
        file.write_all_at(&bytes, page * 4096).unwrap();
    }
}

#[test]
fn either_side_is_killed_at_any_moment() {
    let system = FaultySystem::new();
    make_large(&system.lab.recording.data_dir().join("hosts/web-1"), 8000);
    let program = system.start_program();
    let options = ["--interval", "20ms", "--limit", "6M"];
    let mut collector = Some(system.collector.start_collector());
    let mut shipper = Some(system.start_shipper(&options));
    let mut dice = SeededDice(1);
    let mut killed = [0, 0];
    for _ in 0..KILLS {
        std::thread::sleep(Duration::from_millis(5 + dice.next_below(120)));
        let side = dice.next_below(2) as usize;
        killed[side] += 1;
        let victim = if side == 0 { shipper.take() } else { collector.take() };
        let mut victim = victim.expect("both run");
        victim.check_running();
        victim.stop_by(Signal::KILL);
        if side == 0 {
            shipper = Some(system.start_shipper(&options));
        } else {
            collector = Some(system.collector.start_collector());
        }
    }
    assert!(killed.iter().all(|times| *times > 20), "{killed:?}");
    system.end_program(program);
    // A shipper that is stopped normally reports no errors.
    let said = shipper.expect("it runs").stop_by(Signal::TERM);
    assert!(said.contains(" sent to "), "{said}");
    system.ship_once();
    system.all_is_gathered();
    let said = collector.expect("it runs").stop_by(Signal::TERM);
    assert!(!said.contains("refused"), "{said}");
}

#[test]
fn links_are_cut_and_restored() {
    let system = FaultySystem::new();
    make_large(&system.lab.recording.data_dir().join("hosts/web-1"), 4000);
    let program = system.start_program();
    let mut collector = Some(system.collector.start_collector());
    let shipper = system.start_shipper(&["--interval", "20ms", "--limit", "3M"]);
    let mut dice = SeededDice(2);
    for round in 0..12 {
        std::thread::sleep(Duration::from_millis(200 + dice.next_below(300)));
        system.host.namespace().run_ip("link set eth0 down");
        if round % 3 == 2 {
            // The collector is gone when the link works again, and comes back later.
            collector.take().expect("it runs").stop_by(Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(50 + dice.next_below(700)));
        system.host.namespace().run_ip("link set eth0 up");
        collector = collector.take().or_else(|| Some(system.collector.start_collector()));
    }
    system.end_program(program);
    shipper.stop_by(Signal::TERM);
    system.ship_once();
    system.all_is_gathered();
}

#[test]
fn a_full_disk_stops_acknowledgements_and_heals_by_itself() {
    let mut system = FaultySystem::new();
    let disk = SmallTmpfs::new(&system.collector.data, 3000);
    system.collector.add_option("--quota", "1G");
    make_large(&system.lab.recording.data_dir().join("hosts/web-1"), 2000);
    let program = system.start_program();
    let collector = system.collector.start_collector();
    let shipper = system.start_shipper(&["--interval", "20ms"]);
    shipper.wait_for("the collector's disk is full");
    std::thread::sleep(Duration::from_millis(300));
    system.end_program(program);
    disk.resize(200_000);
    let original = logs_in(&system.lab.recording.data_dir().join("hosts/web-1"));
    system.collector.wait_for(&system.host, &original);
    shipper.stop_by(Signal::TERM);
    let said = collector.stop_by(Signal::TERM);
    assert!(said.contains("not stored: the collector's disk is full"), "{said}");
    system.all_is_gathered();
    drop(disk);
}

#[test]
fn files_grow_wrap_around_and_vanish_while_they_are_shipped() {
    let system = FaultySystem::new();
    let data = system.lab.recording.data_dir();
    let directory = data.join("hosts/web-1");
    // Files that are removed on the host stay here under another name.
    let kept = system.lab.file_path("kept");
    fs::create_dir_all(&kept).unwrap();
    let mut command = system.host.recorded_command(python_path());
    command.env("SOCKCAP_MAX_BYTES", "128K").env("SOCKCAP_WHEN_FULL", "newest");
    command
        .arg(repository().join("tests/programs/short_lived.py"))
        .arg(system.lab.file_path("end"))
        .args([&directory, &kept]);
    let _collector = system.collector.start_collector();
    let program = system.host.start_program(&mut command);
    let shipper = system.start_shipper(&["--interval", "200ms", "--remove-shipped"]);
    std::thread::sleep(Duration::from_secs(4));
    system.end_program(program);
    // All logs of ended processes are removed, and there were no others.
    wait_until("the host's directory is empty", || logs_in(&directory).is_empty());
    shipper.stop_by(Signal::TERM);
    let original = logs_in(&kept);
    assert!(original.len() > 10, "{} logs", original.len());
    assert!(original.values().any(|bytes| bytes.len() == 128 << 10), "some have gone round");
    assert_same(&system.collector.gathered_logs(&system.host), &original);
}
