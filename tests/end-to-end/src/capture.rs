//! The preloaded library as it is shipped, programs recorded under it, and the logs they leave.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use socket_log::{Damage, Entry, Log, Record};
use tempfile::TempDir;

use crate::{repository, target_directory};

/// The preloaded library in its release build, built once for each test program.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build_library("preload", &[]))
}

/// The preloaded library that records resources too, likewise.
pub fn resources_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build_library("preload-resources", &["--features", "resources"]))
}

/// The library that is injected into programs which load none, likewise.
pub fn injected_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build_library("preload-injected", &["--features", "injected"]))
}

/// Builds the library into a target directory of its own, because a build of the whole workspace
/// links it with the standard library that the other crates bring.
fn build_library(directory: &str, features: &[&str]) -> PathBuf {
    let target = target_directory().join(directory);
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--package", "capture-shim"])
        .args(features)
        .arg("--target-dir")
        .arg(&target)
        // What is shipped comes from the compiler itself, see scripts/rustc-checked.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target.join("release/libsockcap.so")
}

/// Copies a program by another process. Where this one writes it, a child that another test starts
/// meanwhile has the file open for a moment, and the copy cannot be executed (`ETXTBSY`).
pub fn copy_program(from: &Path, to: &Path) {
    successful(Command::new("cp").arg(from).arg(to));
}

/// The path of an installed program; a test that needs one which is not installed fails with its
/// name.
pub fn program(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    // Debian keeps the server programs of PostgreSQL apart, by version.
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/bin".into()])
        .chain(versions.map(|version| version.path().join("bin")))
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("this test needs the program {name}: install it"))
}

/// A Python that is itself the program, and not a script that looks for one.
pub fn python() -> PathBuf {
    let path = Path::new("/usr/bin/python3");
    if path.exists() { path.to_owned() } else { program("python3") }
}

/// Python: `echo(clients, rounds)` has `clients` clients of an asyncio server, each with longer
/// messages than the one before.
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

/// A data directory and what is recorded into it.
pub struct Recording {
    directory: TempDir,
}

impl Default for Recording {
    fn default() -> Recording {
        Recording::new()
    }
}

impl Recording {
    /// An empty one.
    pub fn new() -> Recording {
        Recording { directory: TempDir::new().expect("a temporary directory") }
    }

    /// The data directory; beside it is room for the test's own files.
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A place for a file of the test's own.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A command that will be recorded, with host name `host`.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env("LD_PRELOAD", library())
            .env("SOCKCAP_DIR", self.data())
            .env("SOCKCAP_HOST", "host")
            .current_dir(self.directory.path());
        command
    }

    /// A command that will be recorded with its resources, with host name `host`.
    pub fn resources_command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.command(program);
        command.env("LD_PRELOAD", resources_library());
        command
    }

    /// Runs a Python script, recorded, and returns what it printed.
    pub fn python(&self, script: &str) -> String {
        successful(self.command(python()).arg("-c").arg(script))
    }

    /// Compiles a C program of `tests/programs`.
    pub fn compile(&self, name: &str) -> PathBuf {
        let binary = self.file(name);
        let source = repository().join("tests/programs").join(format!("{name}.c"));
        successful(
            Command::new(program("cc"))
                .args(["-O1", "-pthread", "-Wall", "-o"])
                .arg(&binary)
                .arg(source),
        );
        binary
    }

    /// All logs, in the order of their beginning.
    pub fn logs(&self) -> Vec<Recorded> {
        self.logs_of("host")
    }

    /// The logs of one host of several, in the order of their beginning.
    pub fn logs_of(&self, host: &str) -> Vec<Recorded> {
        let host = self.data().join("hosts").join(host);
        let paths = message_trace::DataDir::new(self.data())
            .logs()
            .unwrap_or_else(|error| panic!("{error}"));
        let of_host = paths.iter().filter(|path| path.parent().as_path() == host);
        let mut logs: Vec<Recorded> = of_host.map(|path| Recorded::read(path.as_path())).collect();
        logs.sort_by_key(|log| log.log.header().start.monotonic);
        logs
    }

    /// Whether the process has begun its log.
    pub fn has_log(&self, pid: u32) -> bool {
        let files = fs::read_dir(self.data().join("hosts/host")).into_iter().flatten().flatten();
        let name = format!("{pid}-");
        files
            .filter(|file| file.file_name().to_string_lossy().starts_with(&name))
            .any(|file| Log::open(file.path()).is_ok())
    }

    /// The one log.
    pub fn log(&self) -> Recorded {
        let mut logs = self.logs();
        assert_eq!(logs.len(), 1, "one process, one log");
        logs.remove(0)
    }
}

/// Runs a command that must succeed, and returns what it printed.
pub fn successful(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}\n{}", String::from_utf8_lossy(&stderr));
    assert!(!String::from_utf8_lossy(&stderr).contains("cannot be preloaded"));
    String::from_utf8(stdout).expect("text")
}

/// A log that was read.
pub struct Recorded {
    /// Where the log lies.
    pub path: PathBuf,
    /// The log.
    pub log: Log,
    /// Its records, thread by thread.
    pub entries: Vec<Entry>,
    /// Logs that could not be read.
    pub damage: Vec<Damage>,
}

impl Recorded {
    /// The log at `path`.
    pub fn read(path: &Path) -> Recorded {
        let log = Log::open(path).unwrap_or_else(|error| panic!("{error}"));
        let mut entries = Vec::new();
        let damage = log.for_each(|entry| entries.push(entry));
        Recorded { path: path.to_owned(), log, entries, damage }
    }

    /// The records, which must all be whole and none lost.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        assert_eq!(self.damage, [], "{:?}", self.log.path());
        assert_eq!(self.log.header().lost, [0; 8], "{:?}", self.log.path());
        self.entries.iter().map(|entry| &entry.record)
    }

    /// Programs that it began and that are not recorded, each with the cause (of
    /// `socket_log::layout::unseen`) and its path.
    pub fn unseen(&self) -> Vec<(u16, &str)> {
        let unseen = |record| match record {
            &Record::Unseen { cause, ref program, .. } => Some((cause, program.as_str())),
            _ => None,
        };
        self.records().filter_map(unseen).collect()
    }

    /// The messages of each thread and direction, on all flows. Datagrams without payload are left
    /// out.
    pub(crate) fn thread_traffic(&self) -> ThreadTraffic {
        let mut traffic = BTreeMap::<_, Traffic>::new();
        self.records().count(); // Which looks whether all is there.
        for entry in &self.entries {
            if let Record::Transfer { direction, bytes, .. }
            | Record::Datagram { direction, bytes: bytes @ 1.., peeked: false, .. } =
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
    pub fn traffic(&self) -> BTreeMap<(u32, socket_log::encode::Direction), Traffic> {
        let mut traffic = BTreeMap::<_, Traffic>::new();
        for record in self.records() {
            if let Record::Transfer { direction, flow, bytes, .. }
            | Record::Datagram { direction, flow, bytes, peeked: false, .. } = record
            {
                let sum = traffic.entry((*flow, *direction)).or_default();
                sum.calls += 1;
                sum.bytes += bytes;
            }
        }
        traffic
    }
}

/// Traffic of each thread.
pub(crate) type ThreadTraffic = BTreeMap<(u32, socket_log::encode::Direction), Traffic>;

/// Calls and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of calls (or messages, where a call moves several).
    pub calls: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// The calls and the bytes of one flow in one direction.
pub fn traffic(log: &Recorded, flow: u32, direction: socket_log::encode::Direction) -> Traffic {
    log.traffic().get(&(flow, direction)).copied().unwrap_or_default()
}

/// Number of calls, and bytes of all of them.
pub fn sum(calls: u64, bytes: u64) -> Traffic {
    Traffic { calls, bytes }
}
