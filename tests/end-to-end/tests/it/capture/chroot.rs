//! Programs in another root directory, which does not contain the library: they run as without
//! sockcap, print nothing about it, and `sockcap info` shows why they have no log.

use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::capture::{
    TestRecording, copy_program, program_path, python_path, run_successfully,
};
use end_to_end::sockcap_program;

/// Puts a program and the libraries that it loads below `root`, as `/program`.
fn furnish_root(root: &Path, binary: &Path) {
    fs::create_dir_all(root).unwrap();
    let listed = run_successfully(Command::new(program_path("ldd")).arg(binary));
    let paths = listed.split_whitespace().filter(|word| word.starts_with('/'));
    for path in paths {
        let copy = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(path, copy).unwrap();
    }
    copy_program(binary, &root.join("program"));
}

/// Uses a socket, and prints its preload list.
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

fn make_cell(recording: &TestRecording) -> std::path::PathBuf {
    let (source, binary) = (recording.file_path("program.c"), recording.file_path("binary"));
    fs::write(&source, PROGRAM).unwrap();
    run_successfully(Command::new(program_path("cc")).arg("-o").arg(&binary).arg(&source));
    let root = recording.file_path("root");
    furnish_root(&root, &binary);
    root
}

fn run_info(recording: &TestRecording) -> String {
    run_successfully(
        Command::new(sockcap_program()).arg("info").arg("-d").arg(recording.data_dir()),
    )
}

#[test]
fn a_program_in_another_root_is_quiet_and_info_explains_its_missing_log() {
    let recording = TestRecording::new();
    let root = make_cell(&recording);
    let output = recording
        .recorded_command(program_path("chroot"))
        .arg(&root)
        .arg("/program")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "nothing from the dynamic linker");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "list: none\n");
    assert_eq!(output.status.code(), Some(7));
    let info = run_info(&recording);
    let line = info.lines().find(|line| line.contains("which was pid")).unwrap_or_default();
    assert!(line.contains("libsockcap.so cannot be opened where it runs"), "{info}");
}

#[test]
fn other_libraries_stay_in_the_list() {
    let recording = TestRecording::new();
    let root = make_cell(&recording);
    // A library that exists in both.
    let other = program_path("ldd").parent().unwrap().join("../lib/x86_64-linux-gnu/libm.so.6");
    let other = fs::canonicalize(&other).unwrap_or(other);
    let inside = root.join(other.strip_prefix("/").unwrap());
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::copy(&other, inside).unwrap();
    let list =
        format!("{}:{}", end_to_end::capture::preloaded_library().display(), other.display());
    let mut command = recording.recorded_command(program_path("chroot"));
    let output = command.arg(&root).arg("/program").env("LD_PRELOAD", list).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("list: {}\n", other.display()));
}

#[test]
fn children_spawned_in_another_root_are_quiet() {
    let recording = TestRecording::new();
    let root = make_cell(&recording);
    let script = format!(
        "import os\nos.chroot({:?})\nos.chdir('/')\n\
         pid = os.posix_spawn('/program', ['/program'], os.environ)\nprint(os.waitpid(pid, 0)[1] >> 8, flush=True)\n\
         if os.fork() == 0: os.execv('/program', ['/program'])\nprint(os.wait()[1] >> 8)",
        root.to_str().unwrap()
    );
    let output = recording.recorded_command(python_path()).arg("-c").arg(script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "list: none\n7\nlist: none\n7\n");
}

/// The library is at the same path inside: the program is recorded, by the method in
/// docs/chroot.md.
#[test]
fn a_program_with_library_and_directory_in_its_root_is_recorded() {
    let recording = TestRecording::new();
    let root = make_cell(&recording);
    let library = end_to_end::capture::preloaded_library();
    let inside = root.join(library.strip_prefix("/").unwrap());
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::copy(library, inside).unwrap();
    let data = recording.data_dir();
    fs::create_dir_all(root.join(data.strip_prefix("/").unwrap())).unwrap();
    let output = recording
        .recorded_command(program_path("chroot"))
        .arg(&root)
        .arg("/program")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let logs = fs::read_dir(root.join(data.strip_prefix("/").unwrap()).join("hosts/host")).unwrap();
    let is_log =
        |file: &fs::DirEntry| file.path().extension().is_some_and(|extension| extension == "sclog");
    assert_eq!(logs.filter(|file| is_log(file.as_ref().unwrap())).count(), 1);
}
