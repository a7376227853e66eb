//! Programs behind another root directory, where the library is not: they run as without sockcap,
//! say nothing of it, and `sockcap info` says why they have no log.

use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::capture::{Recording, copy_program, program, python, successful};
use end_to_end::sockcap;

/// Puts a program and the libraries that it loads below `root`, as `/program`.
fn furnish(root: &Path, binary: &Path) {
    fs::create_dir_all(root).unwrap();
    let listed = successful(Command::new(program("ldd")).arg(binary));
    let paths = listed.split_whitespace().filter(|word| word.starts_with('/'));
    for path in paths {
        let copy = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(path, copy).unwrap();
    }
    copy_program(binary, &root.join("program"));
}

/// Uses a socket, and prints what it finds of the preload list.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
int main(void) {
    const char *list = getenv("LD_PRELOAD");
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) send(pair[0], "x", 1, 0);
    printf("list: %s\n", list ? list : "none");
    return 7;
}
"#;

fn cell(recording: &Recording) -> std::path::PathBuf {
    let (source, binary) = (recording.file("program.c"), recording.file("binary"));
    fs::write(&source, PROGRAM).unwrap();
    successful(Command::new(program("cc")).arg("-o").arg(&binary).arg(&source));
    let root = recording.file("root");
    furnish(&root, &binary);
    root
}

fn info(recording: &Recording) -> String {
    successful(Command::new(sockcap()).arg("info").arg("-d").arg(recording.data()))
}

#[test]
fn a_program_behind_another_root_is_quiet_and_info_says_why_it_has_no_log() {
    let recording = Recording::new();
    let root = cell(&recording);
    let output = recording.command(program("chroot")).arg(&root).arg("/program").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "nothing from the dynamic linker");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "list: none\n");
    assert_eq!(output.status.code(), Some(7));
    let info = info(&recording);
    let line = info.lines().find(|line| line.contains("which was pid")).unwrap_or_default();
    assert!(line.contains("libsockcap.so cannot be opened where it runs"), "{info}");
}

#[test]
fn other_libraries_stay_in_the_list() {
    let recording = Recording::new();
    let root = cell(&recording);
    // One that is there in both.
    let other = program("ldd").parent().unwrap().join("../lib/x86_64-linux-gnu/libm.so.6");
    let other = fs::canonicalize(&other).unwrap_or(other);
    let inside = root.join(other.strip_prefix("/").unwrap());
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::copy(&other, inside).unwrap();
    let list = format!("{}:{}", end_to_end::capture::library().display(), other.display());
    let mut command = recording.command(program("chroot"));
    let output = command.arg(&root).arg("/program").env("LD_PRELOAD", list).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("list: {}\n", other.display()));
}

#[test]
fn children_that_are_spawned_behind_another_root_are_quiet() {
    let recording = Recording::new();
    let root = cell(&recording);
    let script = format!(
        "import os\nos.chroot({:?})\nos.chdir('/')\n\
         pid = os.posix_spawn('/program', ['/program'], os.environ)\nprint(os.waitpid(pid, 0)[1] >> 8, flush=True)\n\
         if os.fork() == 0: os.execv('/program', ['/program'])\nprint(os.wait()[1] >> 8)",
        root.to_str().unwrap()
    );
    let output = recording.command(python()).arg("-c").arg(script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "list: none\n7\nlist: none\n7\n");
}

/// A library at the same path within: the program is recorded, by the way that docs/chroot.md
/// shows.
#[test]
fn a_program_that_finds_library_and_directory_behind_its_root_is_recorded() {
    let recording = Recording::new();
    let root = cell(&recording);
    let library = end_to_end::capture::library();
    let inside = root.join(library.strip_prefix("/").unwrap());
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::copy(library, inside).unwrap();
    let data = recording.data();
    fs::create_dir_all(root.join(data.strip_prefix("/").unwrap())).unwrap();
    let output = recording.command(program("chroot")).arg(&root).arg("/program").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let logs = fs::read_dir(root.join(data.strip_prefix("/").unwrap()).join("hosts/host")).unwrap();
    let is_log =
        |file: &fs::DirEntry| file.path().extension().is_some_and(|extension| extension == "sclog");
    assert_eq!(logs.filter(|file| is_log(file.as_ref().unwrap())).count(), 1);
}
