//! Requests that become paths, and paths that become requests again.

use analyze::paths::{FilteredInstances, PathFilter};
use message_trace::DataDir;
use proptest::prelude::*;
use rustc_hash::FxHashSet;

use super::*;
use crate::from_paths;
use crate::request::{Request, RequestBuilder};
use crate::request_numbers::{requests_of_messages, requests_of_paths};
use crate::step::Step;
use crate::tables::RequestWriter;
use out_of_core::NameInterner;

/// A step to be made: the index of its parent, its node, times since its parent's begin, and which
/// ends are seen.
#[derive(Clone, Copy, Debug)]
struct StepCase {
    parent: prop::sample::Index,
    node: usize,
    after: i64,
    network: i64,
    took: i64,
    seen: StepVisibility,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum StepVisibility {
    Both,
    /// Only the caller: the node wrote no spans.
    Caller,
    /// A message without a response.
    OneWay,
    /// A call within the node.
    Within,
}

fn steps() -> impl Strategy<Value = Vec<StepCase>> {
    let seen = prop_oneof![
        4 => Just(StepVisibility::Both),
        1 => Just(StepVisibility::Caller),
        1 => Just(StepVisibility::OneWay),
        1 => Just(StepVisibility::Within),
    ];
    let step = (any::<prop::sample::Index>(), 0..4_usize, 0..400_i64, 1..20_i64, 0..100_i64, seen);
    let made = |(parent, node, after, network, took, seen)| StepCase {
        parent,
        node,
        after,
        network,
        took,
        seen,
    };
    prop::collection::vec(step.prop_map(made), 1..14)
}

/// The request of these steps, which begins at `at`. All times differ.
fn request(made: &[StepCase], at: i64, names: &mut NameInterner) -> Request {
    let mut steps: Vec<Step> = Vec::new();
    let mut builder = RequestBuilder::default();
    for (place, of) in made.iter().enumerate() {
        // A node without spans makes no known calls.
        let parent = (place > 0)
            .then(|| of.parent.index(place))
            .filter(|parent| steps[*parent].begin.is_some())
            .or((place > 0).then_some(0));
        let above = parent.map(|parent| steps[parent]);
        let seen = if place == 0 { StepVisibility::Both } else { of.seen };
        let unit = 1_000;
        let begin = above
            .map_or(at, |above| above.begin.unwrap_or(at) + unit * (1 + of.after) + place as i64);
        let [sent, received, ended, back] =
            [0, of.network, of.network + of.took, 2 * of.network + of.took]
                .map(|time| begin + unit * time);
        let node = match (seen, above) {
            (StepVisibility::Within, Some(above)) => above.node,
            (StepVisibility::Caller, _) => names.intern(["redis", "smtp"][of.node % 2]),
            _ => names.intern(["web", "cart", "ads", "db"][of.node]),
        };
        let operation = names.intern(["Get", "Put"][place % 2]);
        let step =
            Step { parent: parent.map(|parent| parent as u32), ..Step::new(node, operation) };
        let step = match seen {
            StepVisibility::Both => Step {
                caller_begin: Some(sent),
                begin: Some(received),
                end: Some(ended),
                caller_end: Some(back),
                ..step
            },
            StepVisibility::Caller => {
                Step { caller_begin: Some(sent), caller_end: Some(back), ..step }
            }
            StepVisibility::OneWay => {
                Step { caller_begin: Some(sent), begin: Some(received), ..step }
            }
            StepVisibility::Within => Step { begin: Some(received), end: Some(ended), ..step },
        };
        steps.push(step);
        builder.add_step(step, None, []);
    }
    let mut request =
        Request { caller: names.intern("curl"), probability: 1.0, ..Request::default() };
    builder.build(&mut request);
    request
}

/// Describes a request, step by step: depth, node, operation and times.
fn steps_in_words(request: &Request, names: &NameInterner, is_from_paths: bool) -> Vec<String> {
    let mut all = vec![names.name_of(request.caller).to_owned()];
    for (depth, step) in request.step_depths().into_iter().zip(&request.steps) {
        let (node, operation) = (names.name_of(step.node), names.name_of(step.operation));
        // Paths name a call by the callee and its endpoint, and treat a call within a node as any
        // other call.
        let is_within = step.caller_begin.is_none();
        let times = match is_from_paths || !is_within {
            true => [step.caller_begin, step.begin, step.end, step.caller_end],
            false => [step.begin, step.begin, step.end, step.end],
        };
        let operation = match is_from_paths {
            true => operation.to_owned(),
            false => format!("{node} {operation}"),
        };
        all.push(format!("{depth} {node}: {operation} {times:?}"));
    }
    all
}

fn write(requests: &[Request], names: &NameInterner, to: &DataDir) {
    let mut writer = RequestWriter::create(to.requests_path(), to.steps_path()).unwrap();
    let mut sorted = requests.to_vec();
    sorted.sort_by_key(|request| request.begin());
    sorted.into_iter().for_each(|request| writer.push_request(request, names).unwrap());
    writer.finish(names).unwrap();
}

fn read(from: &DataDir) -> (Vec<Request>, NameInterner) {
    let mut names = NameInterner::default();
    let tables =
        RequestTables::open(from.requests_path(), from.steps_path(), ColumnSelection::ALL).unwrap();
    (tables.read_all(&mut names).unwrap(), names)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Concurrent requests, in memory or not, are the same after they were paths.
    #[test]
    fn requests_come_back_from_paths(
        made in prop::collection::vec((steps(), 0..2_000_i64), 1..6),
        memory in prop_oneof![Just(0), Just(u64::MAX)],
    ) {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let mut names = NameInterner::default();
        let requests: Vec<Request> = (0..)
            .zip(&made)
            .map(|(number, (made, at))| request(made, 1_000_000 + 1_000 * at + 100 * number, &mut names))
            .collect();
        write(&requests, &names, &data);
        let written = messages_of_requests(&data, memory, &()).unwrap();
        prop_assert_eq!(written.requests, requests.len() as u64);
        let summary = paths_of_messages(&data, &Options::default(), &()).unwrap();
        prop_assert_eq!(summary.options.algorithm, Algorithm::SPANS);
        prop_assert_eq!(summary.totals.instances, written.requests);
        let (expected, known) = read(&data);
        from_paths(&data, memory, &()).unwrap();
        let (found, names) = read(&data);
        let expected: Vec<_> = expected.iter().map(|request| steps_in_words(request, &known, false)).collect();
        let found: Vec<_> = found.iter().map(|request| steps_in_words(request, &names, true)).collect();
        prop_assert_eq!(found, expected);
    }
}

/// One request has no times, and one an uncertain step: it makes three paths.
#[test]
fn paths_know_their_requests_although_numbers_differ() {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    let mut names = NameInterner::default();
    let [web, db] = ["web", "db"].map(|name| names.intern(name));
    let call = |at: i64, of: Step| Step {
        caller_begin: Some(at),
        begin: Some(at + 1),
        end: Some(at + 2),
        caller_end: Some(at + 3),
        ..of
    };
    let mut requests = Vec::new();
    for (at, probability) in [(None, 1.0), (Some(100), 0.5), (Some(200), 1.0), (Some(300), 1.0)] {
        let mut request = Request { probability: 1.0, ..Request::default() };
        let root = Step { end: at.map(|at| at + 50), begin: at, ..Step::new(web, web) };
        request.push_step(root, []);
        if let Some(at) = at {
            let below = Step { parent: Some(0), probability, ..Step::new(db, db) };
            request.push_step(call(at + 10, below), []);
        }
        requests.push(request);
    }
    write(&requests, &names, &data);
    messages_of_requests(&data, u64::MAX, &()).unwrap();
    paths_of_messages(&data, &Options::default(), &()).unwrap();
    let wanted: FxHashSet<i64> = [0, 1, 3].into_iter().collect();
    let found = requests_of_messages(&data, &wanted).unwrap();
    let filter = PathFilter::default();
    let instances = FilteredInstances::open(&data, &filter).unwrap();
    let mut seen = Vec::new();
    for group in 0..instances.group_count() {
        let read = instances.read_group(group, |instance| {
            let request = found.get(&instance.hops[0].message).copied();
            seen.push((instance.which.path, instance.begin_time(), request));
            Ok::<(), PathError>(())
        });
        read.unwrap();
    }
    seen.sort_unstable();
    let expected = [
        (0, None, Some(0)),
        (1, Some(100), Some(1)),
        (2, Some(100), Some(1)),
        // The uncertain step by itself.
        (3, Some(110), None),
        (4, Some(200), None),
        (5, Some(300), Some(3)),
    ];
    assert_eq!(seen, expected);
    // The same paths result from requests that are made of these paths.
    from_paths(&data, u64::MAX, &()).unwrap();
    let wanted: FxHashSet<i64> = [0, 3].into_iter().collect();
    let found = requests_of_paths(&data, &wanted).unwrap();
    let (requests, _) = read(&data);
    assert_eq!(found.len(), 2);
    for (path, request) in found {
        assert_eq!(requests[request as usize].path, Some(path));
        assert_eq!(requests[request as usize].begin(), seen[path as usize].1);
    }
}

#[test]
fn several_imports_are_merged() {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    for (import, begins) in [("b", vec![2, 3, 7]), ("a", vec![1, 3, 9]), ("c", Vec::new())] {
        let import = data.import_named(import);
        std::fs::create_dir_all(&import.directory).unwrap();
        // Each group has numbers of its own for names.
        let mut names = NameInterner::default();
        names.intern("first name of all");
        let node = names.intern(&import.name);
        let requests: Vec<Request> = begins
            .into_iter()
            .map(|begin| {
                let mut request = Request::default();
                request.push_step(Step { begin: Some(begin), ..Step::new(node, node) }, []);
                request
            })
            .collect();
        write(&requests, &names, &DataDir::new(&import.directory));
    }
    let seen = || {
        merge_imports(&data, &()).unwrap();
        let (requests, names) = read(&data);
        let seen = requests.iter().map(|request| {
            format!("{}{}", names.name_of(request.steps[0].node), request.begin().unwrap())
        });
        seen.collect::<Vec<_>>()
    };
    assert_eq!(seen(), ["a1", "b2", "a3", "b3", "b7", "a9"]);
    for gone in ["a", "c"] {
        std::fs::remove_dir_all(data.import_named(gone).directory).unwrap();
    }
    // A single one is linked, and its tables stay as they are.
    assert_eq!(seen(), ["b2", "b3", "b7"]);
    assert_eq!(seen(), ["b2", "b3", "b7"]);
}
