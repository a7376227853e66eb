//! The removal of shipped logs on file systems with leases that ignore mappings, such as overlayfs
//! in a container: the log of a killed process is removed once the process is gone and never
//! before.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};

use end_to_end::capture::{TestRecording, python_path};
use end_to_end::gathering::{OverlayMount, PlainCollector, logs_in};
use end_to_end::sockcap_program;

/// Uses a socket, and again at each request to continue.
const TALKER: &str = r#"
import socket, sys
one, other = socket.socketpair()
while True:
    one.sendall(b"x" * 100); other.recv(1000)
    print("there", flush=True)
    if not sys.stdin.readline(): break
"#;

struct TalkerProgram(Child, ChildStdin);

impl TalkerProgram {
    /// Starts the program, by a command that may put it into a namespace, and waits until it has a
    /// log.
    fn start_talking(recording: &TestRecording, before: &[&str]) -> TalkerProgram {
        let arguments: Vec<String> = [before, &[python_path().to_str().unwrap(), "-c", TALKER]]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect();
        let mut command = recording.recorded_command(&arguments[0]);
        command.args(&arguments[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        let input = child.stdin.take().unwrap();
        let mut talker = TalkerProgram(child, input);
        talker.await_answer();
        talker
    }

    fn await_answer(&mut self) {
        use std::io::Read;
        let mut line = [0; 6];
        self.0.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"there\n");
    }

    fn goes_on(&mut self) {
        self.1.write_all(b"\n").unwrap();
        self.await_answer();
    }
}

/// Ships all logs and removes those that can be removed, with as many attempts as necessary.
fn ship_all(recording: &TestRecording, address: &str) {
    for _ in 0..3 {
        let shipped = Command::new(sockcap_program())
            .args(["ship", "--to", address, "--plain", "--once", "--remove-shipped", "-d"])
            .arg(recording.data_dir())
            .output()
            .unwrap();
        assert!(shipped.status.success(), "{shipped:?}");
    }
}

#[test]
fn a_killed_process_s_log_is_removed_from_overlayfs_without_a_boot() {
    let recording = TestRecording::new();
    let _overlay = OverlayMount::new(&recording.data_dir(), &recording.file_path("layers"));
    let collector = PlainCollector::start_in(&recording.file_path("collector"));
    let (here, there) =
        (recording.data_dir().join("hosts/host"), collector.data.join("hosts/host"));

    let mut talker = TalkerProgram::start_talking(&recording, &[]);
    // A second program in a PID namespace of its own, as in another container: its id there is
    // meaningless here.
    let contained = TalkerProgram::start_talking(
        &recording,
        &["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"],
    );
    ship_all(&recording, &collector.address);
    let prefix = format!("{}-", talker.0.id());
    let is_of = |name: &str| name.starts_with(&prefix);
    assert!(logs_in(&here).keys().any(|name| is_of(name)), "it runs, and its log stays");
    talker.goes_on();
    let before = logs_in(&here);
    talker.0.kill().unwrap();
    talker.0.wait().unwrap();
    ship_all(&recording, &collector.address);
    assert!(!logs_in(&here).keys().any(|name| is_of(name)), "it was killed, and its log is gone");
    let contained_log = logs_in(&here);
    assert!(!contained_log.is_empty(), "of the other nothing is known");
    let there = logs_in(&there);
    for (name, log) in before.iter().chain(&contained_log) {
        assert_eq!(there.get(name), Some(log), "{name}");
    }
    let TalkerProgram(mut child, _) = contained;
    child.kill().unwrap();
    child.wait().unwrap();
}
