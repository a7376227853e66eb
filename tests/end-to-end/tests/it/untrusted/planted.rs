//! A recording in which another user has planted files, and the state that must not have changed
//! afterwards.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use end_to_end::capture::python_path;
use end_to_end::sockcap_program;
use tempfile::TempDir;

/// Time after which a command counts as hanging. It takes a second on a busy machine.
const HANGS: Duration = Duration::from_secs(60);

/// A server and its client in one process: one HTTP request. Its path, `/question`, occurs as a
/// whole in no argument.
pub(super) const TALK: &str = r#"
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    connection = listener.accept()[0]
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    connection.close()
thread = threading.Thread(target=serve)
thread.start()
client = socket.create_connection(listener.getsockname())
client.sendall(b"GET /que" b"stion HTTP/1.1\r\nhost: here\r\n\r\n")
client.recv(1000)
thread.join()
"#;

/// A data directory with a recording, and a directory elsewhere that must not be touched.
pub(super) struct PlantedPlace {
    directory: TempDir,
}

impl PlantedPlace {
    /// Records a program that sends messages to itself.
    pub(super) fn record_talker() -> PlantedPlace {
        let place = PlantedPlace { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(place.elsewhere_dir()).unwrap();
        fs::write(place.elsewhere_dir().join("secret"), "nobody but root reads this").unwrap();
        let output =
            place.run_to_end(&["record", "--host", "web1", "--", &python_program(), "-c", TALK]);
        assert!(output.status.success(), "{output:?}");
        place
    }

    pub(super) fn data_dir(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(super) fn elsewhere_dir(&self) -> PathBuf {
        self.directory.path().join("elsewhere")
    }

    pub(super) fn file_path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The log of the recording.
    pub(super) fn log_path(&self) -> PathBuf {
        let logs = fs::read_dir(self.data_dir().join("hosts/web1")).unwrap();
        let mut logs = logs.map(|entry| entry.unwrap().path());
        logs.find(|path| path.extension().is_some_and(|it| it == "sclog")).unwrap()
    }

    /// Puts a link at a path below the data directory, in place of the file there.
    pub(super) fn plant_link(&self, at: &str, to: &Path) {
        let at = self.data_dir().join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&at);
        symlink(to, at).unwrap();
    }

    /// Puts a FIFO at a path below the data directory.
    pub(super) fn plant_fifo(&self, at: &str) {
        let at = self.data_dir().join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&at);
        let path = CString::new(at.as_os_str().as_bytes()).unwrap();
        // SAFETY: the path is a zero-terminated string.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o666) }, 0);
    }

    /// A command on the data directory.
    pub(super) fn data_command(&self, arguments: &[&str]) -> Command {
        let (name, rest) = arguments.split_first().unwrap();
        let mut command = Command::new(sockcap_program());
        command.arg(name).arg("-d").arg(self.data_dir()).args(rest);
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end, which must come.
    pub(super) fn run_to_end(&self, arguments: &[&str]) -> Output {
        let mut command = self.data_command(arguments);
        let (out, err) = (self.file_path("stdout"), self.file_path("stderr"));
        command.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
        let status = await_end(&mut command.spawn().unwrap(), arguments);
        Output { status, stdout: fs::read(out).unwrap(), stderr: fs::read(err).unwrap() }
    }

    /// The state of the other directory: names, kinds, sizes, times and content.
    pub(super) fn elsewhere_state(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.elsewhere_dir()];
        while let Some(path) = open.pop() {
            let about = fs::symlink_metadata(&path).unwrap();
            let content = if about.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            if about.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
            let modified = about.modified().unwrap();
            let said = format!("{:?} {modified:?} {:?}", about.permissions(), content);
            found.insert(path, said);
        }
        found
    }
}

/// Waits for the end of a program; one that hangs is ended, and the test fails.
pub(super) fn await_end(child: &mut Child, what: &[&str]) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if began.elapsed() > HANGS {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{what:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Python, as an argument.
pub(super) fn python_program() -> String {
    python_path().to_str().unwrap().to_owned()
}
