//! `sockcap report` for a part of the paths, for delays by node and by hop, and with output for a
//! pager; on one trace from `sockcap synth`. Every delay in it is known.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Every half second a client calls the web server, which takes 50 ms, calls the database, and
/// takes 10 ms to answer; the database takes 20 ms. Another client, a quarter of a second later,
/// requests something that the web server has cached: 5 ms. The network takes 1 ms.
const CONFIG: &str = r#"
network = "1ms"

[[tracelet]]
name = "long"
instances = 20
think = "418ms"
messages = [
    { from = "client", to = "web", name = "web", delay = "0ms" },
    { from = "web", to = "db", name = "db", delay = "50ms" },
    { returns = "db", delay = "20ms" },
    { returns = "web", delay = "10ms" },
]

[[tracelet]]
name = "short"
instances = 10
think = "700ms"
messages = [
    { from = "probe", to = "web", name = "web", delay = "0ms" },
    { returns = "web", delay = "5ms" },
]
"#;

fn run_with(environment: &[(&str, &str)], arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sockcap"))
        .args(arguments)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .envs(environment.iter().copied())
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Output of `sockcap report` with these arguments; it must succeed and print nothing else.
fn report_output(arguments: &[&str], directory: &Path) -> String {
    let output = run_with(&[], &[&["report"], arguments].concat(), directory);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A directory with the trace.
fn traced_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("config.toml"), CONFIG).unwrap();
    let made = run_with(&[], &["synth", "config.toml"], directory.path());
    assert!(made.status.success(), "{made:?}");
    directory
}

/// The numbers of all fields of this name in the JSON document.
fn numbers_of(json: &str, name: &str) -> Vec<f64> {
    let prefix = format!("\"{name}\": ");
    let values = json.lines().filter_map(|line| line.trim().strip_prefix(&prefix));
    values.filter_map(|value| value.trim_end_matches(',').parse().ok()).collect()
}

fn sum_of(json: &str, name: &str) -> f64 {
    numbers_of(json, name).iter().sum()
}

/// The first line that begins with this.
fn words_of_line<'text>(text: &'text str, start: &str) -> Vec<&'text str> {
    let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_default();
    line.split("  ").map(str::trim).filter(|item| !item.is_empty()).collect()
}

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-6 * one.abs().max(other.abs())
}

#[test]
fn two_halves_make_the_whole_trace_and_each_is_marked_as_a_part() {
    let directory = traced_directory();
    let path = directory.path();
    let whole = report_output(&["--json"], path);
    assert_eq!(numbers_of(&whole, "pattern_count"), [2.0]);
    assert!(whole.contains("\"filter\": null"), "{whole}");
    // Requests begin every half second and, from a quarter of a second on, every second: five in
    // this part.
    let middle = ["--from", "2", "--to", "3.5s"];
    let text = report_output(&middle, path);
    assert_eq!(
        words_of_line(&text, "only:"),
        ["only:", "from 2s", "to 3.5s", "of 30 instances in 2 patterns"]
    );
    assert!(text.contains("\n2 path patterns  5 instances  5.0 expected"), "{text}");
    assert!(text.ends_with("all paths: sockcap report\n"), "{text}");
    let exported = run_with(&[], &["export", "messages"], path).stdout;
    let exported = String::from_utf8(exported).unwrap();
    let mut rows = exported.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let column = rows.next().unwrap().iter().position(|name| *name == "send_ts").unwrap();
    let begin: i128 = rows.next().unwrap()[column].parse().unwrap();
    let moment = |after: i128| jiff::Timestamp::from_nanosecond(begin + after).unwrap().to_string();
    let by_day =
        report_output(&["--from", &moment(2_000_000_000), "--to", &moment(3_500_000_000)], path);
    assert_eq!(by_day, text);
    for border in ["0", "1", "2.5", "3.418s", "9999"] {
        let halves = [["--to", border, "--json"], ["--from", border, "--json"]]
            .map(|half| report_output(&half, path));
        for name in ["total_time", "count", "expected"] {
            let parts: f64 = halves.iter().map(|half| sum_of(half, name)).sum();
            assert!(is_close(parts, sum_of(&whole, name)), "{name} at {border}");
        }
        assert!(halves.iter().all(|half| half.contains("\"of_instances\": 30")), "{halves:?}");
    }
}

#[test]
fn patterns_are_chosen_by_node_number_and_confidence() {
    let directory = traced_directory();
    let path = directory.path();
    let counts = |arguments: &[&str]| {
        numbers_of(&report_output(&[arguments, &["--json"]].concat(), path), "count")
    };
    assert_eq!(counts(&[]), [20.0, 10.0]);
    assert_eq!(counts(&["--through", "db"]), [20.0]);
    assert_eq!(counts(&["--through", "we"]), [20.0, 10.0], "a part of the name will do");
    assert_eq!(counts(&["--through", "web", "--through", "db"]), [20.0]);
    assert_eq!(counts(&["--pattern", "1"]), [10.0]);
    assert_eq!(counts(&["--pattern", "1", "--pattern", "0"]), [20.0, 10.0]);
    assert_eq!(counts(&["--pattern", "1", "--through", "db"]), [0.0; 0]);
    assert_eq!(counts(&["--min-confidence", "0"]), [20.0, 10.0]);
    let text =
        report_output(&["--min-confidence", "0.5", "--pattern", "1", "--from", "9000"], path);
    assert!(
        text.contains("only:  pattern #1  from 9000s  confidence at least 0.5  of 30"),
        "{text}"
    );
    assert!(text.contains("No path matches the filter."), "{text}");
    // No page was requested yet, and a part of the paths makes none.
    let data = path.join("sockcap.data");
    fs::remove_file(data.join("report.html")).unwrap();
    report_output(&["--pattern", "0"], path);
    report_output(&["--hosts"], path);
    assert!(!data.join("report.html").exists());
    report_output(&[], path);
    assert!(data.join("report.html").exists());
    report_output(&["--node", "process"], path);
    assert!(
        fs::read_to_string(data.join("analysis.json")).unwrap().contains(r#""grain": "process""#)
    );
}

#[test]
fn nodes_and_hops_have_the_configured_delays() {
    let directory = traced_directory();
    let path = directory.path();
    let nodes = report_output(&["--hosts"], path);
    // 20 times 50 and 10 ms, 10 times 5 ms, of 20 paths of 84 ms and 10 of 7: 1250 of 1750 ms.
    assert_eq!(
        words_of_line(&nodes, "web"),
        ["web", "71.4%", "25.0ms", "10.0ms", "50.0ms", "50", "50.0"]
    );
    assert_eq!(
        words_of_line(&nodes, "db"),
        ["db", "22.9%", "20.0ms", "20.0ms", "20.0ms", "20", "20.0"]
    );
    assert_eq!(words_of_line(&nodes, "node latency of 2 nodes")[1], "in 30 path instances");
    let hops = report_output(&["--hops", "--sort", "count", "--limit", "3"], path);
    assert_eq!(
        words_of_line(&hops, "CLIENT → web"),
        ["CLIENT → web", "1.7%", "1.00ms", "1.00ms", "1.00ms", "30", "30.0", "100 B"]
    );
    assert!(hops.contains("\n1 hop not shown\n") && !hops.contains("db → web"), "{hops}");
    // For the short requests alone, as in Table 4 of the paper for one kind of path.
    let short = report_output(&["--hosts", "--pattern", "1"], path);
    assert_eq!(
        words_of_line(&short, "web"),
        ["web", "71.4%", "5.00ms", "5.00ms", "5.00ms", "10", "10.0"]
    );
    assert!(
        words_of_line(&short, "db").is_empty() && short.contains("only:  pattern #1"),
        "{short}"
    );
    let json = report_output(&["--hops", "--json", "--limit", "1"], path);
    assert_eq!(numbers_of(&json, "p99"), [1e6; 4], "JSON has all rows");
    let slowest = report_output(&["--hosts", "--sort", "mean", "--from", "0.3", "--to", "1"], path);
    assert!(
        slowest.contains("ranked by mean duration\nonly:  from 0.3s  to 1s  of 30"),
        "{slowest}"
    );
    assert!(slowest.find("\nweb  ") < slowest.find("\ndb  "), "{slowest}");
}

#[test]
fn wrong_values_are_refused_with_the_flag() {
    let directory = traced_directory();
    for (arguments, words) in [
        (&["--from", "soon"][..], &["--from", "200ms", "2026-11-22T15:04:05Z"][..]),
        (&["--to=-3"], &["--to", "12.5"]),
        (&["--from", "5", "--to", "2s"], &["--from must be before --to"]),
        (&["--min-confidence", "2"], &["--min-confidence", "from 0 to 1"]),
        (&["--pattern", "2"], &["--pattern 2", "from 0 to 1"]),
        (&["--pattern=-1"], &["--pattern"]),
        (&["--through", "redis"], &["--through redis", "CLIENT, db, web"]),
        (&["--through", ""], &["--through"]),
        (&["--hosts", "--hops"], &["--hosts", "--hops"]),
        (&["--html", "page.html", "--hosts"], &["--html", "--hosts"]),
        (&["--color", "sometimes"], &["--color", "always"]),
        (&["--node", "planet"], &["--node", "host"]),
    ] {
        let output = run_with(&[], &[&["report"], arguments].concat(), directory.path());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{arguments:?}: {said}"
        );
        assert!(words.iter().all(|word| said.contains(word)), "{arguments:?}: {said}");
    }
}

#[test]
fn a_pager_gets_colours_on_request_and_its_width() {
    let directory = traced_directory();
    let shown = |environment: &[(&str, &str)], arguments: &[&str]| {
        let output = run_with(environment, &[&["report"], arguments].concat(), directory.path());
        String::from_utf8(output.stdout).unwrap()
    };
    for table in [&[][..], &["--hosts"], &["--hops"]] {
        let plain = shown(&[], table);
        assert!(!plain.contains('\u{1b}'));
        assert_eq!(shown(&[], &[table, &["--color", "never"]].concat()), plain);
        // Output that `less -R` supports: colours, each ended on its own line, and nothing that
        // moves the cursor.
        let coloured = shown(&[], &[table, &["--color", "always"]].concat());
        assert!(coloured.contains("\u{1b}[1m"));
        for line in coloured.lines() {
            let codes: Vec<&str> = line
                .split('\u{1b}')
                .skip(1)
                .map(|rest| rest.split_inclusive('m').next().unwrap())
                .collect();
            assert!(
                codes.iter().all(|code| code.starts_with('[') && code.ends_with('m')),
                "{line:?}"
            );
            assert!(codes.last().is_none_or(|code| *code == "[0m"), "{line:?}");
        }
        let narrow = shown(&[("COLUMNS", "60")], table);
        let longest = |text: &str| {
            text.lines()
                .filter(|line| !line.contains("report"))
                .map(|line| line.chars().count())
                .max()
        };
        assert!(longest(&narrow) <= Some(60) && longest(&plain) > Some(60), "{narrow}");
        assert_eq!(shown(&[("COLUMNS", "wide")], table), plain);
    }
}
