//! What decided the causes of calls, in the last lines of `analyze` and the first lines of
//! `report`: on a made recording of a gateway that works for several requests at a time.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use socket_log::encode::{self, FlowOrigin, FlowRole};
use socket_log::layout::{goroutine, runtime};
use socket_log::write::{LogWriter, TCP, inet_address};

/// Number of requests that are open at a time.
const OPEN: u64 = 8;
/// Groups of such requests.
const GROUPS: u64 = 20;

const MS: u64 = 1_000_000;

/// A part of the work for a request.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    /// Its receipt, and its answer.
    Request,
    /// Its call, with the receipt of the response.
    Call,
}

/// The log of a gateway, which receives [`OPEN`] requests at a time, makes a call for each, and
/// answers all of them. `thread` returns the thread, or the context, that works for the request
/// with a number: that makes its call, or that receives and answers it.
fn log_of_gateway(thread: impl Fn(u64, Work) -> u32) -> LogWriter {
    let mut log = LogWriter::new("one", 20, "/usr/bin/gateway");
    let address = |text: String| inet_address(text.parse().unwrap());
    let [own, db] = ["10.0.0.1:80", "10.0.0.9:5432"].map(|end| address(end.to_owned()));
    for of in 0..OPEN {
        let [server, client] = [2 * of as u32 + 1, 2 * of as u32 + 2];
        log.flow(1, server, TCP, FlowOrigin::Accept, 100 + of);
        let peer = address(format!("10.0.0.2:{}", 40_000 + of));
        log.endpoints(1, server, FlowRole::Accept, &own, &peer, 0);
        log.flow(1, client, TCP, FlowOrigin::Socket, 200 + of);
        let local = address(format!("10.0.0.1:{}", 50_000 + of));
        log.endpoints(1, client, FlowRole::Connect, &local, &db, 0);
    }
    for group in 0..GROUPS {
        let begin = 20 * MS * (group + 1);
        // The calls are made, and the requests answered, in an order that times do not show.
        let place = |of: u64, salt: u64| (of * 3 + group * salt) % OPEN;
        let number = |of: u64| group * OPEN + of;
        for turn in 0..4 * OPEN {
            let step = turn / OPEN;
            let of = if step == 0 { turn } else { place(turn % OPEN, [0, 5, 7, 3][step as usize]) };
            let (server, client) = (2 * of as u32 + 1, 2 * of as u32 + 2);
            let at = begin + step * MS + turn;
            let work = if matches!(step, 1 | 2) { Work::Call } else { Work::Request };
            log.set_thread(thread(number(of), work));
            match step {
                0 => log.receive(at, server, 100),
                1 => log.send(at, client, 50),
                2 => log.receive(at, client, 200),
                _ => log.send(at, server, 400),
            };
        }
    }
    log
}

/// Notes in the log that the tasks of this runtime are not followed.
fn note_unfollowed(log: &mut LogWriter, name: &str, flags: u32) {
    let record = encode::unfollowed_runtime_record(2, name.as_bytes(), flags);
    log.set_thread(20).raw_record(2, record.as_slice());
}

fn run_sockcap(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sockcap"));
    command.args(arguments).current_dir(directory).env("COLUMNS", "400");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output
}

/// The last lines of `analyze`, the first lines of `report`, and the document of `report --json`,
/// of a recording with this log.
fn results(log: &LogWriter) -> [String; 3] {
    let directory = tempfile::tempdir().unwrap();
    log.write_file(directory.path().join("data/hosts/one/20-1.sclog")).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let run = |arguments: &[&str]| run_sockcap(directory.path(), arguments);
    let analyzed = text(run(&["analyze", "-d", "data"]).stderr);
    let report = text(run(&["report", "-d", "data"]).stdout);
    let first: Vec<&str> = report.lines().take_while(|line| !line.is_empty()).collect();
    let json = text(run(&["report", "--json", "-d", "data"]).stdout);
    [analyzed, first.join("\n"), json]
}

const ALL: u64 = OPEN * GROUPS;

/// One thread does all.
fn one_thread(_: u64, _: Work) -> u32 {
    20
}

/// A worker, which receives no request, makes the calls for two connections.
fn workers(request: u64, work: Work) -> u32 {
    if work == Work::Call { 30 + (request % OPEN) as u32 / 2 } else { 20 }
}

#[test]
fn a_report_names_runtimes_that_are_not_followed() {
    let mut log = log_of_gateway(one_thread);
    note_unfollowed(&mut log, "Python 3.99", 0);
    let [analyzed, first, json] = results(&log);
    let limit = "gateway: Python 3.99, tasks are not followed; calls at more than one request at \
                 a time are inferred";
    assert!(first.contains(&format!("\ninferred: {limit}")), "{first}");
    assert!(analyzed.contains(&format!("\nsockcap: {limit}\n")), "{analyzed}");
    let shares = format!("inferred 100% of {ALL} calls");
    assert!(analyzed.contains(&format!("\nsockcap: causes of calls by: {shares}\n")), "{analyzed}");
    assert!(first.contains(&format!("\ncauses of calls by:  inferred 100%  of {ALL} calls")));
    let json: Value = serde_json::from_str(&json).unwrap();
    let gateway = &json["evidence"]["services"][0];
    assert_eq!(gateway["service"], "gateway");
    assert_eq!(gateway["unfollowed"], serde_json::json!(["Python 3.99"]));
    assert_eq!(gateway["calls"]["inferred"], ALL);
    assert_eq!(json["evidence"]["limits"][0]["service"], "gateway");
}

#[test]
fn a_report_names_flags_that_would_have_helped() {
    let mut left_out = log_of_gateway(one_thread);
    note_unfollowed(&mut left_out, "Python 3.11", runtime::IS_LEFT_OUT);
    left_out.set_words_left_out();
    let [_, first, _] = results(&left_out);
    let tasks = "gateway: Python 3.11 (left out by --no-runtimes), tasks are not followed";
    assert!(first.contains(tasks) && first.contains("recorded with --no-words"), "{first}");
    let [_, first, _] = results(&log_of_gateway(workers));
    assert!(first.contains("record with --resources"), "{first}");
    let mut with_resources = log_of_gateway(workers);
    with_resources.set_resources();
    let [_, first, _] = results(&with_resources);
    assert!(!first.contains("--resources"), "they were recorded: {first}");
    // One thread: a flag would not help.
    let [_, first, _] = results(&log_of_gateway(one_thread));
    assert!(first.contains("inferred 100%") && !first.contains("--"), "{first}");
}

#[test]
fn calls_of_contexts_are_decided_by_tasks() {
    // Each request has a context of its own.
    let log = log_of_gateway(|request, _| goroutine::thread_id(1 + request));
    let [analyzed, first, json] = results(&log);
    assert!(
        first.contains(&format!("\ncauses of calls by:  tasks 100%  of {ALL} calls")),
        "{first}"
    );
    assert!(!first.contains("inferred:"), "{first}");
    assert!(analyzed.contains(&format!("tasks 100% of {ALL} calls")), "{analyzed}");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["evidence"]["calls"]["tasks"], ALL);
}
