//! Id of a recording: it is in the logs of everything that one `sockcap record` started, however a
//! program was started, and in no other log.

use std::fs;
use std::process::Command;

use end_to_end::capture::{ReadLog, TestRecording, python_path, run_successfully};
use end_to_end::sockcap_program;
use socket_log::RecordingId;

use super::attach::{AskingClient, AttachedRecorder, ServerProcess};
use super::inject;

/// A program that starts others in all ways, each with its own environment; each uses a socket.
const FAMILY: &str = r#"
import os, socket, subprocess, sys
def use(): a, b = socket.socketpair(); a.send(b"12345"); b.recv(5)
use()
if len(sys.argv) < 2:
    own = [sys.executable, sys.argv[0], "child"]
    if os.fork() == 0: use(); os._exit(0)
    os.wait()
    os.waitpid(os.posix_spawn(own[0], own, {"ONLY": "this"}), 0)
    subprocess.run(own, env={}, check=True)
    os.execve(own[0], own, {})
"#;

/// Ids of the recordings that made these logs.
fn recording_ids(logs: &[ReadLog]) -> Vec<Option<RecordingId>> {
    logs.iter().map(|log| log.log.header().recording).collect()
}

#[test]
fn each_program_of_a_recording_has_its_id_and_other_recordings_have_others() {
    let recording = TestRecording::new();
    fs::write(recording.file_path("family.py"), FAMILY).unwrap();
    let record = || {
        let mut record = Command::new(sockcap_program());
        record.args(["record", "--host", "host", "-d"]).arg(recording.data_dir()).arg("--");
        run_successfully(record.arg(python_path()).arg(recording.file_path("family.py")));
        recording_ids(&recording.read_logs())
    };
    let first = record();
    assert_eq!(first.len(), 5, "{first:?}");
    assert!(first[0].is_some() && first.iter().all(|id| *id == first[0]), "{first:?}");
    let both = record();
    assert_eq!((both.len(), &both[..5]), (10, &first[..]), "{both:?}");
    assert!(both[5].is_some() && both[5..].iter().all(|id| *id == both[5]), "{both:?}");
    assert_ne!(both[0], both[5]);
    // A program into which the library is preloaded manually belongs to no recording.
    run_successfully(
        recording.recorded_command(python_path()).arg(recording.file_path("family.py")),
    );
    assert_eq!(recording_ids(&recording.read_logs())[10..], [None; 5]);
}

#[test]
fn programs_that_are_injected_into_have_the_recording_s_id() {
    let recording = TestRecording::new();
    let busybox = end_to_end::capture::program_path("busybox");
    let script = format!("{} nc -w 1 127.0.0.1 9 < /dev/null; exit 0", busybox.display());
    inject::record_injected(&recording, &["sh", "-c", &script]);
    let logs = recording.read_logs();
    let injected = inject::logs_of_program(&logs, "busybox");
    assert_eq!(injected.len(), 1);
    assert!(injected[0].log.header().recording.is_some());
}

/// A server at one address that prints its port.
const SERVER: &str = r#"
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    peer, _ = listener.accept()
    while data := peer.recv(100): peer.send(data)
"#;

#[test]
fn attached_processes_have_the_id_of_their_recorder() {
    use std::io::{BufRead, BufReader};
    let recording = TestRecording::new();
    let mut command = Command::new(python_path());
    command.args(["-c", SERVER]).stdout(std::process::Stdio::piped());
    let mut server = ServerProcess(command.spawn().unwrap());
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let mut client = AskingClient::connect(port.trim().parse().unwrap());
    for _ in 0..2 {
        let recorder = AttachedRecorder::begin_recording(&recording, server.0.id());
        client.ask_repeatedly(b"question", b"question", 3);
        recorder.end_recording();
    }
    let ids = recording_ids(&recording.read_logs());
    assert_eq!(ids.len(), 2);
    assert!(ids[0].is_some() && ids[1].is_some() && ids[0] != ids[1], "{ids:?}");
}
