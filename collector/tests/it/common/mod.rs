//! A collector and shippers in one process, over loopback, and logs for them.
#![allow(unreachable_pub, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use collector::collect::{self, Deadlines, HostLimits};
use collector::link::StopFlag;
use collector::ship::{self, ShipSummary};
use message_trace::DataDir;
use socket_log::write::LogWriter;

/// Records the events of both sides, one line per event.
#[derive(Default)]
pub struct EventRecorder(pub Mutex<Vec<String>>);

impl EventRecorder {
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl collect::CollectListener for EventRecorder {
    fn on_event(&self, event: &collect::CollectEvent<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}

impl ship::ShipListener for EventRecorder {
    fn on_event(&self, event: &ship::ShipEvent<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}

/// Runs a collector while `work` lasts.
pub fn with_collector<T>(
    data: &Path,
    limits: HostLimits,
    recorder: &EventRecorder,
    work: impl FnOnce(SocketAddr) -> T,
) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let options = collect::CollectOptions {
        data: DataDir::new(data),
        tls: None,
        revoked: None,
        limits,
        deadlines: Deadlines::default(),
    };
    let stop = StopFlag::default();
    std::thread::scope(|scope| {
        let collector =
            scope.spawn(|| collect::run_collector(&options, &listener, recorder, &stop));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(address)));
        stop.store(true, Relaxed);
        collector.join().unwrap().unwrap();
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

pub const PLENTY: HostLimits = HostLimits { bytes: 1 << 40, files: 1000 };

pub fn options(data: &Path, to: SocketAddr) -> ship::ShipOptions {
    ship::ShipOptions {
        data: DataDir::new(data),
        host: "web-1".into(),
        to: to.to_string(),
        tls: None,
        follow: false,
        interval: Duration::from_millis(20),
        remove: false,
        limit: None,
        patience: Duration::from_secs(600),
    }
}

pub fn once(options: &ship::ShipOptions, recorder: &EventRecorder) -> ShipSummary {
    ship::run_shipper(options, recorder, &StopFlag::default()).unwrap()
}

/// Creates a log with content in these pages after its header, and `length` pages long.
pub fn make_log(directory: &Path, pid: u32, content: &[u64], length: u64) -> PathBuf {
    fs::create_dir_all(directory).unwrap();
    let path = directory.join(format!("{pid}-1700000000.sclog"));
    fs::write(&path, LogWriter::new("web-1", pid, "/bin/x").to_bytes()).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(length * 4096).unwrap();
    for page in content {
        let bytes: Vec<u8> =
            (0..4096).map(|at| (at * 31 + page * 7 + u64::from(pid)) as u8 | 1).collect();
        file.write_all_at(&bytes, page * 4096).unwrap();
    }
    path
}

/// The files of a directory with their contents.
pub fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    // If shipped files are removed, one may vanish between being listed and being read.
    let logs = fs::read_dir(directory).unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let is_log = |extension: &std::ffi::OsStr| extension == "sclog" || extension == "operations";
    let logs = logs.filter(|path| path.extension().is_some_and(is_log));
    let content = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        Some((name, fs::read(&path).ok()?))
    };
    logs.filter_map(content).collect()
}

/// Waits until a condition holds.
pub fn wait(recorder: &EventRecorder, what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(600);
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "timed out: {what}: {:?}", recorder.lines());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Stops the threads of a test when it ends, also by a failure: otherwise they would be waited for.
pub struct Stopping<'a>(pub &'a StopFlag);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
