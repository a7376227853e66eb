//! Spans of a small shop written by clients of Zipkin and Jaeger, imported as spans: each request
//! has its three steps, and the call between the services has both ends.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::capture::run_successfully;
use end_to_end::packages::{node_modules_with, python_with};
use end_to_end::repository;
use importers::{IMPORTERS, ImportSummary};
use message_trace::DataDir;
use request_flow::tables::{ColumnSelection, RequestTables};
use request_flow::{NameInterner, Request};
use serde_json::Value;

/// Number of requests of each client.
const REQUESTS: usize = 5;

/// Imports a file, and reads the requests.
fn import_requests(importer: &str, file: &Path) -> (ImportSummary, Vec<Request>, NameInterner) {
    let data = DataDir::new(file.with_extension("data"));
    let kind = registry::find_entry(IMPORTERS, importer).unwrap();
    let summary = (kind.make)(&kind.parse_flags(&[]).unwrap())
        .unwrap()
        .import_files(&[file.to_owned()], &data, &())
        .unwrap();
    assert_eq!(summary.skipped.total(), 0, "{:#?}", summary.skipped.first);
    let tables = DataDir::new(&summary.written[0]);
    let tables =
        RequestTables::open(tables.requests_path(), tables.steps_path(), ColumnSelection::ALL)
            .unwrap();
    let mut names = NameInterner::default();
    let requests = tables.read_all(&mut names).unwrap();
    (summary, requests, names)
}

/// The ids of traces that occur anywhere in a file, without leading zeros.
fn trace_ids(text: &str) -> BTreeSet<String> {
    let mut traces = BTreeSet::new();
    let mut open: Vec<Value> =
        serde_json::Deserializer::from_str(text).into_iter().map(Result::unwrap).collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Array(all) => open.extend(all),
            Value::Object(all) => {
                for key in ["traceId", "traceID"] {
                    let id = all.get(key).and_then(Value::as_str);
                    traces.extend(id.map(|id| id.trim_start_matches('0').to_owned()));
                }
                open.extend(all.into_iter().map(|(_, value)| value));
            }
            _ => {}
        }
    }
    traces
}

/// Asserts that the requests of a client are those of the shop, on these hosts.
fn is_the_shop(importer: &str, file: &Path, hosts: [&str; 2], has_failure: bool) {
    let (summary, requests, names) = import_requests(importer, file);
    assert_eq!((summary.read, summary.made), (4 * REQUESTS as u64, 3 * REQUESTS as u64));
    assert_eq!(requests.len(), REQUESTS);
    for request in &requests {
        let steps: Vec<_> = request
            .steps
            .iter()
            .map(|step| {
                let operation = names.name_of(step.operation).to_lowercase();
                (step.parent, names.name_of(step.node), names.name_of(step.host), operation)
            })
            .collect();
        let expected = [
            (None, "shop", hosts[0], "get /cart".to_owned()),
            (Some(0), "prices", hosts[1], "get /price".to_owned()),
            (Some(1), "prices", hosts[1], "look up".to_owned()),
        ];
        assert_eq!(steps, expected, "{}", file.display());
        let [root, call, look_up] = &request.steps[..] else { panic!("{request:?}") };
        let times = [
            root.begin,
            call.caller_begin,
            call.begin,
            look_up.begin,
            look_up.end,
            call.end,
            call.caller_end,
            root.end,
        ];
        assert!(times.iter().all(Option::is_some) && times.is_sorted(), "{times:?}");
        // Looking up takes two milliseconds. One is the resolution of the coarsest clock.
        assert!(look_up.response_time().unwrap() >= 1_000_000, "{look_up:?}");
    }
    let failed = requests.iter().filter(|request| request.has_failed()).count();
    assert_eq!(failed, usize::from(has_failure), "{}", file.display());
    let ids: BTreeSet<String> =
        requests.iter().map(|request| request.trace.trim_start_matches('0').to_owned()).collect();
    assert_eq!(ids, trace_ids(&fs::read_to_string(file).unwrap()), "{}", file.display());
}

/// The values of a parameter of a step, over all requests.
fn parameter_values(importer: &str, file: &Path, step: usize, name: &str) -> BTreeSet<String> {
    let (_, requests, mut names) = import_requests(importer, file);
    let name = names.intern(name);
    let value = |request: &Request| request.parameter_value(step, name).map(str::to_owned);
    requests.iter().filter_map(value).collect()
}

#[test]
fn clients_of_zipkin_in_python() {
    let folder = tempfile::tempdir().unwrap();
    let python = python_with(&[
        "py-zipkin==1.2.8",
        "opentelemetry-sdk==1.45.2",
        "opentelemetry-exporter-zipkin-json==1.45.1",
    ]);
    let script = repository().join("tests/programs/zipkin_clients.py");
    run_successfully(Command::new(python).arg(script).arg(folder.path()).arg(REQUESTS.to_string()));
    let of_zipkin = folder.path().join("py_zipkin.json");
    is_the_shop("zipkin", &of_zipkin, ["10.0.0.1", "10.0.0.2"], false);
    assert_eq!(
        parameter_values("zipkin", &of_zipkin, 1, "http.path"),
        ["/price".to_owned()].into()
    );
    let of_opentelemetry = folder.path().join("opentelemetry.json");
    is_the_shop("zipkin", &of_opentelemetry, ["web1", "db1"], true);
}

#[test]
fn clients_of_zipkin_and_jaeger_in_node() {
    let folder = tempfile::tempdir().unwrap();
    let modules = node_modules_with(&["zipkin@0.22.0", "jaeger-client@3.19.0"]);
    let script = repository().join("tests/programs/tracer_clients.js");
    run_successfully(
        Command::new("node")
            .env("NODE_PATH", modules)
            .arg(script)
            .arg(folder.path())
            .arg(REQUESTS.to_string()),
    );
    is_the_shop("zipkin", &folder.path().join("zipkin_js.json"), ["10.0.0.1", "10.0.0.2"], false);
    let of_jaeger = folder.path().join("jaeger.json");
    is_the_shop("jaeger", &of_jaeger, ["web1", "db1"], true);
    let numbers = (0..REQUESTS).map(|number| number.to_string()).collect();
    assert_eq!(parameter_values("jaeger", &of_jaeger, 1, "number"), numbers);
}
