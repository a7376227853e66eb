//! Secrets that programs send to each other in many protocols (`tests/programs/send_secrets.py`):
//! none is in any file of the data directory, at any moment of a recording, of either end.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use end_to_end::capture::{TestRecording, python_path, run_successfully};
use end_to_end::{repository, sockcap_program};
use rustix::process::{Pid, Signal, kill_process};

/// All files below a directory.
fn list_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { list_files(&path) } else { vec![path] }).collect()
}

/// A recording of the program, which has sent everything and waits.
struct TalkingProgram {
    record: Child,
    /// Taken from the child, which would close it while it is waited for.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    secrets: Vec<(String, String)>,
}

impl TalkingProgram {
    fn begin_talking(recording: &TestRecording) -> TalkingProgram {
        let told = recording.file_path("told");
        let mut record = Command::new(sockcap_program());
        record.args(["record", "--protocols", "--host", "host", "-d"]).arg(recording.data_dir());
        record
            .arg("--")
            .arg(python_path())
            .arg(repository().join("tests/programs/send_secrets.py"));
        record.arg(&told).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut record = record.spawn().unwrap();
        let input = record.stdin.take();
        let mut output = BufReader::new(record.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "said\n");
        let told = fs::read_to_string(told).unwrap();
        let secret = |line: &str| line.split_once('\t').map(|(of, what)| (of.into(), what.into()));
        let secrets: Vec<(String, String)> = told.lines().filter_map(secret).collect();
        let mut protocols: Vec<&str> = secrets.iter().map(|(of, _)| of.as_str()).collect();
        protocols.dedup();
        assert!(secrets.len() > 800 && protocols.len() > 90, "{} secrets", secrets.len());
        TalkingProgram { record, input, output, secrets }
    }

    /// Checks that logs have snippets, but no secrets.
    fn check_snippets(&self, recording: &TestRecording, when: &str) {
        let mut left = Vec::new();
        for path in list_files(&recording.data_dir()) {
            let bytes = fs::read(&path).unwrap();
            let has = |text: &str| memchr::memmem::find(&bytes, text.as_bytes()).is_some();
            // Shorter ones could occur by chance.
            let secrets = self.secrets.iter().filter(|(_, secret)| secret.len() >= 8);
            left.extend(secrets.filter(|(_, secret)| has(secret)));
        }
        assert!(left.is_empty(), "{when}: {left:?}");
    }

    /// Lets the program end, and waits for that.
    fn end_program(&mut self) -> String {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        let mut said = String::new();
        self.record.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        self.record.wait().unwrap();
        said
    }
}

/// Whether a file contains the parts of the program's messages that are not secret.
fn has_snippets(recording: &TestRecording) -> bool {
    let has = |path: PathBuf| {
        let bytes = fs::read(path).unwrap();
        memchr::memmem::find(&bytes, b"HTTP/1.1\r\nHost: shop").is_some()
    };
    list_files(&recording.data_dir()).into_iter().any(has)
}

#[test]
fn no_secret_is_written_while_programs_run_or_when_they_have_ended() {
    let recording = TestRecording::new();
    let mut talking = TalkingProgram::begin_talking(&recording);
    talking.check_snippets(&recording, "while it runs");
    assert!(has_snippets(&recording));
    for path in list_files(&recording.data_dir().join("hosts/host")) {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
    }
    let said = talking.end_program();
    assert!(!said.contains("snippets"), "{said}");
    talking.check_snippets(&recording, "at the end");
    assert!(!has_snippets(&recording));
}

/// Standard error of a command.
fn said_by(recording: &TestRecording, command: &str) -> String {
    let mut sockcap = Command::new(sockcap_program());
    let output = sockcap.arg(command).arg("-d").arg(recording.data_dir()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn snippets_left_by_a_killed_recorder_are_reported_and_removed() {
    const LEFT: &str = "sockcap: warning: snippets of messages are left in ";
    let recording = TestRecording::new();
    let mut talking = TalkingProgram::begin_talking(&recording);
    let recorder = Pid::from_raw(talking.record.id() as i32).unwrap();
    kill_process(recorder, Signal::KILL).unwrap();
    talking.record.wait().unwrap();
    talking.check_snippets(&recording, "when the recorder was killed");
    for command in ["info", "report"] {
        let said = said_by(&recording, command);
        let first = said.lines().next().unwrap_or_default();
        assert!(first.starts_with(LEFT) && first.contains("may still run"), "{command}: {said}");
    }
    talking.end_program();
    for command in ["info", "report"] {
        let said = said_by(&recording, command);
        let first = said.lines().next().unwrap_or_default();
        assert!(first.starts_with(LEFT) && first.contains("sockcap names"), "{command}: {said}");
        assert!(!first.contains("still run"), "{command}: {said}");
    }
    assert!(has_snippets(&recording));
    said_by(&recording, "names");
    talking.check_snippets(&recording, "when snippets were named");
    assert!(!has_snippets(&recording));
    for command in ["info", "report"] {
        assert!(!said_by(&recording, command).contains("snippets"), "{command}");
    }
}

#[test]
fn other_users_read_no_log() {
    let recording = TestRecording::new();
    fs::set_permissions(recording.file_path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let mut talking = TalkingProgram::begin_talking(&recording);
    for path in list_files(&recording.data_dir().join("hosts/host")) {
        let mut read = Command::new("setpriv");
        read.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "cat"]).arg(&path);
        assert!(!read.output().unwrap().status.success(), "{}", path.display());
    }
    talking.end_program();
    run_successfully(Command::new("ls").arg(recording.data_dir()));
}
