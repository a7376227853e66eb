//! Ends of `sockcap record -p` of processes that stand in the way of it: they are stopped, traced,
//! make children or become another program, or their recorder was killed. Nothing is recorded
//! after the end, and what stays in a process is told.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use end_to_end::capture::{Recording, program};
use end_to_end::sockcap;
use rustix::process::Signal;
use socket_log::layout::state;
use test_support::code::changed;

use super::attach::{Recorder, signal};
use super::attach_places::{Neighbours, assert_without, family, leftovers, moved, recording};

/// A server of ours that is recorded.
struct Hindered {
    _files: Recording,
    recording: Recording,
    neighbours: Neighbours,
}

impl Hindered {
    fn begin(flags: &[&str], arguments: &[&str]) -> Hindered {
        let files = Recording::new();
        let binary = Neighbours::compile(&files, "gcc", flags);
        let neighbours = Neighbours::begin(&binary, arguments);
        neighbours.asked.ask_again_and_again();
        Hindered { _files: files, recording: recording(), neighbours }
    }

    fn process(&self) -> u32 {
        self.neighbours.process()
    }

    fn record(&self) -> Recorder {
        Recorder::begin(&self.recording, self.process())
    }

    /// Asserts that what is asked now is not recorded, whatever is left in the process.
    #[track_caller]
    fn is_recorded_no_more(&self) {
        let (before, logs) = (moved(&self.recording), self.recording.logs().len());
        self.neighbours.asked.ask_again_and_again();
        assert_eq!(moved(&self.recording), before, "it goes on recording");
        assert_eq!(self.recording.logs().len(), logs);
        for log in self.recording.logs() {
            assert_eq!(log.log.header().state, state::LEFT, "{}", log.log.path().display());
        }
    }

    /// Asserts that it is as it was, and can be recorded again.
    #[track_caller]
    fn is_left(&self) {
        self.is_recorded_no_more();
        assert_without("the server", self.process());
        let again = recording();
        let recorder = Recorder::begin(&again, self.process());
        self.neighbours.asked.ask_again_and_again();
        recorder.end();
        assert!(moved(&again) > 0);
        assert_without("the server", self.process());
    }
}

/// State of a process, a letter.
fn state_of(process: u32) -> char {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
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
        let hindered = Hindered::begin(flags, &["4"]);
        let process = hindered.process();
        let recorder = hindered.record();
        hindered.neighbours.asked.ask_again_and_again();
        signal(process, Signal::STOP);
        until("it stops", || state_of(process) == 'T');
        recorder.end();
        until("it is stopped again", || state_of(process) == 'T');
        assert_without("the server", process);
        signal(process, Signal::CONT);
        hindered.is_left();
    }
}

/// A debugger, which stands in for any: only one process can trace another.
fn debugger(process: u32) -> Child {
    let mut command = Command::new(program("gdb"));
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

fn tracer(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:\t"));
    line.unwrap().parse().unwrap()
}

#[test]
fn a_process_that_is_debugged_at_the_end_is_recorded_no_more() {
    let hindered = Hindered::begin(&[], &["4"]);
    let process = hindered.process();
    let recorder = hindered.record();
    hindered.neighbours.asked.ask_again_and_again();
    let mut gdb = debugger(process);
    hindered.neighbours.asked.ask();
    let said = recorder.end_with_warning();
    let tracing = format!("process {} traces it already", gdb.id());
    for words in [&tracing[..], "stays in process", "records nothing more"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    hindered.is_recorded_no_more();
    // It lets go, and takes its breakpoints with it.
    signal(gdb.id(), Signal::INT);
    gdb.wait().unwrap();
    until("nobody traces it", || tracer(process) == 0);
    signal(process, Signal::CONT);
    hindered.is_recorded_no_more();
    // Whoever attaches next takes out what has stayed.
    let again = recording();
    let recorder = Recorder::begin(&again, process);
    assert!(recorder.said_first.contains("a recorder that is gone"), "{}", recorder.said_first);
    recorder.end();
    hindered.is_left();
}

#[test]
fn a_process_that_waits_for_a_child_of_vfork_is_recorded_no_more() {
    let mut hindered = Hindered::begin(&["-static"], &["3"]);
    let process = hindered.process();
    let recorder = hindered.record();
    hindered.neighbours.asked.ask_again_and_again();
    hindered.neighbours.does("vfork");
    let said = recorder.end_with_warning();
    for words in ["did not stop in time", "stays in process", "records nothing more"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    hindered.is_recorded_no_more();
    until("its child ends", || family(process).len() == 1);
    hindered.is_recorded_no_more();
    let recorder = Recorder::begin(&recording(), process);
    assert!(recorder.said_first.contains("a recorder that is gone"), "{}", recorder.said_first);
    recorder.end();
    hindered.is_left();
}

#[test]
fn children_that_are_made_meanwhile_are_left_as_well() {
    for flags in [&["-static"][..], &[]] {
        let mut hindered = Hindered::begin(flags, &["3"]);
        let recorder = hindered.record();
        hindered.neighbours.does("fork");
        hindered.neighbours.does("chain 5");
        // The last of a chain may be made only now.
        let orphans = copies_of(hindered.process());
        recorder.end();
        for process in orphans.into_iter().chain(copies_of(hindered.process())) {
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

/// The chain goes on while the recording ends.
#[test]
fn a_process_whose_children_make_children_without_pause_is_left() {
    let mut hindered = Hindered::begin(&["-static"], &["3"]);
    let recorder = hindered.record();
    hindered.neighbours.does("chain 2000");
    recorder.end();
    until("the chain ends", || {
        copies_of(hindered.process()).iter().all(|process| state_of_copy(*process) == 'S')
            && copies_of(hindered.process()).len() == 2
    });
    hindered.is_recorded_no_more();
    for process in copies_of(hindered.process()) {
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
    let mut hindered = Hindered::begin(&[], &["3"]);
    let recorder = hindered.record();
    let input = hindered.neighbours.server.0.stdin.as_mut().unwrap();
    writeln!(input, "exec").unwrap();
    let process = hindered.process();
    until("it is another program", || {
        fs::read_link(format!("/proc/{process}/exe")).unwrap().ends_with("cat")
    });
    recorder.end();
    // What it executed has the library by its environment, as is documented, and no jumps.
    assert!(changed(process).is_empty());
}

/// Its parent, this test, takes no notice until later.
#[test]
fn a_process_that_is_killed_needs_no_end() {
    let mut hindered = Hindered::begin(&[], &["3"]);
    let recorder = hindered.record();
    hindered.neighbours.asked.ask();
    hindered.neighbours.server.0.kill().unwrap();
    until("it ends", || state_of(hindered.process()) == 'Z');
    recorder.end();
}

/// The kernel shows no memory of a first thread that has ended: what is put in was not found.
#[test]
fn a_process_whose_first_thread_ends_is_left() {
    for flags in [&["-static"][..], &[]] {
        let mut hindered = Hindered::begin(flags, &["3", "leave"]);
        let process = hindered.process();
        let recorder = hindered.record();
        hindered.neighbours.does("its first thread ends");
        until("it ends", || state_of(process) == 'Z');
        hindered.neighbours.asked.ask_again_and_again();
        recorder.end();
        hindered.is_recorded_no_more();
        let task = fs::read_dir(format!("/proc/{process}/task")).unwrap().last().unwrap().unwrap();
        let thread = task.file_name().to_str().unwrap().parse().unwrap();
        assert!(changed(thread).is_empty());
        assert_eq!(leftovers(thread), Vec::<String>::new());
    }
}

/// Kills a recorder, and finds what it has left in a process and its children.
#[test]
fn what_a_killed_recorder_has_left_in_a_process_and_its_children_is_taken_out() {
    for flags in [&["-static"][..], &[]] {
        let mut hindered = Hindered::begin(flags, &["3"]);
        hindered.neighbours.does("beside");
        let recorder = hindered.record();
        hindered.neighbours.does("beside");
        recorder.kill();
        hindered.neighbours.does("fork");
        let orphans = copies_of(hindered.process());
        assert!(orphans.len() > 3, "{orphans:?}");
        let again = recording();
        let recorder = Recorder::begin(&again, hindered.process());
        assert!(recorder.said_first.contains("a recorder that is gone"), "{}", recorder.said_first);
        hindered.neighbours.asked.ask_again_and_again();
        recorder.end();
        assert!(moved(&again) > 0);
        for process in orphans {
            assert_without("a child", process);
        }
        hindered.is_left();
    }
}

#[test]
fn the_second_of_two_recorders_says_who_the_first_is() {
    let mut hindered = Hindered::begin(&[], &["3"]);
    hindered.neighbours.does("beside");
    let recorder = hindered.record();
    hindered.neighbours.does("beside");
    let second = Command::new(sockcap())
        .args(["record", "-p", &hindered.process().to_string(), "-d"])
        .arg(recording().data())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(125), "{second:?}");
    let said = String::from_utf8(second.stderr).unwrap();
    let words = format!("process {} records it already", recorder.id());
    assert!(said.contains(&words), "{said}");
    recorder.end();
    hindered.is_left();
}

/// What is put into both lies at the same addresses.
#[test]
fn the_end_of_a_recording_does_not_end_that_of_another_process_of_the_same_program() {
    let files = Recording::new();
    let binary = Neighbours::compile(&files, "gcc", &["-static"]);
    let [first, second] = [(), ()].map(|()| Neighbours::begin(&binary, &["3"]));
    let [of_first, of_second] = [(), ()].map(|()| recording());
    let recorder = Recorder::begin(&of_first, first.process());
    let other = Recorder::begin(&of_second, second.process());
    recorder.end();
    assert_without("the first", first.process());
    assert!(!changed(second.process()).is_empty());
    second.asked.ask_again_and_again();
    other.end();
    assert!(moved(&of_second) > 0);
    assert_without("the second", second.process());
    first.asked.ask_again_and_again();
    second.asked.ask_again_and_again();
}

/// A process can write what it likes into its own memory, and whoever attaches may be root.
#[test]
fn a_note_that_a_process_has_made_up_leads_nowhere_else() {
    let files = Recording::new();
    let binary = Neighbours::compile(&files, "gcc", &["-static"]);
    let mut liar = Neighbours::begin(&binary, &["3"]);
    // Has the same bytes at the same address, as a file may have that it was given.
    let mut victim = Neighbours::begin(&binary, &["3"]);
    let has_mark = |process: u32| {
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
        maps.lines().any(|line| line.starts_with("20000000-20001000 rw-p"))
    };
    victim.does("mark");
    liar.does("mark");
    // It says that another program records it, which lives: the victim.
    let stat = fs::read_to_string(format!("/proc/{}/stat", victim.process())).unwrap();
    let since = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned();
    liar.does(&format!("note {} {since}", victim.process()));
    assert!(has_mark(liar.process()) && has_mark(victim.process()));
    let recording = recording();
    let recorder = Recorder::begin(&recording, liar.process());
    liar.asked.ask_again_and_again();
    // What it says is believed of itself alone.
    assert!(!has_mark(liar.process()));
    assert!(has_mark(victim.process()));
    victim.asked.ask_again_and_again();
    recorder.end();
    assert!(moved(&recording) > 0);
    assert!(has_mark(victim.process()));
}
