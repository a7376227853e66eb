//! Whole injections: a library that counts, in programs with sites found by the module `patching`.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use injector::{
    BlobLibrary, InjectionOutcome, LibraryPatcher, SkipReason, spawn_traced, wait_child,
};

use crate::made::{BUILDS, counted, injected, status};

/// Library that counts on both sides of system calls.
const SOURCE: &str = r#"
    long slot[4];
    int begin(const long *stack) { return stack[0] < 1; }
    __asm__(".globl before\nbefore: incq %gs:8\n jmp *%rcx\n"
            ".globl after\nafter: incq %gs:16\n jmp *%rcx\n");
"#;

/// The library, and where it counts.
fn patcher() -> (Arc<LibraryPatcher>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("library.c"), folder.path().join("library.so"));
    fs::write(&from, SOURCE).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,-Bsymbolic"]);
    assert!(gcc.arg(&from).arg("-o").arg(&to).status().unwrap().success());
    let library = BlobLibrary::parse(&fs::read(to).unwrap(), "begin", "slot").unwrap();
    let slot = library.symbol_offset("slot").unwrap();
    assert!(LibraryPatcher::new(library.clone(), "before", "behind").is_err());
    (Arc::new(LibraryPatcher::new(library, "before", "after").unwrap()), slot)
}

#[test]
fn system_calls_of_libc_are_seen_on_both_sides() {
    use std::os::unix::fs::FileExt;
    let (patcher, slot) = patcher();
    for (build, kind) in BUILDS.iter().enumerate() {
        let program = counted(build);
        // The second time, the file's plan is cached.
        for _ in 0..2 {
            let mut command = Command::new(program);
            command.args(["wait", "50"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut spawned = spawn_traced(command, program, patcher.clone()).unwrap();
            let injected = injected(&spawned.result).clone();
            let lines = crate::announced::lines(&mut spawned.child, 50);
            assert!(lines.ends_with("line 49\n"), "{kind:?}");
            assert_eq!(status(spawned.child.id(), "TracerPid"), "0");
            let memory = fs::File::open(format!("/proc/{}/mem", spawned.child.id())).unwrap();
            let count = |place: u64| {
                let mut word = [0; 8];
                memory.read_exact_at(&mut word, injected.placed.blob + slot + place).unwrap();
                u64::from_le_bytes(word)
            };
            let (before, after) = (count(8), count(16));
            assert!(before >= 50 && after >= 49, "{kind:?}: {before} and {after}");
            spawned.child.stdin.take().unwrap().write_all(b"x").unwrap();
            let mut rest = String::new();
            spawned.child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "the end\n", "{kind:?}");
            assert_eq!(wait_child(&mut spawned.child).unwrap().code(), Some(7), "{kind:?}");
        }
    }
}

#[test]
fn threads_and_children_of_a_patched_program_live() {
    let (patcher, _) = patcher();
    for (build, kind) in BUILDS.iter().enumerate() {
        let mut command = Command::new(counted(build));
        command.arg("state").stdin(Stdio::null()).stdout(Stdio::piped());
        let spawned = spawn_traced(command, counted(build), patcher.clone()).unwrap();
        injected(&spawned.result);
        let output = spawned.child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        for line in ["a thread", "a child", "the end", "TracerPid:\t0"] {
            assert!(text.lines().any(|other| other == line), "{kind:?}: {text}");
        }
        assert_eq!(output.status.code(), Some(3), "{kind:?}");
    }
}

#[test]
fn a_program_that_loads_libraries_is_left() {
    let (patcher, _) = patcher();
    let program = std::path::Path::new("/bin/true");
    let mut spawned = spawn_traced(Command::new(program), program, patcher).unwrap();
    assert!(
        matches!(spawned.result, Ok(InjectionOutcome::Left(SkipReason::Unwanted))),
        "{:?}",
        spawned.result
    );
    assert!(wait_child(&mut spawned.child).unwrap().success());
}
