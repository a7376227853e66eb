//! Ends of `sockcap record -p` of processes that obstruct it: they are stopped or traced, create
//! children or execute another program, or their recorder was killed. Nothing is recorded after the
//! end, and anything that stays in a process is reported.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use end_to_end::capture::{TestRecording, program_path};
use end_to_end::sockcap_program;
use rustix::process::Signal;
use socket_log::layout::state;
use test_support::code::changed_code;

use super::attach::{AttachedRecorder, send_signal};
use super::attach_places::{
    CrowdedServer, assert_without, count_transfers, leftovers_in, process_family, shared_recording,
};

/// A server of the tests that is recorded.
struct HinderedServer {
    _files: TestRecording,
    recording: TestRecording,
    neighbours: CrowdedServer,
}

impl HinderedServer {
    fn begin_server(flags: &[&str], arguments: &[&str]) -> HinderedServer {
        let files = TestRecording::new();
        let binary = CrowdedServer::compile_crowded(&files, "gcc", flags);
        let neighbours = CrowdedServer::begin_server(&binary, arguments);
        neighbours.asked.ask_again_and_again();
        HinderedServer { _files: files, recording: shared_recording(), neighbours }
    }

    fn process_id(&self) -> u32 {
        self.neighbours.process_id()
    }

    fn begin_recording(&self) -> AttachedRecorder {
        AttachedRecorder::begin_recording(&self.recording, self.process_id())
    }

    /// Asserts that further requests are not recorded, whatever is left in the process.
    #[track_caller]
    fn is_recorded_no_more(&self) {
        let (before, logs) = (count_transfers(&self.recording), self.recording.read_logs().len());
        self.neighbours.asked.ask_again_and_again();
        assert_eq!(count_transfers(&self.recording), before, "it goes on recording");
        assert_eq!(self.recording.read_logs().len(), logs);
        for log in self.recording.read_logs() {
            assert_eq!(log.log.header().state, state::LEFT, "{}", log.log.path().display());
        }
    }

    /// Asserts that the server is as before, and can be recorded again.
    #[track_caller]
    fn is_left(&self) {
        self.is_recorded_no_more();
        assert_without("the server", self.process_id());
        let again = shared_recording();
        let recorder = AttachedRecorder::begin_recording(&again, self.process_id());
        self.neighbours.asked.ask_again_and_again();
        recorder.end_recording();
        assert!(count_transfers(&again) > 0);
        assert_without("the server", self.process_id());
    }
}

/// State of a process, a letter.
fn state_of(process: u32) -> char {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let done = (0..4000).any(|_| {
        let done = is_so();
        if !done {
            std::thread::sleep(Duration::from_millis(5));
        }
        done
    });
    assert!(done, "{what}");
}

#[test]
fn a_process_that_is_stopped_at_the_end_is_left_and_stays_stopped() {
    for flags in [&["-static"][..], &[]] {
        let hindered = HinderedServer::begin_server(flags, &["4"]);
        let process = hindered.process_id();
        let recorder = hindered.begin_recording();
        hindered.neighbours.asked.ask_again_and_again();
        send_signal(process, Signal::STOP);
        wait_until("it stops", || state_of(process) == 'T');
        recorder.end_recording();
        wait_until("it is stopped again", || state_of(process) == 'T');
        assert_without("the server", process);
        send_signal(process, Signal::CONT);
        hindered.is_left();
    }
}

/// A debugger, as an example of a tracer: only one process can trace another.
fn attach_debugger(process: u32) -> Child {
    let mut command = Command::new(program_path("gdb"));
    command.args(["--batch", "-nx", "-p", &process.to_string()]);
    command.args(["-ex", "echo attached\\n", "-ex", "continue"]);
    let gdb = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut gdb = gdb.spawn().unwrap();
    let mut output = BufReader::new(gdb.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("attached") {
        assert_ne!(output.read_line(&mut said).unwrap(), 0, "{said}");
    }
    std::thread::spawn(move || output.read_to_string(&mut String::new()));
    gdb
}

fn tracer_of(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:\t"));
    line.unwrap().parse().unwrap()
}

#[test]
fn a_process_that_is_debugged_at_the_end_is_no_longer_recorded() {
    let hindered = HinderedServer::begin_server(&[], &["4"]);
    let process = hindered.process_id();
    let recorder = hindered.begin_recording();
    hindered.neighbours.asked.ask_again_and_again();
    let mut gdb = attach_debugger(process);
    hindered.neighbours.asked.ask_once();
    let said = recorder.end_with_warning();
    let tracing = format!("process {} traces it already", gdb.id());
    for words in [&tracing[..], "stays in process", "records nothing more"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    hindered.is_recorded_no_more();
    // The debugger detaches, and removes its breakpoints.
    send_signal(gdb.id(), Signal::INT);
    gdb.wait().unwrap();
    wait_until("nobody traces it", || tracer_of(process) == 0);
    send_signal(process, Signal::CONT);
    hindered.is_recorded_no_more();
    // The next recorder removes what was left.
    let again = shared_recording();
    let recorder = AttachedRecorder::begin_recording(&again, process);
    assert!(recorder.said_first.contains("a recorder that is gone"), "{}", recorder.said_first);
    recorder.end_recording();
    hindered.is_left();
}

#[test]
fn a_process_that_waits_for_a_child_of_vfork_is_no_longer_recorded() {
    let mut hindered = HinderedServer::begin_server(&["-static"], &["3"]);
    let process = hindered.process_id();
    let recorder = hindered.begin_recording();
    hindered.neighbours.asked.ask_again_and_again();
    hindered.neighbours.await_action("vfork");
    let said = recorder.end_with_warning();
    for words in ["did not stop in time", "stays in process", "records nothing more"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    hindered.is_recorded_no_more();
    wait_until("its child ends", || process_family(process).len() == 1);
    hindered.is_recorded_no_more();
    let recorder = AttachedRecorder::begin_recording(&shared_recording(), process);
    assert!(recorder.said_first.contains("a recorder that is gone"), "{}", recorder.said_first);
    recorder.end_recording();
    hindered.is_left();
}

#[test]
fn children_created_meanwhile_are_left_as_well() {
    for flags in [&["-static"][..], &[]] {
        let mut hindered = HinderedServer::begin_server(flags, &["3"]);
        let recorder = hindered.begin_recording();
        hindered.neighbours.await_action("fork");
        hindered.neighbours.await_action("chain 5");
        // The last process of a chain may be created only now.
        let orphans = copies_of(hindered.process_id());
        recorder.end_recording();
        for process in orphans.into_iter().chain(copies_of(hindered.process_id())) {
            assert_without("a child", process);
        }
        hindered.is_left();
    }
}

/// Processes of the same program.
fn copies_of(process: u32) -> Vec<u32> {
    let program = |process: u32| fs::read_link(format!("/proc/{process}/exe")).ok();
    let own = program(process);
    let all = fs::read_dir("/proc").unwrap();
    let all = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|other| program(*other) == own).collect()
}

/// The chain continues while the recording ends.
#[test]
fn a_process_whose_children_make_children_without_pause_is_left() {
    let mut hindered = HinderedServer::begin_server(&["-static"], &["3"]);
    let recorder = hindered.begin_recording();
    hindered.neighbours.await_action("chain 2000");
    recorder.end_recording();
    wait_until("the chain ends", || {
        copies_of(hindered.process_id()).iter().all(|process| state_of_copy(*process) == 'S')
            && copies_of(hindered.process_id()).len() == 2
    });
    hindered.is_recorded_no_more();
    for process in copies_of(hindered.process_id()) {
        assert_without("a child", process);
    }
    hindered.is_left();
}

fn state_of_copy(process: u32) -> char {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('X')
}

#[test]
fn a_process_that_becomes_another_program_needs_no_end() {
    let mut hindered = HinderedServer::begin_server(&[], &["3"]);
    let recorder = hindered.begin_recording();
    let input = hindered.neighbours.server.0.stdin.as_mut().unwrap();
    writeln!(input, "exec").unwrap();
    let process = hindered.process_id();
    wait_until("it is another program", || {
        fs::read_link(format!("/proc/{process}/exe")).unwrap().ends_with("cat")
    });
    recorder.end_recording();
    // The executed program has the library from its environment, as documented, and no patches.
    assert!(changed_code(process).is_empty());
}

/// The parent of the process, this test, does not wait for it until later.
#[test]
fn a_process_that_is_killed_needs_no_end() {
    let mut hindered = HinderedServer::begin_server(&[], &["3"]);
    let recorder = hindered.begin_recording();
    hindered.neighbours.asked.ask_once();
    hindered.neighbours.server.0.kill().unwrap();
    wait_until("it ends", || state_of(hindered.process_id()) == 'Z');
    recorder.end_recording();
}

/// The kernel shows no memory of a first thread that has ended: the library in it was not found.
#[test]
fn a_process_whose_first_thread_ends_is_left() {
    for flags in [&["-static"][..], &[]] {
        let mut hindered = HinderedServer::begin_server(flags, &["3", "leave"]);
        let process = hindered.process_id();
        let recorder = hindered.begin_recording();
        hindered.neighbours.await_action("its first thread ends");
        wait_until("it ends", || state_of(process) == 'Z');
        hindered.neighbours.asked.ask_again_and_again();
        recorder.end_recording();
        hindered.is_recorded_no_more();
        let task = fs::read_dir(format!("/proc/{process}/task")).unwrap().last().unwrap().unwrap();
        let thread = task.file_name().to_str().unwrap().parse().unwrap();
        assert!(changed_code(thread).is_empty());
        assert_eq!(leftovers_in(thread), Vec::<String>::new());
    }
}

/// Kills a recorder, and finds what it has left in a process and its children.
#[test]
fn remains_of_a_killed_recorder_in_a_process_and_its_children_are_removed() {
    for flags in [&["-static"][..], &[]] {
        let mut hindered = HinderedServer::begin_server(flags, &["3"]);
        hindered.neighbours.await_action("beside");
        let recorder = hindered.begin_recording();
        hindered.neighbours.await_action("beside");
        recorder.kill_recorder();
        hindered.neighbours.await_action("fork");
        let orphans = copies_of(hindered.process_id());
        assert!(orphans.len() > 3, "{orphans:?}");
        let again = shared_recording();
        let recorder = AttachedRecorder::begin_recording(&again, hindered.process_id());
        assert!(recorder.said_first.contains("a recorder that is gone"), "{}", recorder.said_first);
        hindered.neighbours.asked.ask_again_and_again();
        recorder.end_recording();
        assert!(count_transfers(&again) > 0);
        for process in orphans {
            assert_without("a child", process);
        }
        hindered.is_left();
    }
}

#[test]
fn the_second_of_two_recorders_names_the_first() {
    let mut hindered = HinderedServer::begin_server(&[], &["3"]);
    hindered.neighbours.await_action("beside");
    let recorder = hindered.begin_recording();
    hindered.neighbours.await_action("beside");
    let second = Command::new(sockcap_program())
        .args(["record", "-p", &hindered.process_id().to_string(), "-d"])
        .arg(shared_recording().data_dir())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(125), "{second:?}");
    let said = String::from_utf8(second.stderr).unwrap();
    let words = format!("process {} records it already", recorder.process_id());
    assert!(said.contains(&words), "{said}");
    recorder.end_recording();
    hindered.is_left();
}

/// The library is at the same addresses in both processes.
#[test]
fn the_end_of_a_recording_does_not_end_that_of_another_process_of_the_same_program() {
    let files = TestRecording::new();
    let binary = CrowdedServer::compile_crowded(&files, "gcc", &["-static"]);
    let [first, second] = [(), ()].map(|()| CrowdedServer::begin_server(&binary, &["3"]));
    let [of_first, of_second] = [(), ()].map(|()| shared_recording());
    let recorder = AttachedRecorder::begin_recording(&of_first, first.process_id());
    let other = AttachedRecorder::begin_recording(&of_second, second.process_id());
    recorder.end_recording();
    assert_without("the first", first.process_id());
    assert!(!changed_code(second.process_id()).is_empty());
    second.asked.ask_again_and_again();
    other.end_recording();
    assert!(count_transfers(&of_second) > 0);
    assert_without("the second", second.process_id());
    first.asked.ask_again_and_again();
    second.asked.ask_again_and_again();
}

/// A process can write anything into its own memory, and the recorder may be root.
#[test]
fn a_forged_note_of_a_process_affects_no_other() {
    let files = TestRecording::new();
    let binary = CrowdedServer::compile_crowded(&files, "gcc", &["-static"]);
    let mut liar = CrowdedServer::begin_server(&binary, &["3"]);
    // The attacker has the same bytes at the same address, as a file that it was given may have.
    let mut victim = CrowdedServer::begin_server(&binary, &["3"]);
    let has_mark = |process: u32| {
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
        maps.lines().any(|line| line.starts_with("20000000-20001000 rw-p"))
    };
    victim.await_action("mark");
    liar.await_action("mark");
    // The attacker claims to be recorded by another live program: the victim.
    let stat = fs::read_to_string(format!("/proc/{}/stat", victim.process_id())).unwrap();
    let since = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned();
    liar.await_action(&format!("note {} {since}", victim.process_id()));
    assert!(has_mark(liar.process_id()) && has_mark(victim.process_id()));
    let recording = shared_recording();
    let recorder = AttachedRecorder::begin_recording(&recording, liar.process_id());
    liar.asked.ask_again_and_again();
    // What the attacker claims is believed only about itself.
    assert!(!has_mark(liar.process_id()));
    assert!(has_mark(victim.process_id()));
    victim.asked.ask_again_and_again();
    recorder.end_recording();
    assert!(count_transfers(&recording) > 0);
    assert!(has_mark(victim.process_id()));
}
