//! What steps spent their time on, of a real program whose requests each spend it in one way.

use std::path::Path;

use end_to_end::capture::Recording;
use end_to_end::command::succeeds;
use end_to_end::spent::{KINDS, of, record};
use message_trace::DataDir;
use request_flow::tables::{Columns, RequestTables};
use request_flow::{Names, Resource, Step};

/// Number of requests of each kind.
const ROUNDS: usize = 8;

/// All steps of a recording, with the names of their operations, in the order of their begins.
fn steps(data: &Path) -> Vec<(String, Step)> {
    succeeds(&of(&["export", "steps", "-o", "/dev/null"], data), Path::new("/"));
    let data = DataDir::new(data);
    let columns = Columns { sizes: true, ..Columns::default() };
    let tables = RequestTables::open(data.requests(), data.steps(), columns).unwrap();
    let mut steps = Vec::new();
    let each = |_, request: request_flow::Request, names: &Names| {
        let named = |step: &Step| (names.text(step.operation).to_owned(), *step);
        steps.extend(request.steps.iter().map(named));
        Ok::<(), message_trace::PathError>(())
    };
    tables.for_each(&mut Names::default(), each).unwrap();
    steps.sort_by_key(|(_, step)| step.begin);
    steps
}

#[test]
fn each_kind_of_time_has_its_name() {
    let recording = Recording::new();
    let spent = record(&recording, ROUNDS);
    let steps = steps(&recording.data());
    for kind in KINDS {
        let operation = spent.operation(kind);
        let of_kind: Vec<&Step> =
            steps.iter().filter(|(name, _)| *name == operation).map(|(_, step)| step).collect();
        let said: Vec<_> = spent.requests.iter().filter(|said| said.kind == kind).collect();
        assert_eq!((of_kind.len(), said.len()), (ROUNDS, ROUNDS), "{kind}");
        for (step, said) in of_kind.into_iter().zip(said) {
            let time = |resource: Resource| resource.of(step).unwrap();
            let took = step.end.unwrap() - step.begin.unwrap();
            let all: i64 = Resource::ALL.map(time).iter().sum();
            let calls = step.children_ns().unwrap();
            assert_eq!(all + calls, took, "{kind}: {step:?}");
            // Others may have had the processor, also those whom only the host of a virtual machine
            // knows: what it takes looks like work.
            let own = took - time(Resource::Runnable);
            let blocked = own - time(Resource::Processor);
            let (found, expected) = match kind {
                "sleep" => (time(Resource::Asleep), blocked),
                "spin" => (time(Resource::Processor), own),
                "sync" => (time(Resource::Disk), blocked),
                "lock" => (time(Resource::Lock), blocked),
                "call" => (calls, blocked),
                _ => (time(Resource::Peer), blocked),
            };
            let is_most = found > 0 && found * 10 >= expected * 8;
            assert!(is_most, "{kind}: {found} of {expected}: {said:?} {step:?}");
        }
    }
}

#[test]
fn spans_for_other_tools_say_it_too() {
    let recording = Recording::new();
    let spent = record(&recording, 2);
    let printed = succeeds(&of(&["export", "otlp"], &recording.data()), Path::new("/"));
    let mut found = Vec::new();
    for line in printed.lines() {
        let request: serde_json::Value = serde_json::from_str(line).unwrap();
        for node in request["resourceSpans"].as_array().unwrap() {
            for span in node["scopeSpans"][0]["spans"].as_array().unwrap() {
                let time = |name: &str| {
                    let all = span["attributes"].as_array().unwrap();
                    let of = all.iter().find(|attribute| attribute["key"] == name)?;
                    of["value"]["doubleValue"].as_f64()
                };
                let of_lock = span["name"] == spent.operation("lock").as_str();
                if let (true, Some(lock)) = (of_lock, time("sockcap.lock.time")) {
                    found.push((lock, time("sockcap.processor.time").unwrap()));
                }
            }
        }
    }
    // The client's spans of the same calls have none.
    assert_eq!(found.len(), 2, "{printed}");
    for (lock, processor) in found {
        assert!(lock > 0.015 && processor > 0.0 && processor < lock, "{lock} {processor}");
    }
}
