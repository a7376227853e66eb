//! Blob from a shared library, with a compiler's own code that relocates itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use injector::{
    BlobLibrary, EntryArgument, Injection, InjectionPatches, InjectionTarget, PrepareError,
    spawn_traced, wait_child,
};

use crate::made::{counted, injected};

/// Content of the slot after the library has begun: the number of the program's arguments, and the
/// first bytes of the first argument.
const SOURCE: &str = r#"
    long slot[4] = {0, 0, 7, 0};
    int begin(const long *stack) {
        slot[0] = stack[0];
        for (int i = 0; i < 8; i++) ((char *)&slot[1])[i] = ((char *)stack[2])[i];
        return 0;
    }
    int refuses(const long *stack) { return -3; }
"#;

/// Compiles a library.
fn compile(folder: &Path, source: &str, flags: &[&str]) -> PathBuf {
    let (from, to) = (folder.join("library.c"), folder.join("library.so"));
    fs::write(&from, source).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,-Bsymbolic"]).args(flags);
    assert!(gcc.arg(&from).arg("-o").arg(&to).status().unwrap().success());
    to
}

fn read(folder: &Path, source: &str, flags: &[&str]) -> Result<BlobLibrary, injector::Error> {
    let bytes = fs::read(compile(folder, source, flags)).unwrap();
    BlobLibrary::parse(&bytes, "begin", "slot")
}

/// Words of the slot in a program with the library.
fn slot_with(library: BlobLibrary) -> Vec<u64> {
    use std::os::unix::fs::FileExt;
    let slot = library.symbol_offset("slot").unwrap();
    let blob = Arc::new(library.blob);
    let prepare = move |_: &InjectionTarget| -> Result<Option<Injection>, PrepareError> {
        Ok(Some(Injection {
            blob: Arc::clone(&blob),
            argument: EntryArgument::Stack,
            handed: None,
            stubs_room: 0,
            assemble: Box::new(|_| Ok(InjectionPatches::default())),
        }))
    };
    let mut command = Command::new(counted(0));
    command.args(["wait", "0"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut spawned = spawn_traced(command, counted(0), Arc::new(prepare)).unwrap();
    let injected = injected(&spawned.result);
    let memory = fs::File::open(format!("/proc/{}/mem", spawned.child.id())).unwrap();
    let words = (0..4).map(|place| {
        let mut word = [0; 8];
        memory.read_exact_at(&mut word, injected.placed.blob + slot + place * 8).unwrap();
        u64::from_le_bytes(word)
    });
    let words = words.collect();
    drop(spawned.child.stdin.take());
    assert_eq!(wait_child(&mut spawned.child).unwrap().code(), Some(7));
    words
}

#[test]
fn a_library_begins_with_the_programs_stack() {
    let folder = tempfile::tempdir().unwrap();
    let library = read(folder.path(), SOURCE, &[]).unwrap();
    let name = u64::from_le_bytes(*b"wait\0\x30\0\0");
    let words = slot_with(library);
    // `wait` is followed by the next argument, `0`.
    assert_eq!((words[0], words[1] & 0xff_ffff_ffff_ffff, words[2]), (3, name, 7));
}

#[test]
fn unsuitable_libraries_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let why = |result: Result<BlobLibrary, injector::Error>| result.unwrap_err().to_string();
    for (source, flags, expected) in [
        ("int begin(void) { return 0; }", &[][..], "lacks a symbol"),
        (
            "extern int other(void); long slot; int begin(void) { return other(); }",
            &[],
            "needs other",
        ),
        (
            "__thread long a; long slot; int begin(void) { return a++; }",
            &["-ftls-model=initial-exec"],
            "thread-local",
        ),
        (SOURCE, &["-Wl,-N"], "code"),
    ] {
        let error = why(read(folder.path(), source, flags));
        assert!(error.contains(expected), "{expected}: {error}");
    }
    for bytes in [&b""[..], b"\x7fELF", b"#!/bin/sh\n"] {
        assert!(why(BlobLibrary::parse(bytes, "begin", "slot")).contains("not a readable library"));
    }
    let mut cut = fs::read(compile(folder.path(), SOURCE, &[])).unwrap();
    for length in (0..cut.len()).rev().step_by(97) {
        cut.truncate(length);
        let _ = BlobLibrary::parse(&cut, "begin", "slot");
    }
}
