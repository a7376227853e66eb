//! Recorders of running processes: they are killed at any moment, and two of them work at the same
//! time.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use injector::{Error, SkipReason};
use test_support::code::changed_code;

use crate::attaching::{Echoes, are_whole, attached, compiled};
use crate::helper::attaching;
use crate::made::{busy, echoes, status};

/// A library that takes long before each call.
const SLOW: &str = r#"
    long slot[4];
    const unsigned long waiting[13] = {24};
    int begin(const long *stack) { return stack[0] < 1; }
    int end(void) { return 0; }
    __asm__(".globl before\nbefore: mov $2000, %r11d\n1: dec %r11d\n jnz 1b\n jmp *%rcx\n"
            ".globl after\nafter: jmp *%rcx\n");
"#;

/// A library that takes two seconds to begin, in a thread that it names.
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

/// The slow library, compiled once.
static SLOW_LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| compiled("slow", SLOW));

/// Threads are in the middle of patched text, or inside the library, nearly whenever they are
/// stopped. Each recorder removes the blob that the previous one has left.
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
        // The thread that worked continues by itself.
        let is_whole = || {
            std::thread::sleep(Duration::from_millis(1));
            are_whole(process)
        };
        assert!((0..10_000).any(|_| is_whole()), "a thread is traced, or without signals");
    }
    attached(process).unwrap().detach().unwrap();
    assert!(changed_code(process).is_empty());
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
fn a_killed_recorders_blob_is_removed_by_the_next_one() {
    for (kind, program) in echoes() {
        let mut program = Echoes::begin(program);
        let process = program.0.id();
        let mut recorder = attaching(process).env("RECORDER", "stays").spawn().unwrap();
        let errors = recorder.stderr.take().unwrap();
        crate::killed::until(&mut std::io::BufReader::new(errors), "attached");
        match attached(process) {
            Err(Error::NotAttached { why: SkipReason::Recorded { by }, .. }) => {
                assert_eq!(by, recorder.id());
            }
            other => panic!("{kind}: {other:?}"),
        }
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        assert_eq!(changed_code(process).len(), 1, "{kind}");
        program.answers("with the library of nobody");
        let second = attached(process).unwrap();
        assert!(second.took_over(), "{kind}");
        program.answers("with another one");
        second.detach().unwrap();
        assert!(changed_code(process).is_empty(), "{kind}");
        program.answers("with none");
        assert!(!attached(process).unwrap().took_over(), "{kind}");
        attached(process).unwrap_err();
        program.answers("with another one of this process");
        program.ends();
    }
}

#[test]
fn a_blob_of_a_recorder_killed_at_its_beginning_is_removed() {
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
    assert!(changed_code(process).is_empty());
    program.answers("with none");
    program.ends();
}

#[test]
fn two_recorders_do_not_harm_their_process() {
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
    assert!(changed_code(process).is_empty());
    program.ends();
}
