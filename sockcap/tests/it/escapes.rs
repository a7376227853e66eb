//! Recorded or imported names cannot control a terminal or forge a line, in any command's output.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use message_trace::units::is_harmful;
use socket_log::write::LogWriter;

/// Sets the title of the window, clears the screen, rings, hides, forges a line, reverses the
/// reading direction, and does the same without an escape character.
const NASTY: &str =
    "\x1b]0;title\x07\x1b[2J\x1b[31m\x08\rnasty\nsockcap: FORGED\u{202e}\u{9b}31m\u{7f}";

fn run_sockcap(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sockcap"));
    command.args(arguments).current_dir(directory).env("XDG_CONFIG_HOME", directory);
    command.output().unwrap()
}

/// Runs a command, and checks that its output is printable.
fn run_printable(directory: &Path, arguments: &[&str]) -> String {
    let output = run_sockcap(directory, arguments);
    let mut all = String::new();
    for printed in [&output.stdout, &output.stderr] {
        let text = std::str::from_utf8(printed).expect("text");
        let harm = text.lines().find(|line| line.chars().any(|c| is_harmful(c) && c != '\t'));
        assert_eq!(harm, None, "{arguments:?}");
        let is_forged = |line: &str| line.starts_with("sockcap: FORGED") || line.starts_with("# F");
        let forged = text.lines().find(|line| is_forged(line));
        assert_eq!(forged, None, "{arguments:?}:\n{text}");
        all.push_str(text);
    }
    all
}

/// A data directory in which all names are nasty: of nodes, operations, attributes, programs,
/// arguments, files.
fn nasty_directory() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let quoted = format!("\"{NASTY}\"");
    let mut calls =
        "call_id,caller,callee,caller_host,t_call_send,t_call_recv,t_ret_send,t_ret_recv\n"
            .to_owned();
    let mut spans = "trace,span,parent,service,operation,host,begin,end,extra\n".to_owned();
    for number in 0..20_u64 {
        let begin = 1_000_000_000 * (number + 1);
        let [sent, received, answered, done] = [0, 1, 5, 6].map(|ms| begin + ms * 1_000_000);
        calls += &format!(
            "{number},{quoted},\"web{NASTY}\",{quoted},{sent},{received},{answered},{done}\n"
        );
        spans += &format!("{number},1,,{quoted},{quoted},{quoted},{sent},{done},{quoted}\n");
        spans += &format!("{number},2,1,\"web{NASTY}\",{quoted},,{received},{answered},x\n");
    }
    let name =
        |extension: &str| directory.path().join(format!("{NASTY}.{extension}").replace('/', "_"));
    fs::write(name("csv"), calls).unwrap();
    fs::write(name("spans.csv"), spans).unwrap();
    let mut log = LogWriter::new("web", 7, NASTY);
    log.set_arguments(&[NASTY, "\n# FORGED", NASTY]);
    let name = socket_log::write::unix_address("/run/\x1b[31mnasty\n# FORGED");
    log.endpoints_connected(1, 1, 3, [&name, &name], 9);
    log.send(2, 1, 10).receive(3, 1, 10).close(4, 1);
    let host = directory.path().join("data/hosts").join(NASTY);
    fs::create_dir_all(&host).unwrap();
    fs::write(host.join("7-1.sclog"), log.to_bytes()).unwrap();
    (directory, host.join("7-1.sclog"))
}

#[test]
fn no_name_controls_the_terminal() {
    let (directory, log) = nasty_directory();
    let path = directory.path();
    let run = |arguments: &[&str]| run_printable(path, arguments);
    let file = |extension: &str| format!("{NASTY}.{extension}").replace('/', "_");
    let shown = run(&["import", "calls", &file("csv"), "-d", "data"]);
    assert!(shown.contains("messages"), "{shown}");
    run(&["import", "spans", &file("spans.csv"), "-d", "data"]);
    run(&["dump", log.to_str().unwrap()]);
    for arguments in [
        &["info"][..],
        &["info", "--processes"],
        &["info", "--source", "spans"],
        &["reconcile"],
        &["analyze"],
        &["report"],
        &["report", "--source", "spans"],
        &["report", "--hosts"],
        &["report", "--hops"],
        &["report", "--color", "always", "--hosts", "--through", "no such node"],
        &["report", "--through", NASTY],
        &["report", "--node", NASTY],
        &["requests"],
        &["requests", "--source", "spans"],
        &["requests", "--source", "spans", "--request", "0"],
        &["contexts", "--source", "spans"],
        &["contexts", "--source", "spans", "--explain", NASTY],
        &["diff", "--source", "spans", "--at", "10"],
        &["diff", "--source", "spans", "--at", "10", "--categories"],
        &["score", "--truth", NASTY],
        &["ship", "--to", NASTY, "--plain"],
        &["export", "messages", "--aliases", NASTY],
        &["names"],
    ] {
        run(&[arguments, &["-d", "data"]].concat());
    }
    for arguments in [
        &["report", "-d", NASTY][..],
        &["dump", NASTY],
        &["import", "pcap", NASTY],
        &["import", "otlp", NASTY],
        &["keys", "show", NASTY],
        &["keys", "host", NASTY],
        &["synth", NASTY],
        &["view", "-d", NASTY],
        &[NASTY],
        &["report", NASTY],
    ] {
        run(arguments);
    }
}

#[test]
fn only_our_own_colours_are_printed() {
    let (directory, _) = nasty_directory();
    let path = directory.path();
    let file = format!("{NASTY}.csv").replace('/', "_");
    run_printable(path, &["import", "calls", &file, "-d", "data"]);
    let output = run_sockcap(path, &["report", "--color", "always", "-d", "data"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\x1b[1m") && text.contains("nasty"), "{text}");
    // The red in the names does not take effect: our own red is also bold.
    assert!(!text.contains("\x1b[31mnasty") && !text.contains("\x1b[2J"), "{text}");
    let styles = text.split('\x1b').skip(1).map(|rest| rest.split('m').next().unwrap_or(rest));
    let ours = ["[0", "[1", "[2", "[31", "[33", "[35"];
    for style in styles {
        assert!(ours.contains(&style), "{style:?}");
    }
}

#[test]
fn json_is_valid_whatever_the_names_are() {
    let (directory, _) = nasty_directory();
    let path = directory.path();
    run_printable(
        path,
        &["import", "spans", &format!("{NASTY}.spans.csv").replace('/', "_"), "-d", "data"],
    );
    for arguments in [
        &["info", "--json"][..],
        &["report", "--json", "--source", "spans"],
        &["requests", "--json", "--source", "spans"],
        &["contexts", "--json", "--source", "spans"],
        &["diff", "--json", "--source", "spans", "--at", "10"],
    ] {
        let output = run_sockcap(path, &[arguments, &["-d", "data"]].concat());
        let value: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {output:?}"));
        assert!(value.is_object(), "{arguments:?}");
    }
    // In JSON, names are unchanged and escaped by JSON's rules.
    let output = run_sockcap(path, &["report", "--json", "--source", "spans", "-d", "data"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\\u001b]0;title\\u0007"), "{text}");
}
