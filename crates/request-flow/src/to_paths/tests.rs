//! Requests that become paths, and paths that become requests again.

use analyze::paths::{LeftInstances, PathFilter};
use message_trace::DataDir;
use proptest::prelude::*;
use rustc_hash::FxHashSet;

use super::*;
use crate::from_paths;
use crate::request::{Request, RequestBuilder};
use crate::request_numbers::{requests_of_messages, requests_of_paths};
use crate::step::Step;
use crate::tables::RequestWriter;
use out_of_core::Names;

/// A step as it is made: the place of its parent, its node, times since its parent's begin, and who
/// saw it.
#[derive(Clone, Copy, Debug)]
struct MadeStep {
    parent: prop::sample::Index,
    node: usize,
    after: i64,
    network: i64,
    took: i64,
    seen: Seen,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    Both,
    /// The caller alone: the node wrote nothing.
    Caller,
    /// A message that nobody answers.
    OneWay,
    /// A call within the node.
    Within,
}

fn steps() -> impl Strategy<Value = Vec<MadeStep>> {
    let seen = prop_oneof![
        4 => Just(Seen::Both),
        1 => Just(Seen::Caller),
        1 => Just(Seen::OneWay),
        1 => Just(Seen::Within),
    ];
    let step = (any::<prop::sample::Index>(), 0..4_usize, 0..400_i64, 1..20_i64, 0..100_i64, seen);
    let made = |(parent, node, after, network, took, seen)| MadeStep {
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
fn request(made: &[MadeStep], at: i64, names: &mut Names) -> Request {
    let mut steps: Vec<Step> = Vec::new();
    let mut builder = RequestBuilder::default();
    for (place, of) in made.iter().enumerate() {
        // Who wrote nothing, calls nobody that is known of.
        let parent = (place > 0)
            .then(|| of.parent.index(place))
            .filter(|parent| steps[*parent].begin.is_some())
            .or((place > 0).then_some(0));
        let above = parent.map(|parent| steps[parent]);
        let seen = if place == 0 { Seen::Both } else { of.seen };
        let unit = 1_000;
        let begin = above
            .map_or(at, |above| above.begin.unwrap_or(at) + unit * (1 + of.after) + place as i64);
        let [sent, received, ended, back] =
            [0, of.network, of.network + of.took, 2 * of.network + of.took]
                .map(|time| begin + unit * time);
        let node = match (seen, above) {
            (Seen::Within, Some(above)) => above.node,
            (Seen::Caller, _) => names.number(["redis", "smtp"][of.node % 2]),
            _ => names.number(["web", "cart", "ads", "db"][of.node]),
        };
        let operation = names.number(["Get", "Put"][place % 2]);
        let step = Step { parent: parent.map(|parent| parent as u32), ..Step::of(node, operation) };
        let step = match seen {
            Seen::Both => Step {
                caller_begin: Some(sent),
                begin: Some(received),
                end: Some(ended),
                caller_end: Some(back),
                ..step
            },
            Seen::Caller => Step { caller_begin: Some(sent), caller_end: Some(back), ..step },
            Seen::OneWay => Step { caller_begin: Some(sent), begin: Some(received), ..step },
            Seen::Within => Step { begin: Some(received), end: Some(ended), ..step },
        };
        steps.push(step);
        builder.add(step, None, []);
    }
    let mut request =
        Request { caller: names.number("curl"), probability: 1.0, ..Request::default() };
    builder.build(&mut request);
    request
}

/// What a request tells, step by step: depth, node, operation and times.
fn told(request: &Request, names: &Names, is_from_paths: bool) -> Vec<String> {
    let mut all = vec![names.text(request.caller).to_owned()];
    for (depth, step) in request.depths().into_iter().zip(&request.steps) {
        let (node, operation) = (names.text(step.node), names.text(step.operation));
        // Paths name a call by the callee and its endpoint, and see one within a node as any other.
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

fn write(requests: &[Request], names: &Names, to: &DataDir) {
    let mut writer = RequestWriter::create(to.requests(), to.steps()).unwrap();
    let mut sorted = requests.to_vec();
    sorted.sort_by_key(|request| request.begin());
    sorted.into_iter().for_each(|request| writer.push(request, names).unwrap());
    writer.finish(names).unwrap();
}

fn read(from: &DataDir) -> (Vec<Request>, Names) {
    let mut names = Names::default();
    let tables = RequestTables::open(from.requests(), from.steps(), Columns::ALL).unwrap();
    (tables.all(&mut names).unwrap(), names)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Requests at the same time, in memory or not, are the same after they were paths.
    #[test]
    fn requests_come_back_from_paths(
        made in prop::collection::vec((steps(), 0..2_000_i64), 1..6),
        memory in prop_oneof![Just(0), Just(u64::MAX)],
    ) {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let mut names = Names::default();
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
        let expected: Vec<_> = expected.iter().map(|request| told(request, &known, false)).collect();
        let found: Vec<_> = found.iter().map(|request| told(request, &names, true)).collect();
        prop_assert_eq!(found, expected);
    }
}

/// One request has no times, and one a doubtful step: it makes three paths.
#[test]
fn paths_know_their_requests_although_numbers_differ() {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    let mut names = Names::default();
    let [web, db] = ["web", "db"].map(|name| names.number(name));
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
        let root = Step { end: at.map(|at| at + 50), begin: at, ..Step::of(web, web) };
        request.push(root, []);
        if let Some(at) = at {
            let below = Step { parent: Some(0), probability, ..Step::of(db, db) };
            request.push(call(at + 10, below), []);
        }
        requests.push(request);
    }
    write(&requests, &names, &data);
    messages_of_requests(&data, u64::MAX, &()).unwrap();
    paths_of_messages(&data, &Options::default(), &()).unwrap();
    let wanted: FxHashSet<i64> = [0, 1, 3].into_iter().collect();
    let found = requests_of_messages(&data, &wanted).unwrap();
    let filter = PathFilter::default();
    let instances = LeftInstances::open(&data, &filter).unwrap();
    let mut seen = Vec::new();
    for piece in 0..instances.pieces() {
        let read = instances.read(piece, |instance| {
            let request = found.get(&instance.hops[0].message).copied();
            seen.push((instance.which.path, instance.begin(), request));
            Ok::<(), PathError>(())
        });
        read.unwrap();
    }
    seen.sort_unstable();
    let expected = [
        (0, None, Some(0)),
        (1, Some(100), Some(1)),
        (2, Some(100), Some(1)),
        // The doubtful step by itself.
        (3, Some(110), None),
        (4, Some(200), None),
        (5, Some(300), Some(3)),
    ];
    assert_eq!(seen, expected);
    // The same from requests that are made of these paths.
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
fn several_imports_are_one() {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    for (import, begins) in [("b", vec![2, 3, 7]), ("a", vec![1, 3, 9]), ("c", Vec::new())] {
        let import = data.import(import);
        std::fs::create_dir_all(&import.directory).unwrap();
        // Each has numbers of its own for names.
        let mut names = Names::default();
        names.number("first name of all");
        let node = names.number(&import.name);
        let requests: Vec<Request> = begins
            .into_iter()
            .map(|begin| {
                let mut request = Request::default();
                request.push(Step { begin: Some(begin), ..Step::of(node, node) }, []);
                request
            })
            .collect();
        write(&requests, &names, &DataDir::new(&import.directory));
    }
    let seen = || {
        merge_imports(&data, &()).unwrap();
        let (requests, names) = read(&data);
        let seen = requests.iter().map(|request| {
            format!("{}{}", names.text(request.steps[0].node), request.begin().unwrap())
        });
        seen.collect::<Vec<_>>()
    };
    assert_eq!(seen(), ["a1", "b2", "a3", "b3", "b7", "a9"]);
    for gone in ["a", "c"] {
        std::fs::remove_dir_all(data.import(gone).directory).unwrap();
    }
    // A single one is linked, and its tables stay as they are.
    assert_eq!(seen(), ["b2", "b3", "b7"]);
    assert_eq!(seen(), ["b2", "b3", "b7"]);
}
