//! Processes that run: a library comes into them and is taken out again.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use injector::{Error, Left, attach};
use rustix::process::Signal;
use test_support::code::changed;

use crate::attaching::{Echoes, MAPPED, attached, compiled, mapped, patcher_of, signal, stop};
use crate::made::{echoes, status};

/// A library whose end does not come back.
const ENDLESS: &str = r#"
    long slot[4];
    const unsigned long waiting[13] = {24};
    int begin(const long *stack) { return stack[0] < 1; }
    int end(void) { for (;;) __asm__ volatile(""); }
    __asm__(".globl before\nbefore: jmp *%rcx\n.globl after\nafter: jmp *%rcx\n");
"#;

#[test]
fn a_process_is_attached_to_and_left_as_it_was() {
    for (kind, program) in echoes() {
        let mut program = Echoes::begin(program);
        let process = program.0.id();
        let before = mapped(process);
        for _ in 0..5 {
            let attached = attached(process).unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert_eq!(changed(process).len(), 1, "{kind}");
            assert!(mapped(process) > MAPPED, "{kind}");
            program.answers("while it is attached");
            assert_eq!(status(process, "TracerPid"), "0", "{kind}");
            assert!(attached.patches() > 10, "{kind}: {}", attached.patches());
            assert_eq!(attached.detach().unwrap(), 1, "{kind}");
            assert!(changed(process).is_empty(), "{kind}");
            // Threads of the program come and go.
            assert!(mapped(process) < before + MAPPED, "{kind}");
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
