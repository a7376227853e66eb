//! Output with a reader that is gone, as in `sockcap export messages | head`: the reader has read
//! enough, so the command ends quietly and successfully. Every pipe here is closed before the
//! command begins.

use std::fmt::Write;
use std::fs;
use std::io::pipe;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs sockcap with standard output, and with `both` also standard error, in pipes without a
/// reader.
fn run_to_pipe(arguments: &[&str], directory: &Path, both: bool) -> Output {
    let closed = || Stdio::from(pipe().unwrap().1);
    Command::new(env!("CARGO_BIN_EXE_sockcap"))
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(closed())
        .stderr(if both { closed() } else { Stdio::piped() })
        .output()
        .unwrap()
}

/// A trace by strace of a client with many requests, more than any buffer holds.
fn strace_text() -> String {
    let socket = "3<TCP:[10.0.0.1:40000->10.0.0.2:80]>";
    let mut lines = String::from(
        "10 1700000000.000000 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3<TCP:[77]> <0.000010>\n\
         10 1700000000.000100 connect(3<TCP:[77]>, {sa_family=AF_INET, sin_port=htons(80), \
         sin_addr=inet_addr(\"10.0.0.2\")}, 16) = 0 <0.000010>\n",
    );
    for call in 1..5000 {
        for (name, after) in [("write", 0), ("read", 500)] {
            let time = format!("170000{call:04}.{after:06}");
            writeln!(lines, "10 {time} {name}({socket}, \"12345678\"..., 8) = 8 <0.000010>")
                .unwrap();
        }
    }
    lines
}

#[test]
fn output_without_a_reader_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("x.strace"), strace_text()).unwrap();
    fs::write(path.join("aliases"), "address 10.0.0.2 = db").unwrap();
    // Messages on standard error without a reader are no error either.
    let import = ["import", "strace", "x.strace", "--host", "one"];
    for arguments in [&import[..], &["reconcile"], &["analyze"]] {
        let output = run_to_pipe(arguments, path, true);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    }
    let log =
        fs::read_dir(path.join("sockcap.data/hosts/one")).unwrap().next().unwrap().unwrap().path();
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["dump", log.to_str().unwrap()],
        vec!["info"],
        vec!["report"],
        vec!["report", "--json"],
    ];
    for more in [
        &["--hosts"][..],
        &["--hops", "--json"],
        &["--min-confidence", "0.1"],
        &["--from", "1", "--json"],
    ] {
        commands.push([&["report"], more].concat());
    }
    for table in ["messages", "nodes", "links", "paths", "patterns"] {
        for format in ["csv", "json", "parquet"] {
            commands.push(vec!["export", table, "--format", format]);
            commands.push(vec!["export", table, "--format", format, "--aliases", "aliases"]);
        }
    }
    for format in ["otlp", "perfetto", "chrome", "folded", "dot", "mermaid"] {
        commands.push(vec!["export", format]);
    }
    for more in
        [&["info", "--json"][..], &["info", "--processes"], &["man"], &["completions", "fish"]]
    {
        commands.push(more.to_vec());
    }
    for more in
        [&["--help"][..], &["help"], &["help", "report"], &["report", "--help"], &["--version"]]
    {
        commands.push(more.to_vec());
    }
    fs::write(path.join("truth.csv"), "child,parent\n0,\n").unwrap();
    for more in
        [&["score", "--truth", "truth.csv"][..], &["score", "--truth", "truth.csv", "--json"]]
    {
        commands.push(more.to_vec());
    }
    for arguments in commands {
        let output = run_to_pipe(&arguments, path, false);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""), "{arguments:?}");
        assert_eq!(run_to_pipe(&arguments, path, true).status.code(), Some(0), "{arguments:?}");
    }
}

/// A closed terminal and a full disk give a different error than a pipe.
#[test]
fn messages_that_cannot_be_written_change_no_status() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("x.strace"), strace_text()).unwrap();
    let status = |arguments: &[&str]| {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_sockcap"));
        command.args(arguments).current_dir(directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(full);
        command.status().unwrap().code()
    };
    for arguments in [&["import", "strace", "x.strace"][..], &["reconcile"], &["analyze"]] {
        assert_eq!(status(arguments), Some(0), "{arguments:?}");
    }
    assert_eq!(status(&["dump", "none.sclog"]), Some(1));
    assert_eq!(status(&["dump", "--no-such-flag"]), Some(2));
}

#[test]
fn an_error_without_a_reader_is_still_an_error() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["report", "-d", "nowhere"][..], &["dump", "none.sclog"]] {
        assert_eq!(
            run_to_pipe(arguments, directory.path(), true).status.code(),
            Some(1),
            "{arguments:?}"
        );
    }
}
