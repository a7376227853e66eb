//! Running processes: a library is installed and taken out again.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use injector::{Error, SkipReason, attach_process};
use rustix::process::Signal;
use test_support::code::changed_code;

use crate::attaching::{Echoes, MAPPED, attached, compiled, mapped, patcher_of, signal, stop};
use crate::made::{echoes, status};

/// A library with a last function that does not return.
const ENDLESS: &str = r#"
    long slot[4];
    const unsigned long waiting[13] = {24};
    int begin(const long *stack) { return stack[0] < 1; }
    int end(void) { for (;;) __asm__ volatile(""); }
    __asm__(".globl before\nbefore: jmp *%rcx\n.globl after\nafter: jmp *%rcx\n");
"#;

/// A library with a switch. Its words follow two words by which they are found: the state of the
/// hooks, the switch, and the structures that it leads to.
const SWITCHED: &str = r#"
    long slot[4], words[16];
    const unsigned long waiting[13] = {24};
    __asm__(".globl switched\n.set switched, words + 24\n");
    int begin(const long *stack)
    {
        long all[16] = {0x5ca1ab1e, 0x00ddba11, (long)(words + 9), (long)(words + 2), 0, 8, 8, 3, 0,
                        0, (long)(words + 12), 0, 0, 0, 0, 0};
        for (int i = 0; i < 16; i++) words[i] = all[i];
        return stack[0] < 1;
    }
    int end(void) { return 0; }
    __asm__(".globl before\nbefore: jmp *%rcx\n.globl after\nafter: jmp *%rcx\n");
"#;

/// Words of that library in a process.
fn switch_of(process: u32) -> Vec<u64> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = fs::File::open(format!("/proc/{process}/mem")).unwrap();
    let begin = [0x5ca1_ab1eu64, 0x00dd_ba11].map(u64::to_le_bytes);
    let words =
        maps.lines().filter(|line| line.contains(" rw-p 00000000 00:00 0")).find_map(|line| {
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let number = |word| u64::from_str_radix(word, 16).unwrap();
            let mut bytes = vec![0; (number(end) - number(start)).min(1 << 20) as usize];
            memory.read_exact_at(&mut bytes, number(start)).ok()?;
            let at = bytes.windows(16).position(|found| found == begin.as_flattened())?;
            let words = bytes[at..at + 128].as_chunks().0.iter();
            Some(words.map(|word| u64::from_le_bytes(*word)).collect())
        });
    words.unwrap()
}

#[test]
fn a_process_is_attached_to_and_left_as_it_was() {
    for (kind, program) in echoes() {
        let mut program = Echoes::begin(program);
        let process = program.0.id();
        let before = mapped(process);
        for _ in 0..5 {
            let attached = attached(process).unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert_eq!(changed_code(process).len(), 1, "{kind}");
            assert!(mapped(process) > MAPPED, "{kind}");
            program.answers("while it is attached");
            assert_eq!(status(process, "TracerPid"), "0", "{kind}");
            assert!(attached.patches() > 10, "{kind}: {}", attached.patches());
            assert_eq!(attached.detach().unwrap(), 1, "{kind}");
            assert!(changed_code(process).is_empty(), "{kind}");
            // Threads of the program come and go.
            assert!(mapped(process) < before + MAPPED, "{kind}");
            assert_eq!(status(process, "SigBlk"), "0000000000000000", "{kind}");
            program.answers("behind it");
        }
        program.ends();
    }
}

/// The program waits while it loads a library, before its libc: that library is a pipe.
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
        // A file that is not a library is skipped.
        fs::write(&pipe, "no library").unwrap();
        attached.join().unwrap()
    });
    let changed = changed_code(process);
    assert!(changed.iter().any(|path| path.ends_with("libc.so.6")), "{changed:?}");
    attached.unwrap().detach().unwrap();
}

#[test]
fn a_library_with_an_endless_end_is_removed() {
    let (_, program) = echoes().next().unwrap();
    let mut program = Echoes::begin(program);
    let process = program.0.id();
    let attached =
        attach_process(process, &patcher_of(&compiled("endless", ENDLESS)), &[]).unwrap();
    assert_eq!(changed_code(process).len(), 1);
    assert_eq!(attached.detach().unwrap(), 1);
    assert!(changed_code(process).is_empty());
    assert_eq!(status(process, "SigBlk"), "0000000000000000");
    program.answers("it is as before");
    program.ends();
}

#[test]
fn a_process_that_is_stopped_at_the_end_is_left_and_stays_stopped() {
    for (kind, program) in echoes() {
        let mut program = Echoes::begin(program);
        let process = program.0.id();
        let attached = attached(process).unwrap_or_else(|error| panic!("{kind}: {error}"));
        program.answers("while it is attached");
        stop(process);
        assert_eq!(attached.detach().unwrap(), 1, "{kind}");
        assert!(changed_code(process).is_empty(), "{kind}");
        let is_stopped = || {
            std::thread::sleep(Duration::from_millis(1));
            status(process, "State").starts_with('T')
        };
        assert!((0..10_000).any(|_| is_stopped()), "{kind}");
        assert_eq!(status(process, "TracerPid"), "0", "{kind}");
        signal(process, Signal::CONT);
        program.answers("it goes on");
        program.ends();
    }
}

/// Each of its threads is traced by a thread of this process, as by a debugger, until that ends.
/// Returns whether a condition holds within ten seconds.
fn in_ten_seconds(mut holds: impl FnMut() -> bool) -> bool {
    (0..1000).any(|_| {
        let is_so = holds();
        if !is_so {
            std::thread::sleep(Duration::from_millis(10));
        }
        is_so
    })
}

#[test]
fn a_process_traced_at_the_end_is_switched_off_and_detached_later() {
    let (_, program) = echoes().next().unwrap();
    let mut program = Echoes::begin(program);
    let process = program.0.id();
    let patcher = patcher_of(&compiled("switched", SWITCHED));
    let attached = attach_process(process, &patcher, &[]).unwrap();
    let before = switch_of(process);
    let (begun, has_begun) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let tracer = std::thread::spawn(move || {
        for thread in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
            let tid: i32 = thread.unwrap().file_name().to_str().unwrap().parse().unwrap();
            // A previous tracer may still be about to end, and so may the thread.
            let is_traced = in_ten_seconds(|| {
                // SAFETY: takes numbers.
                let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, tid, 0, 0) };
                seized == 0 || !Path::new(&format!("/proc/{process}/task/{tid}")).exists()
            });
            assert!(is_traced, "{tid}: {}", std::io::Error::last_os_error());
        }
        begun.send(()).unwrap();
        let _ = ends.recv();
    });
    has_begun.recv().unwrap();
    let error = attached.detach().unwrap_err();
    assert!(matches!(&error, Error::Stays { is_off: true, .. }), "{error}");
    let own = format!("process {} traces it already", std::process::id());
    let words = error.to_string();
    assert!(words.contains(&own) && words.contains("records nothing more"), "{words}");
    let after = switch_of(process);
    // The state of the hooks, its previous value, and the progress of the process.
    assert_eq!((after[2], after[4], after[13]), (0, before[2], 3), "{after:x?}");
    program.answers("without hooks");
    drop(end);
    tracer.join().unwrap();
    // The threads that a thread traces are released a moment after it was joined.
    assert!(in_ten_seconds(|| attached.detach().is_ok()));
    assert!(changed_code(process).is_empty());
    program.answers("as before");
    program.ends();
}

#[test]
fn unattachable_processes_are_skipped_with_a_reason() {
    let (_, program) = echoes().next().unwrap();
    let mut program = Echoes::begin(program);
    let process = program.0.id();
    stop(process);
    let left = |expected: SkipReason| match attached(process) {
        Err(Error::NotAttached { why, .. }) => assert_eq!(why, expected),
        other => panic!("{other:?}"),
    };
    left(SkipReason::Stopped);
    signal(process, Signal::CONT);
    program.answers("it goes on");
    let first = attached(process).unwrap();
    left(SkipReason::Recorded { by: std::process::id() });
    first.detach().unwrap();
    program.answers("it is as before");
    program.ends();
    assert!(matches!(attached(process), Err(Error::NoProcess { .. })));
    // A process that has ended needs no detaching.
    assert_eq!(first.detach().unwrap(), 0);
}
