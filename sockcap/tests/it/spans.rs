//! Spans of tracers, shown like recordings: a file of OpenTelemetry is imported, and all commands
//! that show paths show its requests.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

/// Number of requests. In each, the web server is called, calls the cart through a client's span,
/// and works itself.
const REQUESTS: u64 = 20;

fn run_sockcap(arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sockcap"))
        .args(arguments)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Standard output of a command that must succeed.
fn standard_output(arguments: &[&str], directory: &Path) -> String {
    let output = run_sockcap(arguments, directory);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a command that must fail with this status.
fn refusal_text(arguments: &[&str], status: i32, directory: &Path) -> String {
    let output = run_sockcap(arguments, directory);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The spans, as OpenTelemetry's collector writes them.
fn otlp_spans() -> String {
    let service = |name: &str| {
        json!({ "attributes": [
            { "key": "service.name", "value": { "stringValue": name } },
            { "key": "host.name", "value": { "stringValue": format!("{name}-host") } },
        ] })
    };
    let mut lines = String::new();
    for request in 1..=REQUESTS {
        let at = 1_700_000_000_000_000_000 + request * 100_000_000;
        let span = |id: u64, parent: u64, name: &str, kind: u64, from: u64, to: u64| {
            let mut span = json!({
                "traceId": format!("{request:032x}"),
                "spanId": format!("{id:016x}"),
                "name": name,
                "kind": kind,
                "startTimeUnixNano": (at + from * 1_000_000).to_string(),
                "endTimeUnixNano": (at + to * 1_000_000).to_string(),
            });
            if parent > 0 {
                span["parentSpanId"] = json!(format!("{parent:016x}"));
            }
            span
        };
        let web = [
            span(1, 0, "GET /cart", 2, 0, 50),
            span(2, 1, "GetCart", 3, 10, 30),
            span(4, 1, "render", 1, 35, 45),
        ];
        let cart = [span(3, 2, "GetCart", 2, 12, 28)];
        let resources = json!([
            { "resource": service("web"), "scopeSpans": [{ "spans": web }] },
            { "resource": service("cart"), "scopeSpans": [{ "spans": cart }] },
        ]);
        lines += &format!("{}\n", json!({ "resourceSpans": resources }));
    }
    lines
}

/// A directory with the spans imported into `data`.
fn imported_spans() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("traces.jsonl"), otlp_spans()).unwrap();
    standard_output(&["import", "otlp", "traces.jsonl", "-d", "data"], directory.path());
    directory
}

#[test]
fn a_report_of_spans_is_one_like_any_other() {
    let directory = imported_spans();
    let directory = directory.path();
    let report = standard_output(&["report", "-d", "data"], directory);
    let expected = [
        "data  60 steps of 20 requests  2 hosts  over 1.95s",
        "1 path pattern  20 instances  20.0 expected to be real",
        "CLIENT → web GET /cart",
        "web → cart GetCart",
        "cart → web",
        "web → web render",
        "web → ◇CLIENT",
    ];
    for line in expected {
        assert!(report.contains(line), "{line:?} is not in\n{report}");
    }
    assert!(report.contains("10.0ms") && report.contains("16.0ms"), "{report}");
    // The tables are as new as the import, and are not made again.
    let written = || fs::metadata(directory.join("data/spans/paths.parquet")).unwrap().modified();
    let first = written().unwrap();
    assert_eq!(standard_output(&["report", "-d", "data"], directory), report);
    assert_eq!(written().unwrap(), first);
    // Another grain makes new paths from the same messages.
    let hosts = standard_output(&["report", "-d", "data", "--node", "host"], directory);
    assert!(hosts.contains("web-host → cart-host GetCart"), "{hosts}");
    let page = fs::read_to_string(directory.join("data/report.html")).unwrap();
    assert!(page.len() > 10_000);
}

#[test]
fn exports_of_spans_have_their_operations() {
    let directory = imported_spans();
    let directory = directory.path();
    let export = |what: &str| standard_output(&["export", what, "-d", "data"], directory);
    assert!(export("folded").contains("web GET /cart;cart GetCart"));
    assert!(export("mermaid").contains("GetCart"));
    assert!(export("dot").contains("GetCart"));
    for what in ["otlp", "perfetto", "chrome"] {
        let output = run_sockcap(&["export", what, "-d", "data"], directory);
        assert!(output.status.success());
        assert!(output.stdout.windows(7).any(|bytes| bytes == b"GetCart"), "{what}");
    }
    let steps = export("steps");
    assert_eq!(steps.lines().count() as u64, 1 + 3 * REQUESTS);
    let row = steps.lines().nth(2).unwrap();
    assert!(row.starts_with("0,1,0,1,0,cart,cart-host,GetCart,"), "{row}");
    assert_eq!(export("requests").lines().count() as u64, 1 + REQUESTS);
}

#[test]
fn requests_of_paths_are_made_of_the_analysis() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    standard_output(&["synth", "multi-tier", "--instances", "5"], directory);
    let requests = standard_output(&["export", "requests"], directory);
    let paths = standard_output(&["export", "paths"], directory);
    let roots = paths.lines().skip(1).filter(|line| line.split(',').nth(3) == Some("0")).count();
    assert_eq!(requests.lines().count(), 1 + roots);
    let written = || fs::metadata(directory.join("sockcap.data/steps.parquet")).unwrap().modified();
    let first = written().unwrap();
    standard_output(&["export", "steps"], directory);
    assert_eq!(written().unwrap(), first, "they are made once");
    standard_output(&["analyze", "--node", "host"], directory);
    standard_output(&["export", "steps"], directory);
    assert_ne!(written().unwrap(), first, "and again of another analysis");
}

/// The spans of `otlp()` in a second file, a day later and with another operation.
fn more_spans() -> String {
    otlp_spans().replace("\"17000", "\"17001").replace("render", "sort")
}

/// The output of `sockcap contexts` for `data`, as JSON.
fn contexts_json(directory: &Path) -> serde_json::Value {
    serde_json::from_str(&standard_output(&["contexts", "-d", "data", "--json"], directory))
        .unwrap()
}

#[test]
fn contexts_of_spans_need_no_messages() {
    let directory = imported_spans();
    let directory = directory.path();
    let spans = directory.join("data/spans");
    let totals = |profile: &serde_json::Value| {
        ["requests", "steps", "operations"].map(|name| profile["totals"][name].as_u64().unwrap())
    };
    assert_eq!(totals(&contexts_json(directory)), [20, 60, 3]);
    assert!(spans.join("steps.parquet").exists() && !spans.join("messages.parquet").exists());
    // Report makes the missing tables, whatever exists already.
    let report = || standard_output(&["report", "-d", "data"], directory);
    assert!(report().contains("60 steps of 20 requests"));
    assert_eq!(totals(&contexts_json(directory)), [20, 60, 3]);

    // A new import appears in both, contexts first.
    fs::write(directory.join("more.jsonl"), more_spans()).unwrap();
    standard_output(&["import", "otlp", "more.jsonl", "-d", "data"], directory);
    assert_eq!(totals(&contexts_json(directory)), [40, 120, 4]);
    let both = report();
    assert!(both.contains("120 steps of 40 requests") && both.contains("web → web sort"), "{both}");
    let written = || fs::metadata(spans.join("steps.parquet")).unwrap().modified().unwrap();
    let first = written();
    assert_eq!(totals(&contexts_json(directory)), [40, 120, 4]);
    assert_eq!(written(), first, "they are put together once");

    // And without it again, report first.
    fs::remove_dir_all(spans.join("imports/more")).unwrap();
    let one = report();
    assert!(one.contains("60 steps of 20 requests") && !one.contains("web → web sort"), "{one}");
    assert_eq!(totals(&contexts_json(directory)), [20, 60, 3]);
}

#[test]
fn the_user_chooses_the_source_of_a_directory_with_both() {
    let directory = imported_spans();
    let directory = directory.path();
    standard_output(&["synth", "multi-tier", "--instances", "5", "-d", "data"], directory);
    let messages = standard_output(&["report", "-d", "data"], directory);
    assert!(messages.contains("400 messages"), "{messages}");
    assert!(messages.contains("messages are shown; --source spans shows the spans"), "{messages}");
    let spans = standard_output(&["report", "-d", "data", "--source", "spans"], directory);
    assert!(spans.contains("60 steps of 20 requests"), "{spans}");
    assert!(spans.contains("spans are shown; --source messages shows the messages"), "{spans}");
    let info = standard_output(&["info", "-d", "data"], directory);
    for line in
        ["messages are shown", "imported multi-tier: 400 messages", "spans traces: 60 steps"]
    {
        assert!(info.contains(line), "{line:?} is not in\n{info}");
    }
    let json = standard_output(&["info", "-d", "data", "--source", "spans", "--json"], directory);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["source"], &json["spans"]["imports"][0]["steps"]),
        (&json!("spans"), &json!(60))
    );
    let report =
        standard_output(&["report", "-d", "data", "--source", "spans", "--json"], directory);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["requests"], &report["steps"]), (&json!(20), &json!(60)));
    let exported = |source: &str| {
        standard_output(&["export", "patterns", "-d", "data", "--source", source], directory)
    };
    assert!(exported("spans").contains("GetCart") && !exported("messages").contains("GetCart"));
}

#[test]
fn missing_sources_and_inference_from_spans_are_refused() {
    let directory = imported_spans();
    let directory = directory.path();
    let said = refusal_text(&["report", "-d", "data", "--source", "messages"], 1, directory);
    assert!(said.contains("no messages here") && said.contains("--source spans"), "{said}");
    standard_output(&["synth", "multi-tier", "--instances", "5", "-d", "made"], directory);
    let said = refusal_text(&["report", "-d", "made", "--source", "spans"], 1, directory);
    assert!(said.contains("sockcap import otlp"), "{said}");
    for data in ["data", "data/spans"] {
        let said = refusal_text(&["analyze", "-d", data, "--algorithm", "nesting"], 1, directory);
        assert!(said.contains("nothing is inferred") && said.contains("--algorithm"), "{said}");
    }
    // A configuration file does not make a report fail, and a message mentions it.
    let output = run_sockcap(&["report", "-d", "data", "--algorithm", "nesting"], directory);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("--algorithm is for messages"), "{said}");
    let analyzed = run_sockcap(&["analyze", "-d", "data"], directory);
    let said = String::from_utf8(analyzed.stderr).unwrap();
    assert!(said.contains("1 path pattern in 20 instances (20.0 expected), by spans"), "{said}");
    // The directory of spans is a data directory itself.
    assert!(
        standard_output(&["report", "-d", "data/spans"], directory)
            .contains("60 steps of 20 requests")
    );
}

#[test]
fn the_users_names_apply_to_spans_too() {
    let directory = imported_spans();
    let directory = directory.path();
    fs::write(directory.join("data/aliases"), "command cart = basket\n").unwrap();
    let report = standard_output(&["report", "-d", "data"], directory);
    assert!(report.contains("web → basket GetCart"), "{report}");
}
