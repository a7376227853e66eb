//! `sockcap synth`, `skew` and `drop`: traces with known ground truth go through the whole chain.

use std::fs;

use end_to_end::command::{assert_succeeds, run_sockcap};

/// The value of a measure of `sockcap score --json`.
fn score_measure(score: &str, name: &str) -> f64 {
    let (_, rest) = score.split_once(&format!("\"{name}\": ")).unwrap();
    rest.split([',', '\n']).next().unwrap().trim().parse().unwrap()
}

#[test]
fn a_synthetic_trace_goes_through_the_whole_chain() {
    for name in
        ["multi-tier", "multi-tier-added-delay", "children-0-2", "children-d-cc", "penalty-breaker"]
    {
        let directory = tempfile::tempdir().unwrap();
        let output = run_sockcap(
            &["synth", name, "--instances", "20", "--truth", "truth.csv"],
            directory.path(),
        );
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && line.contains("the truth about calls in truth.csv"),
            "{line}"
        );
        let score = assert_succeeds(&["score", "--truth", "truth.csv", "--json"], directory.path());
        for none in ["calls_without_truth", "truth_without_calls", "adopted", "roots_with_a_parent"]
        {
            assert_eq!(score_measure(&score, none), 0.0, "{name}: {none}: {score}");
        }
        // The exact quality of the default algorithm on these hard cases is not tested here, but
        // the result must be plausible.
        assert!(score_measure(&score, "link_accuracy") > 0.2, "{name}: {score}");
        let calls = score_measure(&score, "calls") as usize;
        let messages = assert_succeeds(&["export", "messages"], directory.path());
        assert_eq!(messages.lines().count() - 1, 2 * calls, "{name}");
    }
}

#[test]
fn calls_are_nested_by_the_algorithm_of_that_name() {
    let directory = tempfile::tempdir().unwrap();
    let synth =
        ["synth", "multi-tier", "--instances", "40", "--parallel", "1", "--truth", "truth.csv"];
    assert_succeeds(&synth, directory.path());
    let options = [
        "--smoothing",
        "1",
        "--penalties",
        "2,0,0",
        "--skew-window",
        "1ms",
        "--scoreboard-window",
        "10m",
    ];
    for options in [&options[..0], &options] {
        let analyze = [&["analyze", "--algorithm", "nesting"], options].concat();
        let output = run_sockcap(&analyze, directory.path());
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && line.contains("by nesting"), "{line}");
        let score = assert_succeeds(&["score", "--truth", "truth.csv", "--json"], directory.path());
        assert!(score_measure(&score, "link_accuracy") > 0.7, "{score}");
    }
    let summary = fs::read_to_string(directory.path().join("sockcap.data/analysis.json")).unwrap();
    assert!(summary.contains("\"skew_window\": 1000000"), "{summary}");
    assert!(summary.contains("\"smoothing\": 1.0"), "{summary}");
    assert!(summary.contains("\"scoreboard_window\": 600000000000"), "{summary}");
    let help = assert_succeeds(&["help", "analyze"], directory.path());
    assert!(help.contains("--algorithm nesting") && help.contains("--skew-window"), "{help}");
    let output = run_sockcap(&["analyze", "--algorithm", "nested"], directory.path());
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && line.contains("auto, linking, nesting"), "{line}");
}

/// Project 5, section 7.2 and Figure 13: the convolution algorithm finds the paths of the
/// multi-tier system, and the node that takes 200 ms longer. Quanta are as in Table 1.
#[test]
fn convolution_finds_the_paths_of_the_multi_tier_system_and_the_slow_node() {
    for (name, usual) in [("multi-tier", 40.0..60.0), ("multi-tier-added-delay", 235.0..265.0)] {
        let directory = tempfile::tempdir().unwrap();
        assert_succeeds(&["synth", name, "--truth", "truth.csv"], directory.path());
        assert_succeeds(&["reconcile"], directory.path());
        assert_succeeds(
            &["analyze", "--algorithm", "convolution", "--time-step", "10ms"],
            directory.path(),
        );
        let patterns =
            assert_succeeds(&["export", "patterns", "--format", "csv"], directory.path());
        let mut lines = patterns.lines().map(|line| line.split(',').collect::<Vec<&str>>());
        let titles = lines.next().unwrap();
        let column = |name: &str| titles.iter().position(|title| *title == name).unwrap();
        let [pattern, src, dst, node, count] =
            ["pattern", "src", "dst", "node_mean", "count"].map(column);
        let rows: Vec<Vec<&str>> = lines.collect();
        let paths: Vec<Vec<String>> = rows
            .chunk_by(|one, other| one[pattern] == other[pattern])
            .map(|hops| hops.iter().map(|hop| format!("{}>{}", hop[src], hop[dst])).collect())
            .collect();
        for path in [
            &["CLIENT>WS1", "WS1>CLIENT"][..],
            &["CLIENT>WS2", "WS2>AP1", "AP1>DB1", "DB1>AP1", "AP1>WS2", "WS2>CLIENT"],
            &["CLIENT>WS1", "WS1>AP2", "AP2>DB2", "DB2>AP2", "AP2>WS1", "WS1>CLIENT"],
        ] {
            assert!(paths.iter().any(|hops| hops == path), "{name}: {path:?}");
        }
        // After the call to AUTH: the time that WS2 takes before it calls an application server.
        let (mut sum, mut weight) = (0.0, 0.0);
        for hops in rows.windows(2) {
            if hops[0][pattern] == hops[1][pattern]
                && hops[0][src] == "AUTH"
                && hops[1][src] == "WS2"
                && hops[1][dst].starts_with("AP")
            {
                let seen: f64 = hops[1][count].parse().unwrap();
                sum += seen * hops[1][node].parse::<f64>().unwrap() / 1e6;
                weight += seen;
            }
        }
        assert!(usual.contains(&(sum / weight)), "{name}: {} ms in {weight}", sum / weight);
        let score = assert_succeeds(&["score", "--truth", "truth.csv", "--json"], directory.path());
        // Message linking finds 0.62 of the links and 0.11 of the traces.
        assert!(score_measure(&score, "link_accuracy") > 0.75, "{name}: {score}");
        assert!(score_measure(&score, "trace_accuracy") > 0.4, "{name}: {score}");
    }
}

/// One request after the other, often at equal times: nothing is random, and no message takes any
/// time.
const SERIES: &str = r#"
call_ids = false
[[tracelet]]
name = "series"
parallel = 3
instances = 4
think = "1s"
messages = [
    { from = "c", to = "a", name = "a" },
    { from = "a", to = "b", name = "b", delay = "10ms" },
    { returns = "b" },
    { returns = "a" },
]
"#;

#[test]
fn a_truth_about_messages_has_the_numbers_of_the_trace() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("series.toml"), SERIES).unwrap();
    assert_succeeds(&["synth", "series.toml", "--truth", "truth.csv"], directory.path());
    let messages = assert_succeeds(&["export", "messages"], directory.path());
    let rows: Vec<Vec<&str>> =
        messages.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let truth = fs::read_to_string(directory.path().join("truth.csv")).unwrap();
    let truth: Vec<(usize, Option<usize>)> = truth
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').unwrap())
        .map(|(child, parent)| (child.parse().unwrap(), parent.parse().ok()))
        .collect();
    assert_eq!((rows.len(), truth.len()), (48, 48));
    assert_eq!(truth.iter().filter(|(_, parent)| parent.is_none()).count(), 12);
    for (child, parent) in truth {
        let Some(parent) = parent else { continue };
        // Columns 7 and 8 are the sender and the receiver; 5 and 6 their times.
        assert_eq!(rows[parent][8], rows[child][7], "{parent} -> {child}");
        assert!(rows[parent][6].parse::<i64>().unwrap() <= rows[child][5].parse::<i64>().unwrap());
    }
    // The directory must be empty.
    fs::write(directory.path().join("other.toml"), SERIES).unwrap();
    let output = run_sockcap(&["synth", "other.toml", "--truth", "other.csv"], directory.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("other contents already"));
}

#[test]
fn dropped_messages_are_missing_and_the_truth_is_adapted() {
    let directory = tempfile::tempdir().unwrap();
    let calls =
        ["synth", "children-0-2", "--instances", "50", "--truth", "calls.csv", "-d", "calls"];
    assert_succeeds(&calls, directory.path());
    let dropped = ["drop", "-d", "calls", "--rate", "20", "--queue", "5", "--to", "lossy"];
    let output = run_sockcap(&dropped, directory.path());
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && line.contains("messages dropped ("), "{line}");
    let rows = |data: &str| {
        assert_succeeds(&["export", "messages", "-d", data], directory.path()).lines().count()
    };
    assert!(rows("lossy") < rows("calls"));
    let score = assert_succeeds(
        &["score", "--truth", "calls.csv", "-d", "lossy", "--json"],
        directory.path(),
    );
    assert!(
        score_measure(&score, "links") > 0.0 && score_measure(&score, "calls_without_truth") == 0.0,
        "{score}"
    );
    assert!(
        score_measure(&score, "trace_recall") < score_measure(&score, "trace_accuracy"),
        "{score}"
    );
    // In a truth by messages, the numbers differ.
    fs::write(directory.path().join("series.toml"), SERIES).unwrap();
    assert_succeeds(
        &["synth", "series.toml", "--truth", "series.csv", "-d", "series"],
        directory.path(),
    );
    let mut arguments = vec!["drop", "-d", "series", "--rate", "1", "--queue", "3", "--to", "less"];
    arguments.extend(["--truth", "series.csv", "--truth-to", "less.csv"]);
    assert_succeeds(&arguments, directory.path());
    let truth = fs::read_to_string(directory.path().join("less.csv")).unwrap();
    assert_eq!(truth.lines().count(), rows("less"));
    let score = assert_succeeds(
        &["score", "--truth", "less.csv", "-d", "less", "--json"],
        directory.path(),
    );
    assert_eq!(score_measure(&score, "truth_without_calls"), 0.0);
    let onto =
        run_sockcap(&["drop", "-d", "less", "--rate", "1", "--to", "./less"], directory.path());
    assert_eq!(onto.status.code(), Some(1));
}

#[test]
fn skew_is_added_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let network = SERIES.replace("call_ids = false", "network = \"1ms\"");
    fs::write(directory.path().join("series.toml"), network).unwrap();
    assert_succeeds(
        &["synth", "series.toml", "--truth", "truth.csv", "-d", "plain"],
        directory.path(),
    );
    let times = |data: &str| {
        let messages = assert_succeeds(&["export", "messages", "-d", data], directory.path());
        let mut rows: Vec<String> = messages
            .lines()
            .skip(1)
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                [cells[18], cells[14], cells[1], cells[3], cells[5], cells[6]].join(" ")
            })
            .collect();
        rows.sort_unstable();
        rows
    };
    let skew = |from: &str, to: &str, more: &[&str]| {
        let arguments = ["skew", "-d", from, "--to", to, "--host", "a=20ms,100", "--at", "0"];
        assert_succeeds(&[&arguments, more].concat(), directory.path());
    };
    skew("plain", "wrong", &["--uncorrected"]);
    assert_ne!(times("wrong"), times("plain"));
    skew("wrong", "back", &["--uncorrected", "--remove"]);
    assert_eq!(times("back"), times("plain"));
    // Without --uncorrected the clocks are estimated again: the links are as accurate as before.
    skew("plain", "own", &[]);
    let right = |data: &str| {
        let score = assert_succeeds(
            &["score", "--truth", "truth.csv", "-d", data, "--json"],
            directory.path(),
        );
        score_measure(&score, "link_accuracy")
    };
    assert_eq!(right("own"), right("plain"));
    let output =
        run_sockcap(&["skew", "-d", "plain", "--to", "x", "--host", "z=1s"], directory.path());
    assert!(String::from_utf8(output.stderr).unwrap().contains("no host 'z'"));
}

#[test]
fn a_wrong_configuration_is_reported_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let fails = |text: &str, words: &str| {
        fs::write(directory.path().join("x.toml"), text).unwrap();
        let output = run_sockcap(&["synth", "x.toml"], directory.path());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("x.toml") && error.contains(words), "'{words}': {error}");
    };
    fails("seeds = 1", "seeds");
    fails(&SERIES.replace("\"10ms\"", "\"soon\""), "soon");
    fails(
        &SERIES.replace("from = \"a\", to = \"b\"", "from = \"x\", to = \"b\""),
        "tracelet 'series', message 2",
    );
    let output = run_sockcap(&["synth", "no-such"], directory.path());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("no-such") && error.contains("multi-tier"), "{error}");
}

#[test]
fn options_of_the_algorithms_are_kept_with_the_result() {
    let directory = tempfile::tempdir().unwrap();
    assert_succeeds(&["synth", "children-0-2", "--instances", "5"], directory.path());
    let said = [
        ("--penalties", "1,3,5", "\"penalties\": [1.0,3.0,5.0]"),
        ("--skew-window", "0", "\"skew_window\": 0"),
        ("--iterations", "3", "\"iterations\": 3"),
        ("--time-step", "7ms", "\"time_step\": 7000000"),
        ("--spike", "5", "\"spike\": 5.0"),
        ("--between-spikes", "2", "\"between_spikes\": 2.0"),
        ("--variation", "9ms", "\"variation\": 9000000"),
        ("--least-messages", "11", "\"least_messages\": 11"),
        ("--least-share", "0.25", "\"least_share\": 0.25"),
        ("--without", "turns,order", "\"without\": [\"turns\",\"order\"]"),
    ];
    let arguments: Vec<&str> = said.iter().flat_map(|(flag, value, _)| [*flag, value]).collect();
    assert_succeeds(&[&["analyze"][..], &arguments].concat(), directory.path());
    let summary = fs::read_to_string(directory.path().join("sockcap.data/analysis.json")).unwrap();
    // Lists are wrapped over several lines.
    let summary = summary.replace(['\n', ' '], "");
    for (flag, _, kept) in said {
        assert!(summary.contains(&kept.replace(' ', "")), "{flag}: {summary}");
    }
}
