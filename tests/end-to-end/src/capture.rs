//! The preloaded library as it is shipped, programs recorded under it, and their logs.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use socket_log::encode::Direction;
use socket_log::layout::goroutine;
use socket_log::{LogDamage, LogEntry, LogRecord, SocketLog};
use tempfile::TempDir;

use crate::{repository, target_directory};

/// The preloaded library in its release build, built once for each test program.
pub fn preloaded_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build_library("preload", &[]))
}

/// The preloaded library that also records resources, in its release build, built once for each
/// test program.
pub fn resources_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build_library("preload-resources", &["--features", "resources"]))
}

/// The library that is injected into programs that load no library, in its release build, built
/// once for each test program.
pub fn injected_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build_library("preload-injected", &["--features", "injected"]))
}

/// Builds the library into a target directory of its own, because a build of the whole workspace
/// links it with the standard library of the other crates.
fn build_library(directory: &str, features: &[&str]) -> PathBuf {
    let target = target_directory().join(directory);
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", "capture-shim"])
        .args(features)
        .arg("--target-dir")
        .arg(&target)
        // The shipped library is built by the compiler itself, see scripts/rustc-checked.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Moved into place, since other tests read it meanwhile.
    let script = repository().join("capture-shim/src/runtimes/node/contexts.cjs");
    let new = target.join(format!("release/libsockcap.cjs.{}", std::process::id()));
    fs::copy(script, &new).expect("a copy of the script for Node");
    fs::rename(new, target.join("release/libsockcap.cjs")).expect("the copy in its place");
    target.join("release/libsockcap.so")
}

/// Copies a program in another process. If this process wrote it, a child that another test starts
/// meanwhile would have the file open for a moment, and the copy could not be executed (`ETXTBSY`).
pub fn copy_program(from: &Path, to: &Path) {
    run_successfully(Command::new("cp").arg(from).arg(to));
}

/// The path of an installed program; if the program is not installed, the test fails with its name.
pub fn program_path(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    // Debian keeps the server programs of PostgreSQL in directories by version.
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/bin".into()])
        .chain(versions.map(|version| version.path().join("bin")))
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("this test needs the program {name}: install it"))
}

/// A Python that is the program itself, and not a script that looks for one.
pub fn python_path() -> PathBuf {
    let path = Path::new("/usr/bin/python3");
    if path.exists() { path.to_owned() } else { program_path("python3") }
}

/// Python code in which `echo(clients, rounds)` runs `clients` clients of an asyncio server, each
/// with longer messages than the one before.
pub const ECHO: &str = r#"
import asyncio
async def serve(reader, writer):
    while data := await reader.read(1000): writer.write(data); await writer.drain()
    writer.close()
async def talk(clients, rounds):
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async def client(size):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for n in range(rounds): writer.write(b"m" * size); await reader.readexactly(size)
        writer.close(); await writer.wait_closed()
    await asyncio.gather(*(client(n * 300) for n in range(1, clients + 1)))
def echo(clients, rounds): asyncio.run(talk(clients, rounds))
"#;

/// A data directory for recordings of a test.
pub struct TestRecording {
    directory: TempDir,
}

impl Default for TestRecording {
    fn default() -> TestRecording {
        TestRecording::new()
    }
}

impl TestRecording {
    /// An empty recording.
    pub fn new() -> TestRecording {
        TestRecording { directory: TempDir::new().expect("a temporary directory") }
    }

    /// The data directory; its parent has room for the test's own files.
    pub fn data_dir(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A path for a file of the test.
    pub fn file_path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A command that will be recorded, with host name `host`.
    pub fn recorded_command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env("LD_PRELOAD", preloaded_library())
            .env("SOCKCAP_DIR", self.data_dir())
            .env("SOCKCAP_HOST", "host")
            .current_dir(self.directory.path());
        command
    }

    /// A command that will be recorded with its resources, with host name `host`.
    pub fn resources_command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.recorded_command(program);
        command.env("LD_PRELOAD", resources_library());
        command
    }

    /// Runs a Python script, recorded, and returns what it printed.
    pub fn run_python(&self, script: &str) -> String {
        run_successfully(self.recorded_command(python_path()).arg("-c").arg(script))
    }

    /// Compiles a C program of `tests/programs`.
    pub fn compile_program(&self, name: &str) -> PathBuf {
        let binary = self.file_path(name);
        let source = repository().join("tests/programs").join(format!("{name}.c"));
        run_successfully(
            Command::new(program_path("cc"))
                .args(["-O1", "-pthread", "-Wall", "-o"])
                .arg(&binary)
                .arg(source),
        );
        binary
    }

    /// All logs, in the order of their beginning.
    pub fn read_logs(&self) -> Vec<ReadLog> {
        self.read_logs_of("host")
    }

    /// The logs of one host of several, in the order of their beginning.
    pub fn read_logs_of(&self, host: &str) -> Vec<ReadLog> {
        let host = self.data_dir().join("hosts").join(host);
        let paths = message_trace::DataDir::new(self.data_dir())
            .log_paths()
            .unwrap_or_else(|error| panic!("{error}"));
        let of_host = paths.iter().filter(|path| path.parent().as_path() == host);
        let mut logs: Vec<ReadLog> = of_host.map(|path| ReadLog::open(path.as_path())).collect();
        logs.sort_by_key(|log| log.log.header().start.monotonic);
        logs
    }

    /// Whether the process has begun its log.
    pub fn has_log(&self, pid: u32) -> bool {
        let files =
            fs::read_dir(self.data_dir().join("hosts/host")).into_iter().flatten().flatten();
        let name = format!("{pid}-");
        files
            .filter(|file| file.file_name().to_string_lossy().starts_with(&name))
            .any(|file| SocketLog::open(file.path()).is_ok())
    }

    /// The log of a recording that must have exactly one.
    pub fn only_log(&self) -> ReadLog {
        let mut logs = self.read_logs();
        assert_eq!(logs.len(), 1, "one process, one log");
        logs.remove(0)
    }
}

/// Runs a command that must succeed, and returns what it printed.
pub fn run_successfully(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}\n{}", String::from_utf8_lossy(&stderr));
    assert!(!String::from_utf8_lossy(&stderr).contains("cannot be preloaded"));
    String::from_utf8(stdout).expect("text")
}

/// A log and its records.
pub struct ReadLog {
    /// The path of the log.
    pub path: PathBuf,
    /// The log.
    pub log: SocketLog,
    /// The records of the log, thread by thread.
    pub entries: Vec<LogEntry>,
    /// Damaged parts of the log.
    pub damage: Vec<LogDamage>,
}

impl ReadLog {
    /// The log at `path`.
    pub fn open(path: &Path) -> ReadLog {
        let log = SocketLog::open(path).unwrap_or_else(|error| panic!("{error}"));
        let mut entries = Vec::new();
        let damage = log.for_each(|entry| entries.push(entry));
        ReadLog { path: path.to_owned(), log, entries, damage }
    }

    /// The records, which must all be complete, with none lost.
    pub fn complete_records(&self) -> impl Iterator<Item = &LogRecord> {
        assert_eq!(self.damage, [], "{:?}", self.log.path());
        assert_eq!(self.log.header().lost, [0; 8], "{:?}", self.log.path());
        self.entries.iter().map(|entry| &entry.record)
    }

    /// The start of each context: its starter, both by the id that they have in place of one of a
    /// thread.
    pub fn starters(&self) -> BTreeMap<u32, u32> {
        let mut starters = BTreeMap::new();
        for entry in &self.entries {
            if let LogRecord::StartedBy { number, starter } = entry.record {
                let known = starters.insert(goroutine::thread_id(number), starter);
                assert_eq!(known, None, "{number}");
            }
        }
        starters
    }

    /// The thread or context of each send of this size, in bytes.
    pub fn senders(&self, size: u64) -> Vec<u32> {
        let is_send = |entry: &&LogEntry| {
            matches!(entry.record, LogRecord::Transfer { direction: Direction::Send, bytes, .. }
                if bytes == size)
        };
        self.entries.iter().filter(is_send).map(|entry| entry.tid).collect()
    }

    /// Programs that the log's process started and that are not recorded, each with the cause (of
    /// `socket_log::layout::unseen`) and its path.
    pub fn unseen_programs(&self) -> Vec<(u16, &str)> {
        let unseen = |record| match record {
            &LogRecord::Unseen { cause, ref program, .. } => Some((cause, program.as_str())),
            _ => None,
        };
        self.complete_records().filter_map(unseen).collect()
    }

    /// The number and bytes of the messages of each thread and direction, on all flows. Datagrams
    /// without payload are left out.
    pub(crate) fn thread_traffic(&self) -> ThreadTraffic {
        let mut traffic = BTreeMap::<_, FlowTraffic>::new();
        self.complete_records().count(); // This checks that all records are complete.
        for entry in &self.entries {
            if let LogRecord::Transfer { direction, bytes, .. }
            | LogRecord::Datagram { direction, bytes: bytes @ 1.., peeked: false, .. } =
                &entry.record
            {
                let sum = traffic.entry((entry.tid, *direction)).or_default();
                sum.calls += 1;
                sum.bytes += bytes;
            }
        }
        traffic
    }

    /// The calls and the bytes of each flow and direction, of streams and datagrams alike.
    pub fn traffic_by_flow(&self) -> BTreeMap<(u32, socket_log::encode::Direction), FlowTraffic> {
        let mut traffic = BTreeMap::<_, FlowTraffic>::new();
        for record in self.complete_records() {
            if let LogRecord::Transfer { direction, flow, bytes, .. }
            | LogRecord::Datagram { direction, flow, bytes, peeked: false, .. } = record
            {
                let sum = traffic.entry((*flow, *direction)).or_default();
                sum.calls += 1;
                sum.bytes += bytes;
            }
        }
        traffic
    }
}

/// Traffic of each thread, by thread id and direction.
pub(crate) type ThreadTraffic = BTreeMap<(u32, socket_log::encode::Direction), FlowTraffic>;

/// Calls and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowTraffic {
    /// Number of calls (or messages, if a call transfers several).
    pub calls: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// The calls and the bytes of one flow in one direction.
pub fn traffic_of_flow(
    log: &ReadLog,
    flow: u32,
    direction: socket_log::encode::Direction,
) -> FlowTraffic {
    log.traffic_by_flow().get(&(flow, direction)).copied().unwrap_or_default()
}

/// Number of calls, and bytes of all of them.
pub fn traffic_of(calls: u64, bytes: u64) -> FlowTraffic {
    FlowTraffic { calls, bytes }
}
