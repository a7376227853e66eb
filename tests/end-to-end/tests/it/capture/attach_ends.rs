//! Unrequested ends of `sockcap record -p`: it is killed, or its terminal is closed. The processes
//! continue, and can be recorded again.

use std::fs::{self, OpenOptions};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use end_to_end::capture::TestRecording;
use end_to_end::sockcap_program;
use rustix::process::Signal;
use socket_log::layout::state;
use test_support::code::changed_code;

use super::attach::{
    AskingClient, AttachedRecorder, ServerProcess, end_server, send_signal, waiting_server,
};

/// A server with threads that wait, its client, and a directory for its recordings.
struct WaitingServer {
    /// Files that are removed when the test ends.
    _files: TestRecording,
    server: ServerProcess,
    /// The id of the server's process.
    process: u32,
    client: AskingClient,
    recording: TestRecording,
}

impl WaitingServer {
    fn begin_server() -> WaitingServer {
        let files = TestRecording::new();
        let (server, port) = waiting_server(&files, &["-static"]);
        let process = server.0.id();
        let client = AskingClient::connect(port);
        WaitingServer { _files: files, server, process, client, recording: TestRecording::new() }
    }
}

/// Calls a server, and checks that its threads are as they were before they were traced.
#[track_caller]
fn goes_on(client: &mut AskingClient, process: u32) {
    client.ask_repeatedly(b"question", b"question", 20);
    let is_whole = |status: String| {
        let has = |line: &str| status.lines().any(|other| other == line);
        has("TracerPid:\t0") && has("SigBlk:\t0000000000000000")
    };
    let are_whole = || {
        // A thread that did work for the recorder continues by itself.
        std::thread::sleep(Duration::from_millis(1));
        let mut threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
        let status = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("status"));
        threads.all(|thread| status(thread.unwrap()).is_ok_and(is_whole))
    };
    assert!((0..10_000).any(|_| are_whole()), "a thread is traced, or without signals");
}

/// Recorder of a process, with discarded output.
fn silent_recorder(recording: &TestRecording, process: u32) -> Command {
    let mut command = Command::new(sockcap_program());
    command.args(["record", "--host", "host", "-d"]).arg(recording.data_dir());
    command.args(["-p", &process.to_string()]).stderr(Stdio::null());
    command
}

fn kill_recorder(mut recorder: Child) {
    recorder.kill().unwrap();
    recorder.wait().unwrap();
}

/// Waits until a process has the library.
fn until_it_is_changed(process: u32) {
    let is_changed = || {
        std::thread::sleep(Duration::from_millis(5));
        !changed_code(process).is_empty()
    };
    assert!((0..2000).any(|_| is_changed()));
}

#[test]
fn a_process_survives_the_kill_of_its_recorder_at_any_moment_and_is_recorded_again() {
    let WaitingServer { _files, server, process, mut client, recording } =
        WaitingServer::begin_server();
    for moment in 0..24 {
        let recorder = silent_recorder(&recording, process).spawn().unwrap();
        if moment % 2 == 0 {
            // At the start of the recording.
            std::thread::sleep(Duration::from_millis(11 * moment));
        } else {
            // At the end of the recording.
            until_it_is_changed(process);
            send_signal(recorder.id(), Signal::INT);
            std::thread::sleep(Duration::from_millis(5 * moment));
        }
        kill_recorder(recorder);
        goes_on(&mut client, process);
    }
    AttachedRecorder::begin_recording(&recording, process).end_recording();
    assert!(changed_code(process).is_empty());
    let recorder = silent_recorder(&recording, process).spawn().unwrap();
    until_it_is_changed(process);
    kill_recorder(recorder);
    let last = TestRecording::new();
    let recorder = AttachedRecorder::begin_recording(&last, process);
    assert!(recorder.said_first.contains("a recorder that is gone"), "{}", recorder.said_first);
    goes_on(&mut client, process);
    recorder.end_recording();
    assert!(changed_code(process).is_empty());
    goes_on(&mut client, process);
    assert_eq!(last.read_logs()[0].log.header().state, state::LEFT);
    end_server(server);
}

#[test]
fn a_recorder_whose_terminal_is_closed_leaves_the_process_as_it_was() {
    let WaitingServer { _files, server, process, mut client, recording } =
        WaitingServer::begin_server();
    let recorder = silent_recorder(&recording, process);
    // Signals that the tests ignore, as under `nohup`, are not ignored in the recorder.
    let mut command = Command::new("/usr/bin/env");
    command.arg("--default-signal=HUP").arg(recorder.get_program()).args(recorder.get_args());
    // All writes to it fail, as on a closed terminal.
    command.stderr(OpenOptions::new().write(true).open("/dev/full").unwrap());
    let mut recorder = command.spawn().unwrap();
    until_it_is_changed(process);
    goes_on(&mut client, process);
    send_signal(recorder.id(), Signal::HUP);
    send_signal(recorder.id(), Signal::HUP);
    assert!(recorder.wait().unwrap().success());
    assert!(changed_code(process).is_empty());
    goes_on(&mut client, process);
    end_server(server);
}

/// `timeout` sends its signal twice, and impatient users press Ctrl-C again.
#[test]
fn a_recorder_that_is_asked_to_end_again_and_again_leaves_the_process_as_it_was() {
    let WaitingServer { _files, server, process, mut client, recording } =
        WaitingServer::begin_server();
    let mut recorder = silent_recorder(&recording, process).spawn().unwrap();
    until_it_is_changed(process);
    let status = (0..10_000).find_map(|_| {
        send_signal(recorder.id(), Signal::INT);
        std::thread::sleep(Duration::from_millis(1));
        recorder.try_wait().unwrap()
    });
    assert!(status.unwrap().success());
    assert!(changed_code(process).is_empty());
    goes_on(&mut client, process);
    end_server(server);
}

#[test]
fn a_recorder_under_nohup_ignores_the_end_of_its_terminal() {
    let WaitingServer { _files, server, process, mut client, recording } =
        WaitingServer::begin_server();
    let recorder = silent_recorder(&recording, process);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(recorder.get_program());
    let mut recorder = shell.args(recorder.get_args()).stderr(Stdio::null()).spawn().unwrap();
    until_it_is_changed(process);
    let status = fs::read_to_string(format!("/proc/{}/status", recorder.id())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & 1, 1, "{status}");
    send_signal(recorder.id(), Signal::INT);
    assert!(recorder.wait().unwrap().success());
    assert!(changed_code(process).is_empty());
    goes_on(&mut client, process);
    end_server(server);
}
