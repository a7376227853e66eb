//! Programs without free addresses near their code, where the library would have to lie: they run
//! as without sockcap, and the reason why they are not recorded is reported, with a remedy.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use end_to_end::capture::{TestRecording, program_path, python_path, run_successfully};
use end_to_end::command::to_text;
use end_to_end::{repository, sockcap_program};
use socket_log::encode::Direction;

use super::attach::{AttachedRecorder, ServerProcess, assert_refused};
use super::attach_places::{
    AskedServer, CrowdedServer, assert_without, count_transfers, shared_recording,
};
use super::inject::bytes_in_direction;

/// Part of the reason that the recorder reports.
const WHY: &str = " KB of free addresses within 2 GB below its code";

/// The kernel lets no program map anything below its code.
#[test]
fn a_static_program_at_the_lowest_addresses_is_left_alone() {
    let recording = TestRecording::new();
    let binary = recording.file_path("static_pair");
    let mut compiler = Command::new(program_path("gcc"));
    compiler.args(["-O1", "-static", "-pthread", "-Wl,-Ttext-segment=0x10000", "-o"]).arg(&binary);
    run_successfully(compiler.arg(repository().join("tests/programs/static_pair.c")));
    let path = binary.to_str().unwrap();
    let record = |flags: &[&str], words: &[&str]| {
        let mut command = Command::new(sockcap_program());
        command.args(["record", "--inject", "--host", "host"]).args(flags).arg("-d");
        command.arg(recording.data_dir()).arg("--").args(words).output().unwrap()
    };
    let by_shell = ["sh", "-c", "\"$0\"; exit $?", path];
    for words in [&[path][..], &by_shell] {
        let output = record(&[], words);
        let said = to_text(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{words:?}: {said}");
        assert_eq!(to_text(&output.stdout), "unharmed\n", "{words:?}: {said}");
        let named = format!("sockcap: warning: {path} is not recorded: process ");
        for part in [&named[..], WHY, "see 'sockcap import strace --help'"] {
            assert!(said.contains(part), "{words:?}: {part}: {said}");
        }
        assert!(!said.contains("used no socket"), "{words:?}: {said}");
    }
    assert_eq!(recording.read_logs().len(), 0);
    let output = record(&["--strict"], &[path]);
    let said = to_text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains(WHY) && said.contains("because of --strict"), "{said}");
}

/// Asserts that a server with reserved addresses is not recorded, and that nothing of the library
/// is in it.
#[track_caller]
fn assert_left_alone(said: &str, process: u32, asked: AskedServer) {
    let named = format!("process {process} has no ");
    for part in [&named[..], WHY, "start it with 'sockcap record' instead"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_without("the server", process);
    asked.ask_again_and_again();
}

/// Ends a server, which must end by itself.
#[track_caller]
fn end_server(mut crowded: CrowdedServer) {
    drop(crowded.server.0.stdin.take());
    assert!(crowded.server.0.wait().unwrap().success());
}

#[test]
fn a_process_that_has_reserved_the_addresses_below_its_code_is_left_alone() {
    let files = TestRecording::new();
    for flags in [&["-static"][..], &["-static-pie", "-fPIE"], &[]] {
        let binary = CrowdedServer::compile_crowded(&files, "gcc", flags);
        let mut crowded = CrowdedServer::begin_server(&binary, &["3"]);
        crowded.asked.ask_again_and_again();
        crowded.await_action("reserve");
        let recording = shared_recording();
        let said = assert_refused(&recording, crowded.process_id());
        assert_left_alone(&said, crowded.process_id(), crowded.asked);
        assert_eq!(count_transfers(&recording), 0, "{flags:?}");
        end_server(crowded);

        // As advised: the library is there before the addresses are reserved.
        let recording = shared_recording();
        let data = recording.data_dir();
        let command = ["record", "--inject", "--host", "host", "-d", data.to_str().unwrap(), "--"];
        let command = [&command[..], &[binary.to_str().unwrap(), "3"]].concat();
        let mut crowded = CrowdedServer::begin_server(sockcap_program(), &command);
        crowded.await_action("reserve");
        crowded.asked.ask_again_and_again();
        end_server(crowded);
        assert!(count_transfers(&recording) > 0, "{flags:?}");
    }
}

/// Python: starts a server as its child, which reserves addresses; talks to itself at each line of
/// input, and ends with the status of the child.
const PARENT: &str = r#"
import socket, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
port = child.stdout.readline().split()[1]
child.stdin.write("reserve\n"); child.stdin.flush()
assert child.stdout.readline() == "done\n"
one, other = socket.socketpair()
print(child.pid, port, flush=True)
for line in sys.stdin:
    one.sendall(b"12345"); assert other.recv(100) == b"12345"
    print("done", flush=True)
child.stdin.close()
sys.exit(child.wait())
"#;

/// Of the processes of a browser, some may have no free addresses: the others are recorded.
#[test]
fn a_child_without_room_is_named_and_its_parent_is_recorded() {
    let files = TestRecording::new();
    let binary = CrowdedServer::compile_crowded(&files, "gcc", &[]);
    let mut command = Command::new(python_path());
    command.args(["-c", PARENT]).arg(&binary).arg("3");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut parent = ServerProcess(command.spawn().unwrap());
    let mut output = BufReader::new(parent.0.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let (child, port) = line.trim().split_once(' ').unwrap();
    let asked = AskedServer { port: port.parse().unwrap(), question: b"question" };
    let recording = shared_recording();
    let recorder = AttachedRecorder::begin_recording(&recording, parent.0.id());
    assert!(recorder.said_first.contains("recording 1 process"), "{}", recorder.said_first);
    assert_left_alone(&recorder.said_first, child.parse().unwrap(), asked);
    let mut input = parent.0.stdin.take().unwrap();
    input.write_all(b"talk\n").unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "done\n");
    recorder.end_recording();
    let sent = |direction| bytes_in_direction(&recording.only_log(), direction);
    assert_eq!([Direction::Send, Direction::Receive].map(sent), [5, 5]);
    drop(input);
    assert!(parent.0.wait().unwrap().success());
}
