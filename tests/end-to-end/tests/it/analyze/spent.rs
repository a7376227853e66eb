//! Time of steps by resource, of a real program with requests that each spend their time in one
//! way.

use std::path::Path;

use end_to_end::capture::TestRecording;
use end_to_end::command::assert_succeeds;
use end_to_end::spent_time::{REQUEST_KINDS, arguments_for, record_requests};
use message_trace::DataDir;
use request_flow::tables::{ColumnSelection, RequestTables};
use request_flow::{NameInterner, Step, StepResource};

/// Number of requests of each kind.
const ROUNDS: usize = 8;

/// All steps of a recording, with the names of their operations, in the order of their begins.
fn named_steps(data: &Path) -> Vec<(String, Step)> {
    assert_succeeds(&arguments_for(&["export", "steps", "-o", "/dev/null"], data), Path::new("/"));
    let data = DataDir::new(data);
    let columns = ColumnSelection { sizes: true, ..ColumnSelection::default() };
    let tables = RequestTables::open(data.requests_path(), data.steps_path(), columns).unwrap();
    let mut steps = Vec::new();
    let each = |_, request: request_flow::Request, names: &NameInterner| {
        let named = |step: &Step| (names.name_of(step.operation).to_owned(), *step);
        steps.extend(request.steps.iter().map(named));
        Ok::<(), message_trace::PathError>(())
    };
    tables.for_each(&mut NameInterner::default(), each).unwrap();
    steps.sort_by_key(|(_, step)| step.begin);
    steps
}

#[test]
fn each_kind_of_time_has_its_name() {
    let recording = TestRecording::new();
    let spent = record_requests(&recording, ROUNDS);
    let steps = named_steps(&recording.data_dir());
    for kind in REQUEST_KINDS {
        let operation = spent.operation_name(kind);
        let of_kind: Vec<&Step> =
            steps.iter().filter(|(name, _)| *name == operation).map(|(_, step)| step).collect();
        let said: Vec<_> = spent.requests.iter().filter(|said| said.kind == kind).collect();
        assert_eq!((of_kind.len(), said.len()), (ROUNDS, ROUNDS), "{kind}");
        for (step, said) in of_kind.into_iter().zip(said) {
            let time = |resource: StepResource| resource.time_in_step(step).unwrap();
            let took = step.end.unwrap() - step.begin.unwrap();
            let all: i64 = StepResource::ALL.map(time).iter().sum();
            let calls = step.children_ns().unwrap();
            assert_eq!(all + calls, took, "{kind}: {step:?}");
            // Other programs may have had the processor, even ones that only the host of a virtual
            // machine sees: their time looks like work.
            let own = took - time(StepResource::Runnable);
            let blocked = own - time(StepResource::Processor);
            let (found, expected) = match kind {
                "sleep" => (time(StepResource::Asleep), blocked),
                "spin" => (time(StepResource::Processor), own),
                "sync" => (time(StepResource::Disk), blocked),
                "lock" => (time(StepResource::Lock), blocked),
                "call" => (calls, blocked),
                _ => (time(StepResource::Peer), blocked),
            };
            let is_most = found > 0 && found * 10 >= expected * 8;
            assert!(is_most, "{kind}: {found} of {expected}: {said:?} {step:?}");
        }
    }
}

#[test]
fn spans_for_other_tools_have_it_too() {
    let recording = TestRecording::new();
    let spent = record_requests(&recording, 2);
    let printed =
        assert_succeeds(&arguments_for(&["export", "otlp"], &recording.data_dir()), Path::new("/"));
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
                let of_lock = span["name"] == spent.operation_name("lock").as_str();
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
