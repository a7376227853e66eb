//! `sockcap diff` names first what was changed in the demo's system, and nothing that was not
//! changed.
//!
//! The demo is run as a user runs it, by its script. The changes are written in
//! `tests/demo/servers`.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::PoisonError;

use end_to_end::command::assert_succeeds;
use end_to_end::{profile_name, repository};
use serde_json::Value;

use super::demo::ONE;

/// Records these systems, all at the same time, and returns the output of the script.
fn record_systems(servers: &str, changes: &[&str], data: &Path) -> String {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let output = Command::new(repository().join("scripts/demo"))
        .arg("diff")
        .arg(data)
        // As wide as the README.
        .env("COLUMNS", "100")
        .env("SOCKCAP_DEMO", servers)
        .env("SOCKCAP_PROFILE", profile_name())
        .env("SOCKCAP_DEMO_CHANGES", changes.join(" "))
        .output()
        .unwrap();
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert_eq!(stderr.matches(" 0 lost").count(), changes.len(), "{stderr}");
    stdout
}

fn run_diff(data: &Path, before: &str, after: &str) -> Value {
    serde_json::from_str(&assert_succeeds(&["diff", before, after, "--json"], data)).unwrap()
}

/// The README's sample of these results: the first one, and the suspects of the others.
fn sample_of(answers: &str) -> String {
    let answers = answers.trim().split("\n\n").enumerate();
    let sample = answers.map(|(place, answer)| {
        let (heading, below) = answer.split_once('\n').unwrap();
        let from = if place == 0 { 0 } else { below.find("first suspect: ").unwrap() };
        format!("{heading}\n{}\n", &below[from..])
    });
    sample.collect::<Vec<_>>().join("\n")
}

/// The sample in the README is the output, except for figures. `UPDATE_GOLDEN=1` rewrites it.
fn check_readme(printed: &str) {
    let path = repository().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let begin = "compares after each:\n\n```\n";
    let (above, rest) = readme.split_once(begin).unwrap();
    let (sample, below) = rest.split_once("```").unwrap();
    let answers = sample_of(printed.split_once("\nmore: ").unwrap().0);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, format!("{above}{begin}{answers}```{below}")).unwrap();
        return;
    }
    // The change, the first suspect, and the evidence against it, up to its figures.
    let key_lines = |text: &str| -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let is_first = |line: &str| line.starts_with("first suspect: ");
        let is_key_line = |place: usize| {
            lines[place].starts_with("## ")
                || is_first(lines[place])
                || place > 0 && is_first(lines[place - 1])
        };
        let before_figures = |line: &str| -> Vec<String> {
            let is_word = |word: &&str| !word.starts_with(|sign: char| sign.is_ascii_digit());
            let word = |word: &str| word.trim_start_matches('(').to_owned();
            line.split_whitespace().map(word).take_while(|word| is_word(&&**word)).collect()
        };
        let places = (0..lines.len()).filter(|place| is_key_line(*place));
        places.map(|place| before_figures(lines[place]).join(" ")).collect()
    };
    assert_eq!(key_lines(sample), key_lines(&answers), "README.md: UPDATE_GOLDEN=1 makes it anew");
}

/// A change of the demo, and the expected first suspect: the node and the kind of evidence.
type DemoChange<'c> = (&'c str, &'c str, &'c str);

/// Records the system, each of its changes and once more the system as it is.
fn check_changes(servers: &str, changes: [DemoChange<'_>; 4]) {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut all = vec!["none", "none.again"];
    all.extend(changes.map(|(change, ..)| change));
    let printed = record_systems(servers, &all, &data);
    for (change, node, what) in changes {
        let found = run_diff(&data, "none", change);
        assert_eq!(found["changed"], true, "{change}: {found:#}");
        let first = &found["suspects"][0];
        let named = [&first["node"], &first["evidence"][0]["what"]];
        assert_eq!(named, [node, what], "{change}: {:#}", found["suspects"]);
    }
    let named: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("first suspect: ")?.split(' ').next())
        .collect();
    assert_eq!(named, changes.map(|(_, node, _)| node), "{printed}");
    if servers == "debian" {
        check_readme(&printed);
    }
    // No difference is reported for the same system. One of twenty comparisons may be wrong, so a
    // second one is made in that case.
    if run_diff(&data, "none", "none.again")["changed"] == true {
        let data = directory.path().join("again");
        record_systems(servers, &["none.again", "none"], &data);
        let found = run_diff(&data, "none", "none.again");
        assert_eq!(found["changed"], false, "{found:#}");
    }
}

#[test]
fn each_change_of_debian_servers_is_named_first() {
    check_changes(
        "debian",
        [
            ("handler", "prices.py", "own"),
            ("cache", "shop.py", "calls"),
            ("link", "redis-server", "network"),
            ("twice", "shop.py", "calls"),
        ],
    );
}

#[test]
fn each_change_of_the_example_programs_is_named_first() {
    // The store and the prices are the same program.
    check_changes(
        "examples",
        [
            ("handler", "demo-store", "own"),
            ("cache", "demo-shop", "calls"),
            ("link", "demo-store", "network"),
            ("twice", "demo-shop", "calls"),
        ],
    );
}

/// This takes several minutes.
#[test]
#[ignore = "takes minutes: `scripts/test --all` runs it"]
fn at_most_one_in_twenty_comparisons_of_twenty_recordings_reports_a_change() {
    let directory = tempfile::tempdir().unwrap();
    let names: Vec<String> = (1..=20).map(|number| format!("none.{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    record_systems("debian", &names, directory.path());
    let consecutive = names.windows(2).map(|pair| (pair[0], pair[1]));
    let with_first = names[1..].iter().map(|name| (names[0], *name));
    for pairs in [consecutive.collect::<Vec<_>>(), with_first.collect()] {
        let is_changed =
            |pair: &&(&str, &str)| run_diff(directory.path(), pair.0, pair.1)["changed"] == true;
        let wrong: Vec<_> = pairs.iter().filter(is_changed).collect();
        assert!(wrong.len() * 20 <= pairs.len() + 1, "of {}: {wrong:?}", pairs.len());
    }
}
