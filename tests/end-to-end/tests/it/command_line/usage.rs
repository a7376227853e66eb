//! The command line from the user's point of view: exit statuses, the line after a recording,
//! stages that run earlier stages if necessary, and errors with advice.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use end_to_end::command::{self, run_sockcap, to_text};
use end_to_end::sockcap_program;

/// An echo server and its client in one python program, over loopback.
const ECHO: &str = r#"
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def serve():
    peer, _ = server.accept()
    while data := peer.recv(100):
        peer.sendall(data)
thread = threading.Thread(target=serve)
thread.start()
client = socket.create_connection(server.getsockname())
for _ in range(5):
    client.sendall(b"question")
    assert client.recv(100) == b"question"
client.close()
thread.join()
"#;

#[test]
fn record_exits_as_the_command_does() {
    let directory = tempfile::tempdir().unwrap();
    let status = |command: &[&str]| {
        run_sockcap(&[&["record", "--"], command].concat(), directory.path()).status.code()
    };
    assert_eq!(status(&["true"]), Some(0));
    assert_eq!(status(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(status(&["sh", "-c", "kill -TERM $$"]), Some(128 + 15));
    assert_eq!(status(&["./no-such-program"]), Some(127));
    fs::write(directory.path().join("no-program"), "text").unwrap();
    assert_eq!(status(&["./no-program"]), Some(126));
    let nowhere = run_sockcap(&["record", "-d", "/proc/no/such", "--", "true"], directory.path());
    assert_eq!(nowhere.status.code(), Some(125), "{nowhere:?}");
}

#[test]
fn misspelt_flags_of_a_recording_are_named() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, words) in [
        (&["record", "--strictt", "true"][..], &["'--strictt'", "--strict"][..]),
        (&["record", "--dir", "x", "true"], &["'--dir'"]),
        (&["record", "-x", "true"], &["'-x'"]),
        (&["record", "--max-sise=64K", "--", "true"], &["'--max-sise'", "--max-size"]),
    ] {
        command::assert_fails(arguments, directory.path(), 2, words);
    }
    assert!(!directory.path().join("sockcap.data").exists(), "nothing was run");
    // Arguments of the command are not parsed.
    let output = run_sockcap(
        &["record", "sh", "-c", "echo \"$@\"", "--strictt", "-x", "--", "-d"],
        directory.path(),
    );
    assert_eq!(
        (output.status.code(), to_text(&output.stdout).as_str()),
        (Some(0), "-x -- -d\n"),
        "{output:?}"
    );
}

#[test]
fn record_forwards_signals() {
    for (signal, name) in [("TERM", 15), ("INT", 2), ("QUIT", 3), ("HUP", 1), ("USR1", 10)] {
        let directory = tempfile::tempdir().unwrap();
        let script = format!(
            "trap 'echo got it; exit 3' {signal}; echo ready; for i in $(seq 400); do sleep 0.05; done"
        );
        let mut child = Command::new(sockcap_program())
            .args(["record", "--", "bash", "-c", &script])
            .current_dir(directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        assert_eq!(lines.next().unwrap().unwrap(), "got it", "{signal}");
        assert_eq!(child.wait().unwrap().code(), Some(3), "{signal}");
    }
}

/// A client and a server in two processes: a message for each line of standard input, a line of
/// output for each.
const TALK: &str = r#"
import os, socket, sys
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    peer, _ = server.accept()
    while peer.recv(100):
        peer.sendall(b"yes")
    os._exit(0)
client = socket.create_connection(server.getsockname())
for line in sys.stdin:
    client.sendall(b"question")
    print(client.recv(100).decode(), flush=True)
"#;

#[test]
fn results_from_a_running_process_become_out_of_date() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(sockcap_program())
        .args(["record", "--", "/usr/bin/python3", "-c", TALK])
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut input = child.stdin.take().unwrap();
    let messages = || {
        let exported = run_sockcap(&["export", "messages"], directory.path());
        to_text(&exported.stdout).lines().count() - 1
    };
    for round in 1..=3 {
        writeln!(input, "more").unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "yes");
        assert_eq!(messages(), 2 * round);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(messages(), 6);
}

#[test]
fn a_failed_result_leaves_the_file_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("old.csv"), "former").unwrap();
    for arguments in [["export", "links", "-o", "old.csv"], ["export", "links", "-o", "new.csv"]] {
        assert_eq!(run_sockcap(&arguments, directory.path()).status.code(), Some(1));
    }
    assert_eq!(fs::read_to_string(directory.path().join("old.csv")).unwrap(), "former");
    assert!(!directory.path().join("new.csv").exists());
}

#[test]
fn the_patterns_are_shown_even_if_the_page_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    run_sockcap(&["record", "--", "/usr/bin/python3", "-c", ECHO], directory.path());
    fs::create_dir(directory.path().join("sockcap.data/report.html")).unwrap();
    let output = run_sockcap(&["report"], directory.path());
    assert!(
        output.status.success() && to_text(&output.stdout).contains("0 messages"),
        "{output:?}"
    );
    assert!(
        to_text(&output.stderr).contains("report.html")
            && to_text(&output.stderr).contains("--html")
    );
    let asked = run_sockcap(&["report", "--html", "no/such/page.html"], directory.path());
    assert_eq!((asked.status.code(), asked.stdout.len()), (Some(1), 0));
}

#[test]
fn record_summarises_the_result_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let output = run_sockcap(
        &["record", "--host", "web1", "--", "/usr/bin/python3", "-c", ECHO],
        directory.path(),
    );
    let line = to_text(&output.stderr);
    assert!(output.status.success() && output.stdout.is_empty(), "{line}");
    assert!(line.starts_with("sockcap: 1 process, ") && line.contains(" 0 lost, "), "{line}");
    assert!(
        line.trim_end().ends_with("next: sockcap report") && line.lines().count() == 1,
        "{line}"
    );
    let logs = fs::read_dir(directory.path().join("sockcap.data/hosts/web1")).unwrap();
    assert_eq!(logs.count(), 1);
}

#[test]
fn a_program_that_loads_no_library_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("static.c");
    fs::write(&source, "int main(void) { return 0; }").unwrap();
    let compiled = Command::new("cc")
        .arg("-static")
        .arg(&source)
        .arg("-o")
        .arg(source.with_extension(""))
        .status();
    assert!(compiled.unwrap().success(), "install gcc and libc6-dev");
    let output = run_sockcap(&["record", "--", "./static"], directory.path());
    assert!(
        to_text(&output.stderr).contains("nothing was recorded: ./static did not load"),
        "{output:?}"
    );
}

/// The advice of the message is followed, and the program is in the report.
#[test]
fn the_remedy_for_a_program_that_loads_no_library_works() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let source = end_to_end::repository().join("tests/programs/talk.c");
    let compiled =
        Command::new("cc").arg("-static").arg(&source).arg("-o").arg(path.join("talk")).status();
    assert!(compiled.unwrap().success(), "install gcc and libc6-dev");
    let output =
        run_sockcap(&["record", "-d", "data", "--host", "web1", "--", "./talk", "3"], path);
    assert!(output.status.success(), "{output:?}");
    let said = to_text(&output.stderr);
    let warning: Vec<&str> = said.lines().take(5).collect();
    let first = "so it is not recorded; --inject records it, or strace sees what it does:";
    assert!(warning[0].ends_with(first), "{said}");
    assert!(warning.iter().all(|line| !line.starts_with("  ") || line.len() <= 80), "{said}");
    assert_eq!(warning[4], "  sockcap import strace trace.strace --host web1 -d data", "{said}");
    let commands = warning[1..]
        .join("\n")
        .replace("sockcap import", &format!("{} import", sockcap_program().display()));
    let followed = Command::new("sh").args(["-ec", &commands]).current_dir(path).output().unwrap();
    assert!(followed.status.success(), "{commands}: {followed:?}");
    let report = to_text(&run_sockcap(&["report", "-d", "data"], path).stdout);
    assert!(report.contains("talk → talk"), "{report}");
}

#[test]
fn report_runs_missing_and_outdated_stages() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("sockcap.data");
    let record = |host| {
        let output = run_sockcap(
            &["record", "--host", host, "--", "/usr/bin/python3", "-c", ECHO],
            directory.path(),
        );
        assert!(output.status.success(), "{output:?}");
    };
    let messages = || {
        let output = run_sockcap(&["report", "--json"], directory.path());
        assert!(output.status.success(), "{output:?}");
        let exported = run_sockcap(&["export", "messages"], directory.path());
        to_text(&exported.stdout).lines().count() - 1
    };
    record("one");
    // A process that only sends to itself is a system without messages, unless they are requested.
    assert_eq!(messages(), 0);
    let kept = run_sockcap(&["reconcile", "--keep-internal"], directory.path());
    assert!(to_text(&kept.stderr).contains("10 messages"), "{kept:?}");
    assert_eq!(messages(), 10);
    for table in ["messages", "nodes", "links", "paths", "patterns"] {
        assert!(data.join(format!("{table}.parquet")).is_file(), "{table}");
    }
    assert!(data.join("report.html").is_file());

    let grain = || fs::read_to_string(data.join("analysis.json")).unwrap();
    assert!(grain().contains(r#""grain": "command""#));
    assert!(run_sockcap(&["report", "--node", "thread"], directory.path()).status.success());
    assert!(grain().contains(r#""grain": "thread""#), "{}", grain());

    // A new log makes everything out of date. Messages between threads are included while nodes are
    // threads.
    record("two");
    assert_eq!(messages(), 20);
    assert!(run_sockcap(&["report", "--node", "command"], directory.path()).status.success());
    assert_eq!(messages(), 0);
}

#[test]
fn info_and_dump_show_what_was_recorded() {
    let directory = tempfile::tempdir().unwrap();
    run_sockcap(
        &["record", "--host", "web1", "--", "/usr/bin/python3", "-c", ECHO],
        directory.path(),
    );
    let info = to_text(&run_sockcap(&["info", "--processes"], directory.path()).stdout);
    assert!(info.contains("web1") && info.contains("python3 -c"), "{info}");
    assert!(info.contains("'sockcap reconcile' makes them"), "{info}");

    let host = directory.path().join("sockcap.data/hosts/web1");
    let log = fs::read_dir(host).unwrap().next().unwrap().unwrap().path();
    let dump = to_text(&run_sockcap(&["dump", log.to_str().unwrap()], directory.path()).stdout);
    let count = |what: &str| dump.lines().filter(|line| line.contains(what)).count();
    assert_eq!(
        count(" bytes 8 took"),
        20,
        "five questions and answers, each sent and received:\n{dump}"
    );
    assert_eq!(count("role Listen local 127.0.0.1:"), 1, "{dump}");
    assert_eq!(count("end-of-file"), 1, "{dump}");
}

#[test]
fn errors_name_the_file_and_give_advice() {
    let directory = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str], status, words: &[&str]| {
        command::assert_fails(arguments, directory.path(), status, words);
    };
    fails(&["report", "-d", "nowhere"], 1, &["nowhere", "sockcap record -d nowhere -- CMD"]);
    fails(&["report", "--sort", "beauty"], 2, &["beauty", "p99"]);
    fails(&["analyze", "--window", "soon"], 2, &["soon", "100ms"]);
    fails(&["record", "--host", "../etc", "--", "true"], 2, &["host name"]);
    fails(&["record"], 2, &["CMD"]);
    fs::write(directory.path().join("text.sclog"), "no log").unwrap();
    fails(&["dump", "text.sclog"], 1, &["text.sclog", "not a sockcap log"]);
    fs::create_dir_all(directory.path().join("broken")).unwrap();
    fs::write(directory.path().join("broken/messages.parquet"), "no table").unwrap();
    fails(&["report", "-d", "broken"], 1, &["broken: no logs here"]);
    fs::write(directory.path().join("broken/nodes.parquet"), "no table").unwrap();
    fails(&["report", "-d", "broken"], 1, &["broken", "remove it"]);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    run_sockcap(&["record", "--", "/usr/bin/python3", "-c", ECHO], directory.path());
    let script = format!(
        "{} dump sockcap.data/hosts/*/*.sclog | true; echo ${{PIPESTATUS[0]}}",
        sockcap_program().display()
    );
    let output =
        Command::new("bash").args(["-c", &script]).current_dir(directory.path()).output().unwrap();
    assert_eq!((to_text(&output.stdout).trim(), to_text(&output.stderr).as_str()), ("0", ""));
}

#[test]
fn help_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let help = to_text(&run_sockcap(&["--help"], directory.path()).stdout);
    for command in [
        "record",
        "import",
        "reconcile",
        "analyze",
        "report",
        "export",
        "info",
        "keys",
        "dump",
        "synth",
        "skew",
        "drop",
        "score",
    ] {
        assert!(help.contains(command), "{command}");
        let output = run_sockcap(&[command, "--help"], directory.path());
        assert!(
            output.status.success() && to_text(&output.stdout).contains("Usage: sockcap"),
            "{command}"
        );
    }
    assert!(help.contains("Exit status") && help.contains("127"), "{help}");
}
