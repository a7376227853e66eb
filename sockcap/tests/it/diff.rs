//! `sockcap diff`: periods, the first lines of its output, conditions, and inputs that allow no
//! conclusion.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs sockcap in a directory.
fn run_sockcap(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sockcap"));
    command.args(arguments).current_dir(directory).env("XDG_CONFIG_HOME", directory);
    command.output().unwrap()
}

/// Spans of a shop: `cart` takes `ms` itself, and everything is at the node `name`.
fn shop_spans(requests: u64, ms: u64, name: &str) -> String {
    let mut csv = "trace,span,parent,service,operation,begin,end\n".to_owned();
    for number in 0..requests {
        let begin = 1_700_000_000_000_000_000 + number * 10_000_000;
        let takes = ms * 1_000_000 + number * number % 1_009 * 500;
        let end = begin + takes + 3_000_000;
        let (from, to) = (begin + 1_000_000, begin + 1_000_000 + takes);
        let _ = writeln!(csv, "{number},1,,{name},show,{begin},{end}");
        let _ = writeln!(csv, "{number},2,1,cart,get,{from},{to}");
    }
    csv
}

fn import_csv(directory: &Path, name: &str, csv: &str) {
    let file = directory.join(format!("{name}.csv"));
    fs::write(&file, csv).unwrap();
    let output = run_sockcap(directory, &["import", "spans", file.to_str().unwrap(), "-d", name]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Two directories: before, and after with a cart that takes 1 ms more.
fn import_shop() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    import_csv(directory.path(), "before", &shop_spans(300, 2, "shop"));
    import_csv(directory.path(), "after", &shop_spans(300, 3, "shop"));
    directory
}

fn output_text(output: &Output) -> (i32, String, String) {
    let [out, error] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output.status.code().unwrap(), out, error)
}

#[test]
fn the_answer_is_in_the_first_ten_lines() {
    let directory = import_shop();
    let (status, out, error) =
        output_text(&run_sockcap(directory.path(), &["diff", "before", "after"]));
    assert_eq!((status, error.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().take(10).collect();
    assert!(lines[0].starts_with("before: before, 300 requests in 2.99 s; after: after,"), "{out}");
    assert!(lines[1].starts_with("slower: mean 5.24 ms → 6.24 ms"), "{out}");
    assert!(lines[2].contains("mean +1.00 ms: +1.00 ms cart get itself"), "{out}");
    assert!(lines.contains(&"first suspect: cart (100% of the evidence)"), "{out}");
}

#[test]
fn conditions_have_an_exit_status_of_their_own() {
    let directory = import_shop();
    let with = |conditions: &[&str]| {
        let mut arguments = vec!["diff", "before", "after"];
        conditions.iter().for_each(|condition| arguments.extend(["--fail-if", condition]));
        output_text(&run_sockcap(directory.path(), &arguments))
    };
    let (status, _, error) = with(&["p95 > +10%", "mean > +5ms", "new-paths"]);
    assert_eq!(status, 3, "{error}");
    assert!(error.starts_with("sockcap: failed: p95 ") && error.lines().count() == 1, "{error}");
    let (status, _, error) = with(&["p95 > +30%", "new-paths"]);
    assert_eq!((status, error.as_str()), (0, ""));
    // A change below the user's threshold is not reported.
    let (status, out, _) = output_text(&run_sockcap(
        directory.path(),
        &["diff", "before", "after", "--min-time", "2ms"],
    ));
    assert!(status == 0 && !out.contains("first suspect"), "{out}");
    let (status, _, error) = with(&["p95 is bad"]);
    assert!(status == 2 && error.contains("'p95 > +10%'"), "{error}");
}

#[test]
fn one_directory_is_split_by_time() {
    let directory = import_shop();
    let with = |arguments: &[&str]| {
        let arguments = [&["diff", "-d", "before"], arguments].concat();
        output_text(&run_sockcap(directory.path(), &arguments))
    };
    let (status, out, _) = with(&["--at", "1.5"]);
    assert_eq!(status, 0);
    assert!(out.starts_with("before: before, 150 requests in 1.49 s; after: after, 150 "), "{out}");
    assert!(out.ends_with("chance explains all changes\n"), "{out}");
    let (_, out, _) = with(&["--before", "..1s", "--after", "2s.."]);
    assert!(out.starts_with("before: before, 100 requests in 990 ms; after: after, 100 "), "{out}");
    // The day is the day of the first request.
    let (_, out, error) = with(&["--at", "2023-11-14T22:13:21Z"]);
    assert!(out.starts_with("before: before, 100 requests"), "{out}{error}");
    for (wrong, word) in [
        (&["--at", "1h"][..], "no request begins in the period 'after'"),
        (&["--before", "..2s", "--after", "1s.."], "the periods overlap"),
        (&["--before", "1s"], "is not a period"),
        (&[], "name two data directories"),
    ] {
        let (status, _, error) = with(wrong);
        assert!(status == 2 && error.contains(word), "{wrong:?}: {error}");
    }
}

#[test]
fn reasons_for_doubt_are_printed_first() {
    let directory = import_shop();
    import_csv(directory.path(), "few", &shop_spans(12, 2, "shop"));
    import_csv(directory.path(), "renamed", &shop_spans(300, 2, "store"));
    let first = |after: &str| {
        let (status, out, error) =
            output_text(&run_sockcap(directory.path(), &["diff", "before", after]));
        assert_eq!(status, 0, "{error}");
        out.lines().nth(1).unwrap().to_owned()
    };
    assert!(first("few").starts_with("doubt: few has only 12 requests"), "{}", first("few"));
    let renamed = first("renamed");
    assert!(renamed.contains("if shop are now called store, give both one name"), "{renamed}");
    let (status, _, error) =
        output_text(&run_sockcap(directory.path(), &["diff", "before", "none"]));
    assert!(status == 1 && error.contains("none: no logs here and nothing imported"), "{error}");
}

#[test]
fn other_programs_read_the_output() {
    let directory = import_shop();
    let (status, dot, _) = output_text(&run_sockcap(
        directory.path(),
        &["diff", "before", "after", "--format", "dot"],
    ));
    assert!(status == 0 && dot.starts_with("digraph diff {") && dot.contains("color=red"), "{dot}");
    let arguments = ["diff", "before", "after", "--format", "chrome", "-o", "diff.trace"];
    assert!(run_sockcap(directory.path(), &arguments).status.success());
    let trace = fs::read(directory.path().join("diff.trace")).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap();
    let spans = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    let durations: Vec<(String, f64)> = spans
        .map(|event| (event["name"].to_string(), event["dur"].as_f64().unwrap().round()))
        .collect();
    // The mean request of each side, in microseconds.
    let expected = [("show", 5_252.0), ("get", 2_252.0), ("show", 6_252.0), ("get", 3_252.0)];
    for ((name, length), (expected, time)) in durations.iter().zip(expected) {
        assert!(name.contains(expected) && (length - time).abs() < 20.0, "{durations:?}");
    }
    assert_eq!(durations.len(), 4);
    let (_, json, _) =
        output_text(&run_sockcap(directory.path(), &["diff", "before", "after", "--json"]));
    let answer: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(answer["suspects"][0]["node"], "cart");
    assert_eq!(answer["mean"]["parts"][0]["kind"], "hop");
    // Each category with its variance: times are uniform over half a millisecond.
    let category = &answer["category_list"][0];
    assert_eq!((&category["counts"][0], &category["steps"]), (&300.0.into(), &2.into()));
    let deviation = category["variance"][0].as_f64().unwrap().sqrt();
    assert!((deviation - 0.5e6 / 12.0_f64.sqrt()).abs() < 2e4, "{deviation}");
    assert_eq!(answer["large"], serde_json::json!([[1, 1], [1, 1]]));
    let (_, out, _) =
        output_text(&run_sockcap(directory.path(), &["diff", "before", "after", "--categories"]));
    assert!(out.starts_with("1 category; before, 1 has 10 requests or more, and 1 of"), "{out}");
    assert!(out.contains("0.00  0.00  shop show with 2 steps"), "{out}");
}
