//! Shippers and collectors for tests: started, killed and restarted, with the gathered logs
//! compared with the originals.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::capture::{program_path, run_successfully};
use crate::lab::{LabHost, RunningProgram};
use crate::sockcap_program;

/// Maximum time that a test waits for an expected event.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// The port of all collectors.
pub const PORT: u16 = 9712;

/// A collector and the keys of all hosts.
pub struct TestCollector {
    host: LabHost,
    /// The data directory into which the collector gathers logs.
    pub data: PathBuf,
    keys: PathBuf,
    options: Vec<String>,
}

impl TestCollector {
    /// A collector that is not started yet: on `host`, gathering into a directory of the test, with
    /// keys for itself and these hosts.
    pub fn new(host: &LabHost, directory: &Path, hosts: &[&str]) -> TestCollector {
        let keys = directory.join("keys");
        let run = |arguments: &[&str]| {
            run_successfully(
                Command::new(sockcap_program()).args(arguments).arg("--keys").arg(&keys),
            )
        };
        run(&["keys", "new"]);
        // All hosts are on one machine, and share a key.
        run(&[&["keys", "host", "--together"], hosts].concat());
        for host in hosts.iter().skip(1) {
            fs::copy(keys.join(format!("{}.pem", hosts[0])), keys.join(format!("{host}.pem")))
                .expect("a key");
        }
        TestCollector {
            host: host.clone(),
            data: directory.join("gathered"),
            keys,
            options: Vec::new(),
        }
    }

    /// Adds an option, with its value, to the command line of the collector.
    pub fn add_option(&mut self, option: &str, value: &str) {
        self.options.extend([option.to_owned(), value.to_owned()]);
    }

    /// The key of a host, or of the `collector`.
    pub fn key_path(&self, of: &str) -> PathBuf {
        self.keys.join(format!("{of}.pem"))
    }

    /// The address on which the collector listens.
    pub fn address(&self) -> SocketAddr {
        self.host.address_at(PORT)
    }

    /// Starts the collector, and waits until it listens.
    pub fn start_collector(&self) -> RunningProgram {
        let mut command = self.host.plain_command(sockcap_program());
        command.args([
            "collect",
            "--listen",
            &format!("0.0.0.0:{PORT}"),
            "--metrics",
            "none",
            "-d",
        ]);
        command.arg(&self.data).arg("--key").arg(self.key_path("collector")).args(&self.options);
        self.host.start_server(&mut command, &[&format!("tcp:{PORT}")])
    }

    /// A command that ships the logs that `host` recorded into `data`.
    pub fn ship_command(&self, host: &LabHost, data: &Path, options: &[&str]) -> Command {
        let mut command = host.plain_command(sockcap_program());
        command.args(["ship", "--to", &self.address().to_string(), "-d"]).arg(data);
        command
            .arg("--key")
            .arg(self.key_path(host.name()))
            .args(["--host", host.name()])
            .args(options);
        command
    }

    /// The gathered logs of a host.
    pub fn gathered_logs(&self, host: &LabHost) -> BTreeMap<String, Vec<u8>> {
        logs_in(&self.data.join("hosts").join(host.name()))
    }

    /// Waits until the collector has exactly these logs of a host.
    pub fn wait_for(&self, host: &LabHost, expected: &BTreeMap<String, Vec<u8>>) {
        wait_until("all is gathered", || self.gathered_logs(host) == *expected);
    }
}

/// A collector on the loopback interface, without keys or encryption; ended on drop.
pub struct PlainCollector {
    process: Child,
    /// The address on which the collector listens.
    pub address: String,
    /// The data directory into which the collector gathers logs.
    pub data: PathBuf,
}

impl PlainCollector {
    /// Starts a collector that gathers into a directory below `directory`, and waits until it
    /// listens.
    pub fn start_in(directory: &Path) -> PlainCollector {
        fs::create_dir_all(directory).expect("a directory");
        let (data, printed) = (directory.join("gathered"), directory.join("collector.printed"));
        let process = Command::new(sockcap_program())
            .args(["collect", "--plain", "--listen", "127.0.0.1:0", "--metrics", "none", "-d"])
            .arg(&data)
            .stderr(fs::File::create(&printed).expect("a file"))
            .spawn()
            .expect("a collector");
        let address = || {
            let text = fs::read_to_string(&printed).unwrap_or_default();
            let found = text.split(' ').find(|word| word.starts_with("127.0.0.1:"));
            found.map(str::to_owned)
        };
        wait_until("it listens", || address().is_some());
        PlainCollector { process, address: address().unwrap_or_default(), data }
    }
}

impl Drop for PlainCollector {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}

/// Waits until a condition holds.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + MAX_WAIT;
    while !holds() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The contents of the logs in a directory, by file name, except for preallocated logs that no
/// process has begun.
pub fn logs_in(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut logs = BTreeMap::new();
    for path in names.map(|entry| entry.path()) {
        let is_log =
            path.extension().is_some_and(|extension| extension == "sclog" || extension == "spare");
        if let Some(bytes) = fs::read(&path)
            .ok()
            .filter(|bytes| is_log && bytes.first().is_some_and(|byte| *byte != 0))
        {
            logs.insert(path.file_name().unwrap_or_default().to_string_lossy().into_owned(), bytes);
        }
    }
    logs
}

/// Fails if two sets of logs differ, and names the pages that differ.
pub fn assert_same(gathered: &BTreeMap<String, Vec<u8>>, original: &BTreeMap<String, Vec<u8>>) {
    let names = |logs: &BTreeMap<String, Vec<u8>>| logs.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(gathered), names(original));
    for (name, bytes) in original {
        let other = &gathered[name];
        assert_eq!(other.len(), bytes.len(), "{name}");
        let differing: Vec<usize> = (0..bytes.len().div_ceil(4096))
            .filter(|page| {
                let range = page * 4096..(page * 4096 + 4096).min(bytes.len());
                other[range.clone()] != bytes[range]
            })
            .collect();
        assert!(differing.is_empty(), "{name}: pages {differing:?}");
    }
}

/// A separate file system for a directory, small enough to be filled; unmounted on drop.
pub struct SmallTmpfs(PathBuf);

impl SmallTmpfs {
    /// Mounts a file system of `size` KiB at the directory.
    pub fn new(directory: &Path, size: u32) -> SmallTmpfs {
        fs::create_dir_all(directory).expect("a directory");
        run_successfully(
            Command::new(program_path("mount"))
                .args(["-t", "tmpfs", "-o", &format!("size={size}k"), "tmpfs"])
                .arg(directory),
        );
        SmallTmpfs(directory.to_owned())
    }

    /// Resizes the file system to `size` KiB.
    pub fn resize(&self, size: u32) {
        let size = format!("remount,size={size}k");
        run_successfully(Command::new(program_path("mount")).args(["-o", &size]).arg(&self.0));
    }
}

impl Drop for SmallTmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// A directory on overlayfs, as in a container; unmounted on drop.
pub struct OverlayMount(PathBuf);

impl OverlayMount {
    /// Mounts an overlay at `directory`, with its layers below `layers`.
    pub fn new(directory: &Path, layers: &Path) -> OverlayMount {
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| layers.join(name));
        for made in [directory, &lower, &upper, &work] {
            fs::create_dir_all(made).expect("a directory");
        }
        let [lower, upper, work] = [lower, upper, work].map(|path| path.display().to_string());
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        run_successfully(
            Command::new(program_path("mount"))
                .args(["-t", "overlay", "-o", &options, "overlay"])
                .arg(directory),
        );
        OverlayMount(directory.to_owned())
    }
}

impl Drop for OverlayMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
