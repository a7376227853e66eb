//! Every command that opens files below a data directory, on directories with links and FIFOs at
//! each place where it looks.

use std::fs;
use std::path::PathBuf;

use super::planted::{PlantedPlace, TALK, python_program};

/// Commands that work on a data directory, each with its arguments. `@calls` is a table of calls,
/// `@log` the log of the recording, and `@new` an unused path.
const COMMANDS: &[&[&str]] = &[
    &["info"],
    &["info", "--json"],
    &["info", "--processes"],
    &["report"],
    &["report", "--json"],
    &["report", "--html", "@new"],
    &["report", "--hosts"],
    &["reconcile"],
    &["analyze"],
    &["requests"],
    &["contexts"],
    &["names"],
    &["names", "--all-users"],
    &["export", "messages"],
    &["export", "calls", "--format", "csv"],
    &["export", "otlp"],
    &["export", "perfetto"],
    &["export", "events", "--format", "csv"],
    &["score"],
    &["skew", "--to", "@new", "--clock", "web1:+1s"],
    &["drop", "--to", "@new", "--rate", "1"],
    &["import", "project5", "@calls"],
    &["import", "strace", "@strace", "--host", "web1"],
    &["diff", "--at", "1"],
];

/// Places of files below a data directory: those that stages write and read, and their temporary
/// files.
const FILES: &[&str] = &[
    "messages.parquet",
    "nodes.parquet",
    "clocks.json",
    "reconciliation.json",
    "links.parquet",
    "paths.parquet",
    "patterns.parquet",
    "requests.parquet",
    "steps.parquet",
    "analysis.json",
    "charged.json",
    "contexts.json",
    "causes.parquet",
    "operations.parquet",
    "words.parquet",
    "handoffs.parquet",
    "report.html",
    "aliases",
    "sockcap.toml",
    ".recordings",
    ".requests.plain",
    ".steps.plain",
    "messages.parquet.unfinished",
    "nodes.parquet.unfinished",
    "links.parquet.unfinished",
    "analysis.json.unfinished",
    "reconciliation.json.unfinished",
    "clocks.json.unfinished",
    "patterns.parquet.unfinished",
    "paths.parquet.unfinished",
    "requests.parquet.unfinished",
    "steps.parquet.unfinished",
    "events/sockcap.parquet",
    "imports/x/messages.parquet",
    "imports/x/nodes.parquet",
    "spans/requests.parquet",
    "hosts/web1/9-9.sclog",
    "hosts/web1/9-9.spare",
    "hosts/web1/9-9.switches",
    "hosts/web1/clock-hints.csv",
    "hosts/web1/sender",
    "hosts/web1/packets-web1.json",
    "hosts/other",
    "hosts/other.sclog",
];

fn run_all(place: &PlantedPlace, planted: &str) {
    let calls = place.file_path("calls.csv");
    fs::write(&calls, "time,from,to,type,id\n1,a,b,call,1\n2,b,a,return,1\n").unwrap();
    let strace = place.file_path("trace.strace");
    fs::write(&strace, "7 1700000000.000000 socket(AF_INET, SOCK_STREAM, 0) = 3<TCP:[1]>\n")
        .unwrap();
    let log = place.log_path();
    let before = place.elsewhere_state();
    for (number, command) in COMMANDS.iter().enumerate() {
        let new: PathBuf = place.file_path(&format!("new-{number}"));
        let arguments: Vec<&str> = command
            .iter()
            .map(|argument| match *argument {
                "@calls" => calls.to_str().unwrap(),
                "@strace" => strace.to_str().unwrap(),
                "@log" => log.to_str().unwrap(),
                "@new" => new.to_str().unwrap(),
                argument => argument,
            })
            .collect();
        // It need not succeed, but it must end, and write only in permitted places.
        let output = place.run_to_end(&arguments);
        assert!(output.status.code().is_some(), "{planted}: {command:?}: {output:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!error.contains("panicked"), "{planted}: {command:?}: {error}");
        let said = format!("{}{error}", String::from_utf8_lossy(&output.stdout));
        assert!(!said.contains("nobody but root"), "{planted}: {command:?}: {said}");
        assert_eq!(place.elsewhere_state(), before, "{planted}: {command:?}: {said}");
    }
}

#[test]
fn links_in_place_of_files_are_not_followed() {
    let place = PlantedPlace::record_talker();
    for file in FILES {
        place.plant_link(file, &place.elsewhere_dir().join("secret"));
    }
    run_all(&place, "links to a file");
}

#[test]
fn dangling_links_create_nothing_at_their_targets() {
    let place = PlantedPlace::record_talker();
    for file in FILES {
        place.plant_link(file, &place.elsewhere_dir().join("made"));
    }
    run_all(&place, "links to nothing");
}

#[test]
fn fifos_in_place_of_files_do_not_block() {
    let place = PlantedPlace::record_talker();
    for file in FILES {
        place.plant_fifo(file);
    }
    run_all(&place, "FIFOs");
}

#[test]
fn links_in_place_of_directories_are_not_followed() {
    for directory in ["events", "imports", "spans", "hosts/web2"] {
        let place = PlantedPlace::record_talker();
        place.plant_link(directory, &place.elsewhere_dir());
        run_all(&place, directory);
    }
    let place = PlantedPlace::record_talker();
    let elsewhere = place.elsewhere_dir();
    fs::rename(place.data_dir().join("hosts"), elsewhere.join("hosts")).unwrap();
    let before = place.elsewhere_state();
    place.plant_link("hosts", &elsewhere.join("hosts"));
    for command in [&["info"][..], &["report"], &["names"], &["reconcile"]] {
        let output = place.run_to_end(command);
        assert!(!output.status.success(), "{command:?}: {output:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("symbolic link"), "{command:?}: {error}");
    }
    // The recording is lost, and the program runs.
    let output =
        place.run_to_end(&["record", "--host", "web1", "--", &python_program(), "-c", TALK]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(place.elsewhere_state(), before);
}

#[test]
fn a_recording_ends_despite_fifos_and_links() {
    let place = PlantedPlace::record_talker();
    place.plant_fifo("hosts/web1/9-9.sclog");
    place.plant_fifo("hosts/web1/9-9.spare");
    place.plant_fifo("hosts/fifo");
    place.plant_link("hosts/web1/8-8.sclog", &place.elsewhere_dir().join("secret"));
    let before = place.elsewhere_state();
    let record = ["record", "--host", "web1", "--", &python_program(), "-c", TALK];
    let output = place.run_to_end(&record);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.contains("1 process"), "{error}");
    assert!(error.contains("not read") && error.contains("FIFO"), "{error}");
    // All of the recording is still there.
    let output = place.run_to_end(&["report"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(place.elsewhere_state(), before);
}
