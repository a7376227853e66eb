//! Processes that run: a library comes into them and is taken out again, at any moment.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use injector::{Attached, Error, Left, Library, Patcher, attach};
use rustix::process::{Pid, Signal, kill_process};

use crate::helper::attaching;
use crate::made::{busy, echoes, status};

/// Library that counts on both sides of system calls, and how it ends.
const SOURCE: &str = r#"
    long slot[4];
    const unsigned long waiting[13] = {24};
    int begin(const long *stack) { return stack[0] < 1; }
    int end(void) { return 0; }
    __asm__(".globl before\nbefore: incq %gs:8\n jmp *%rcx\n"
            ".globl after\nafter: incq %gs:16\n jmp *%rcx\n");
"#;

/// The same, which takes long before each call.
const SLOW: &str = r#"
    long slot[4];
    const unsigned long waiting[13] = {24};
    int begin(const long *stack) { return stack[0] < 1; }
    int end(void) { return 0; }
    __asm__(".globl before\nbefore: mov $2000, %r11d\n1: dec %r11d\n jnz 1b\n jmp *%rcx\n"
            ".globl after\nafter: jmp *%rcx\n");
"#;

/// The same, whose end does not come back.
const ENDLESS: &str = r#"
    long slot[4];
    const unsigned long waiting[13] = {24};
    int begin(const long *stack) { return stack[0] < 1; }
    int end(void) { for (;;) __asm__ volatile(""); }
    __asm__(".globl before\nbefore: jmp *%rcx\n.globl after\nafter: jmp *%rcx\n");
"#;

/// The same, which takes two seconds to begin, in a thread that it gives a name.
const LATE: &str = r#"
    long slot[4];
    const unsigned long waiting[13] = {24};
    int begin(const long *stack) {
        long seconds[2] = {2, 0}, naming = 157, number = 35;
        __asm__ volatile("wrgsbase %0" : : "r"(slot));
        __asm__ volatile("syscall" : "+a"(naming) : "D"(15), "S"("late") : "rcx", "r11", "memory");
        __asm__ volatile("syscall" : "+a"(number) : "D"(seconds), "S"(0) : "rcx", "r11", "memory");
        return 0;
    }
    int end(void) { return 0; }
    __asm__(".globl before\nbefore: jmp *%rcx\n.globl after\nafter: jmp *%rcx\n");
"#;

/// The libraries, compiled once.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| compiled("ending", SOURCE));
static SLOW_LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| compiled("slow", SLOW));

/// A library, compiled. In a recorder it is named in its environment.
fn compiled(name: &str, source: &str) -> PathBuf {
    if let Some(made) = std::env::var_os("LIBRARY") {
        return made.into();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let from = folder.join(format!("{name}-{}.c", std::process::id()));
    let (new, made) = (from.with_extension("so"), folder.join(format!("{name}.so")));
    fs::write(&from, source).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,-Bsymbolic"]);
    assert!(gcc.arg(&from).arg("-o").arg(&new).status().unwrap().success());
    fs::remove_file(from).unwrap();
    fs::rename(new, &made).unwrap();
    made
}

/// The library's file.
pub(crate) fn library() -> PathBuf {
    LIBRARY.clone()
}

/// What puts the library into programs.
fn patcher() -> Patcher {
    patcher_of(&LIBRARY)
}

fn patcher_of(library: &Path) -> Patcher {
    let bytes = fs::read(library).unwrap();
    let library = Library::read(&bytes, "begin", "slot").unwrap();
    let patcher = Patcher::new(library.with_end("end", "waiting").unwrap(), "before", "after");
    patcher.unwrap().keeping_in(Path::new(env!("CARGO_TARGET_TMPDIR")).join("surveys"))
}

/// Attaches without anything to tell.
fn attached(process: u32) -> Result<Attached, Error> {
    attach(process, &patcher(), &[])
}

/// Program that echoes, as it runs.
struct Echoes(Child);

impl Echoes {
    fn begin(program: &Path) -> Echoes {
        let mut command = Command::new(program);
        command.arg("6").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut echoes = Echoes(command.spawn().unwrap());
        echoes.answers("first");
        echoes
    }

    /// Sends some bytes, which must come back.
    #[track_caller]
    fn answers(&mut self, text: &str) {
        self.0.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        let mut bytes = vec![0; text.len()];
        self.0.stdout.as_mut().unwrap().read_exact(&mut bytes).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), text);
    }

    /// Ends it as it should end.
    #[track_caller]
    fn ends(mut self) {
        drop(self.0.stdin.take());
        assert_eq!(self.0.wait().unwrap().code(), Some(7));
    }
}

impl Drop for Echoes {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Files whose code a process has mapped otherwise than it is in the file.
fn changed(process: u32) -> Vec<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = fs::File::open(format!("/proc/{process}/mem")).unwrap();
    let mut changed = Vec::new();
    for line in maps.lines().filter(|line| line.contains(" r-xp ") && line.contains(" /")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| u64::from_str_radix(word, 16).unwrap();
        let (start, end) = words[0].split_once('-').unwrap();
        let length = (number(end) - number(start)) as usize;
        let (mut mapped, mut file) = (vec![0; length], vec![0; length]);
        memory.read_exact_at(&mut mapped, number(start)).unwrap();
        let path = PathBuf::from(words[5]);
        let read = fs::File::open(&path).unwrap().read_at(&mut file, number(words[2])).unwrap();
        if mapped[..read] != file[..read] {
            changed.push(path);
        }
    }
    changed
}

#[test]
fn a_process_is_attached_to_and_left_as_it_was() {
    for (kind, program) in echoes() {
        let mut program = Echoes::begin(program);
        let process = program.0.id();
        for _ in 0..5 {
            let attached = attached(process).unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert_eq!(changed(process).len(), 1, "{kind}");
            program.answers("while it is attached");
            assert_eq!(status(process, "TracerPid"), "0", "{kind}");
            assert!(attached.patches() > 10, "{kind}: {}", attached.patches());
            assert_eq!(attached.detach().unwrap(), 1, "{kind}");
            assert!(changed(process).is_empty(), "{kind}");
            assert_eq!(status(process, "SigBlk"), "0000000000000000", "{kind}");
            program.answers("behind it");
        }
        program.ends();
    }
}

/// The program waits while it loads a library, before its libc: that one is a pipe.
#[test]
fn a_program_that_is_still_loading_is_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("library.so");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = Command::new("sleep");
    command.arg("100").env("LD_PRELOAD", &pipe).stderr(Stdio::null());
    let program = Echoes(command.spawn().unwrap());
    let process = program.0.id();
    while !fs::read_to_string(format!("/proc/{process}/syscall")).unwrap().starts_with("257 ") {
        std::thread::sleep(Duration::from_millis(1));
    }
    let attached = std::thread::scope(|scope| {
        let attached = scope.spawn(|| attached(process));
        std::thread::sleep(Duration::from_millis(50));
        // What is not a library is passed over.
        fs::write(&pipe, "no library").unwrap();
        attached.join().unwrap()
    });
    let changed = changed(process);
    assert!(changed.iter().any(|path| path.ends_with("libc.so.6")), "{changed:?}");
    attached.unwrap().detach().unwrap();
}

#[test]
fn a_library_whose_end_does_not_come_back_is_taken_out() {
    let (_, program) = echoes().next().unwrap();
    let mut program = Echoes::begin(program);
    let process = program.0.id();
    let attached = attach(process, &patcher_of(&compiled("endless", ENDLESS)), &[]).unwrap();
    assert_eq!(changed(process).len(), 1);
    assert_eq!(attached.detach().unwrap(), 1);
    assert!(changed(process).is_empty());
    assert_eq!(status(process, "SigBlk"), "0000000000000000");
    program.answers("it is as before");
    program.ends();
}

#[test]
fn a_process_that_is_stopped_at_the_end_can_be_left_later() {
    let (_, program) = echoes().next().unwrap();
    let mut program = Echoes::begin(program);
    let process = program.0.id();
    let attached = attached(process).unwrap();
    stop(process);
    let error = attached.detach().unwrap_err();
    assert!(matches!(&error, Error::Stays { .. }), "{error}");
    let words = error.to_string();
    assert!(words.contains("SIGSTOP") && words.contains("stays in process"), "{words}");
    signal(process, Signal::CONT);
    program.answers("it goes on");
    assert_eq!(attached.detach().unwrap(), 1);
    assert!(changed(process).is_empty());
    program.ends();
}

/// Stops a process by a signal.
fn stop(process: u32) {
    signal(process, Signal::STOP);
    while !status(process, "State").starts_with('T') {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process as i32).unwrap(), signal).unwrap();
}

#[test]
fn what_cannot_be_attached_to_is_left_with_its_reason() {
    let (_, program) = echoes().next().unwrap();
    let mut program = Echoes::begin(program);
    let process = program.0.id();
    stop(process);
    let left = |expected: Left| match attached(process) {
        Err(Error::NotAttached { why, .. }) => assert_eq!(why, expected),
        other => panic!("{other:?}"),
    };
    left(Left::Stopped);
    signal(process, Signal::CONT);
    program.answers("it goes on");
    let first = attached(process).unwrap();
    left(Left::Recorded { by: std::process::id() });
    first.detach().unwrap();
    program.answers("it is as before");
    program.ends();
    assert!(matches!(attached(process), Err(Error::NoProcess { .. })));
    // What has ended needs no end.
    assert_eq!(first.detach().unwrap(), 0);
}

/// Whether nobody traces the threads of a process, and they block no signals.
fn are_whole(process: u32) -> bool {
    let whole = |status: String| {
        let has = |line: &str| status.lines().any(|other| other == line);
        has("TracerPid:\t0") && has("SigBlk:\t0000000000000000")
    };
    let mut threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    threads.all(|thread| fs::read_to_string(thread.unwrap().path().join("status")).is_ok_and(whole))
}

/// Threads stand in the middle of what is changed, or within the library, nearly whenever they are
/// stopped. Each recorder takes out what the one before has left.
#[test]
fn a_recorder_that_is_killed_leaves_a_busy_process_that_works() {
    let mut program = Echoes::begin(busy());
    let process = program.0.id();
    for moment in 0..40 {
        let mut recorder = attaching(process).env("LIBRARY", &*SLOW_LIBRARY).spawn().unwrap();
        let errors = recorder.stderr.take().unwrap();
        crate::killed::until(&mut std::io::BufReader::new(errors), "begins");
        std::thread::sleep(Duration::from_micros(3700 * moment));
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        program.answers("whatever was done");
        // The thread that worked goes on by itself.
        let is_whole = || {
            std::thread::sleep(Duration::from_millis(1));
            are_whole(process)
        };
        assert!((0..10_000).any(|_| is_whole()), "a thread is traced, or without signals");
    }
    attached(process).unwrap().detach().unwrap();
    assert!(changed(process).is_empty());
    program.answers("as before");
    program.ends();
}

#[test]
fn a_recorder_that_is_killed_at_any_moment_leaves_a_process_that_works() {
    for (kind, program) in echoes() {
        for moment in 0..15 {
            let mut program = Echoes::begin(program);
            let mut recorder = attaching(program.0.id()).spawn().unwrap();
            let errors = recorder.stderr.take().unwrap();
            crate::killed::until(&mut std::io::BufReader::new(errors), "begins");
            std::thread::sleep(Duration::from_micros(2500 * moment));
            recorder.kill().unwrap();
            recorder.wait().unwrap();
            program.answers("whatever was done");
            assert_eq!(status(program.0.id(), "TracerPid"), "0", "{kind}");
            program.ends();
        }
    }
}

#[test]
fn what_a_killed_recorder_has_left_is_taken_out_by_the_next_one() {
    for (kind, program) in echoes() {
        let mut program = Echoes::begin(program);
        let process = program.0.id();
        let mut recorder = attaching(process).env("RECORDER", "stays").spawn().unwrap();
        let errors = recorder.stderr.take().unwrap();
        crate::killed::until(&mut std::io::BufReader::new(errors), "attached");
        match attached(process) {
            Err(Error::NotAttached { why: Left::Recorded { by }, .. }) => {
                assert_eq!(by, recorder.id());
            }
            other => panic!("{kind}: {other:?}"),
        }
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        assert_eq!(changed(process).len(), 1, "{kind}");
        program.answers("with the library of nobody");
        let second = attached(process).unwrap();
        assert!(second.took_over(), "{kind}");
        program.answers("with another one");
        second.detach().unwrap();
        assert!(changed(process).is_empty(), "{kind}");
        program.answers("with none");
        assert!(!attached(process).unwrap().took_over(), "{kind}");
        attached(process).unwrap_err();
        program.answers("with another one of this process");
        program.ends();
    }
}

#[test]
fn what_a_recorder_has_left_that_was_killed_as_the_library_began_is_taken_out() {
    let (_, program) = echoes().next().unwrap();
    let mut program = Echoes::begin(program);
    let process = program.0.id();
    let mut recorder = attaching(process);
    recorder.env("RECORDER", "stays").env("LIBRARY", compiled("late", LATE));
    let mut recorder = recorder.stderr(Stdio::null()).spawn().unwrap();
    let has_begun = || {
        std::thread::sleep(Duration::from_millis(1));
        let mut threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
        let name = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("comm"));
        threads.any(|thread| name(thread.unwrap()).is_ok_and(|name| name == "late\n"))
    };
    assert!((0..20_000).any(|_| has_begun()));
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let is_whole = || {
        std::thread::sleep(Duration::from_millis(1));
        are_whole(process)
    };
    assert!((0..20_000).any(|_| is_whole()));
    program.answers("whatever was done");
    let second = attached(process).unwrap();
    assert!(second.took_over());
    second.detach().unwrap();
    assert!(changed(process).is_empty());
    program.answers("with none");
    program.ends();
}

#[test]
fn two_recorders_of_one_process_do_not_hurt_it() {
    let (_, program) = echoes().next().unwrap();
    let mut program = Echoes::begin(program);
    let process = program.0.id();
    let begin = || attaching(process).env("RECORDER", "tries").spawn().unwrap();
    let recorders = [begin(), begin()];
    for recorder in recorders {
        let output = recorder.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.contains("tried"), "{said}");
        program.answers("whoever it was");
    }
    assert!(changed(process).is_empty());
    program.ends();
}

/// Attaches and goes, and lets another recorder do the same: as often as it is said here.
pub(crate) fn attach_beside_another(process: u32) {
    let (patcher, mut done) = (patcher(), 0);
    for _ in 0..2000 {
        match attach(process, &patcher, &[]) {
            Ok(attached) => {
                // The other one may be looking at the threads.
                let left = (0..20).any(|_| attached.detach().is_ok());
                assert!(left, "it stays");
                done += 1;
            }
            Err(
                Error::NotAttached { why: Left::Recorded { .. } | Left::UsesGs, .. }
                | Error::NotAllowed { .. }
                | Error::Seize { .. },
            ) => std::thread::sleep(Duration::from_millis(1)),
            Err(other) => panic!("{other}"),
        }
        if done == 20 {
            break;
        }
    }
    eprintln!("tried");
}

/// Attaches, and waits to be killed.
pub(crate) fn attach_and_stay(process: u32) {
    attached(process).unwrap();
    eprintln!("attached");
    std::thread::sleep(Duration::from_secs(60));
}

/// Attaches and goes, again and again, until it is killed.
pub(crate) fn attach_for_ever(process: u32) -> ! {
    let patcher = patcher();
    let attach_and_go = || attach(process, &patcher, &[]).unwrap().detach().unwrap();
    // From the second time on, the places in the files are known.
    attach_and_go();
    eprintln!("begins");
    loop {
        attach_and_go();
    }
}

/// Attaches and goes, and says what came of it.
pub(crate) fn attach_once(process: u32) {
    match attached(process).and_then(|attached| attached.detach()) {
        Ok(count) => eprintln!("attached and left: {count}"),
        Err(error) => eprintln!("{error}"),
    }
}
