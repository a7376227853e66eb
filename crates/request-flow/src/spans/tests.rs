use std::borrow::Cow;

use message_trace::DataDir;
use out_of_core::MemoryBudget;
use proptest::prelude::*;

use super::{JoinSummary, ResourceId, Span, SpanKind, SpanResource, SpanSink, TracingId};
use crate::tables::{ColumnSelection, RequestTables};
use crate::{NameInterner, Request, Step};

/// A span in tests: node and host, then the span itself.
#[derive(Clone, Debug)]
struct TestSpan {
    node: &'static str,
    host: &'static str,
    span: Span<'static>,
}

fn test_span(
    node: &'static str,
    id: u128,
    parent: u128,
    kind: SpanKind,
    times: [i64; 2],
) -> TestSpan {
    let span = Span {
        parent: (parent > 0).then_some(TracingId::Number(parent)),
        kind,
        begin: Some(times[0]),
        end: Some(times[1]),
        ..Span::new(TracingId::Number(7), TracingId::Number(id), ResourceId::from_index(0), "work")
    };
    TestSpan { node, host: "", span }
}

/// Joins spans to requests, with their names.
fn join_spans(spans: &[TestSpan], memory: u64) -> (Vec<Request>, NameInterner, JoinSummary) {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    let budget = MemoryBudget::new(memory);
    let sink = SpanSink::new(&budget, directory.path());
    for (batch, spans) in spans.chunks(3).enumerate() {
        let mut batch = sink.sink_batch(batch);
        for made in spans {
            let resource =
                SpanResource { node: made.node, host: made.host, parameters: Vec::new() };
            let resource = batch.intern_resource(&resource);
            batch.push_span(&Span { resource, ..made.span.clone() }).unwrap();
        }
        batch.finish().unwrap();
    }
    let joined = sink.join_requests(data.requests_path(), data.steps_path(), &()).unwrap();
    let tables =
        RequestTables::open(data.requests_path(), data.steps_path(), ColumnSelection::ALL).unwrap();
    let mut names = NameInterner::default();
    (tables.read_all(&mut names).unwrap(), names, joined)
}

/// Returns node, parent, and the four times of a step.
fn step_in_words<'n>(
    step: &Step,
    names: &'n NameInterner,
) -> (&'n str, Option<u32>, [Option<i64>; 4]) {
    let times = [step.caller_begin, step.begin, step.end, step.caller_end];
    (names.name_of(step.node), step.parent, times)
}

#[test]
fn the_two_spans_of_a_call_are_one_step() {
    let spans = [
        test_span("prices", 3, 2, SpanKind::Server, [20, 60]),
        test_span("shop", 1, 0, SpanKind::Server, [0, 100]),
        test_span("shop", 2, 1, SpanKind::Client, [10, 70]),
        test_span("prices", 4, 3, SpanKind::Internal, [30, 40]),
    ];
    let (requests, names, joined) = join_spans(&spans, u64::MAX);
    let [request] = &requests[..] else { panic!("{requests:?}") };
    let steps: Vec<_> = request.steps.iter().map(|step| step_in_words(step, &names)).collect();
    assert_eq!(
        steps,
        [
            ("shop", None, [None, Some(0), Some(100), None]),
            ("prices", Some(0), [Some(10), Some(20), Some(60), Some(70)]),
            ("prices", Some(1), [None, Some(30), Some(40), None]),
        ]
    );
    assert_eq!((joined.spans, joined.steps, joined.traces, joined.torn), (4, 3, 1, 0));
    assert_eq!(request.trace, "0000000000000007");
}

#[test]
fn a_call_by_a_client_that_is_the_root_has_a_caller() {
    let spans = [
        test_span("curl", 1, 0, SpanKind::Client, [0, 100]),
        test_span("shop", 2, 1, SpanKind::Server, [10, 90]),
    ];
    let (requests, names, _) = join_spans(&spans, u64::MAX);
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!((names.name_of(request.caller), request.torn), ("curl", false));
    assert_eq!(
        step_in_words(&request.steps[0], &names),
        ("shop", None, [Some(0), Some(10), Some(90), Some(100)])
    );
    assert_eq!((request.begin(), request.end()), (Some(0), Some(100)));
}

#[test]
fn halves_with_one_id_are_one_step_in_either_order() {
    let root = test_span("shop", 1, 0, SpanKind::Server, [0, 100]);
    let client = test_span("shop", 2, 1, SpanKind::Client, [10, 70]);
    let server = test_span("prices", 2, 1, SpanKind::Server, [20, 60]);
    let below = test_span("prices", 3, 2, SpanKind::Internal, [30, 40]);
    let mut all = [root, client, server, below];
    for _ in 0..4 {
        all.rotate_left(1);
        let (requests, names, joined) = join_spans(&all, u64::MAX);
        let [request] = &requests[..] else { panic!("{requests:?}") };
        let steps: Vec<_> = request.steps.iter().map(|step| step_in_words(step, &names)).collect();
        assert_eq!(steps[1], ("prices", Some(0), [Some(10), Some(20), Some(60), Some(70)]));
        assert_eq!((steps[2].0, steps[2].1, joined.duplicates), ("prices", Some(1), 0));
    }
}

#[test]
fn a_client_span_without_a_server_span_names_the_node() {
    let mut lone = test_span("shop", 2, 1, SpanKind::Client, [10, 70]);
    lone.span.peer = Some("redis");
    let spans = [test_span("shop", 1, 0, SpanKind::Server, [0, 100]), lone];
    let (requests, names, _) = join_spans(&spans, u64::MAX);
    let step = &requests[0].steps[1];
    assert_eq!(step_in_words(step, &names), ("redis", Some(0), [Some(10), None, None, Some(70)]));
    assert_eq!(step.response_time(), Some(60));
}

#[test]
fn a_message_without_a_response_has_no_end() {
    let spans = [
        test_span("shop", 1, 0, SpanKind::Server, [0, 100]),
        test_span("shop", 2, 1, SpanKind::Producer, [10, 12]),
        test_span("mailer", 3, 2, SpanKind::Consumer, [500, 700]),
    ];
    let (requests, names, joined) = join_spans(&spans, u64::MAX);
    let step = &requests[0].steps[1];
    assert_eq!(
        step_in_words(step, &names),
        ("mailer", Some(0), [Some(10), Some(500), Some(700), None])
    );
    assert_eq!(joined.moved, 0);
}

#[test]
fn without_kinds_a_common_name_identifies_a_call() {
    let named =
        |made: TestSpan, operation| TestSpan { span: Span { operation, ..made.span }, ..made };
    let spans = [
        named(test_span("front", 1, 0, SpanKind::Unknown, [0, 100]), "Recv"),
        named(test_span("front", 2, 1, SpanKind::Unknown, [10, 70]), "shop.Cart/Get"),
        named(test_span("cart", 3, 2, SpanKind::Unknown, [20, 60]), "/shop.Cart/Get"),
        named(test_span("cart", 4, 3, SpanKind::Unknown, [30, 40]), "SELECT"),
        named(test_span("front", 5, 1, SpanKind::Unknown, [80, 90]), "render"),
        named(test_span("ads", 6, 5, SpanKind::Unknown, [82, 88]), "pick"),
    ];
    let (requests, names, _) = join_spans(&spans, u64::MAX);
    let steps: Vec<_> = requests[0].steps.iter().map(|step| step_in_words(step, &names)).collect();
    assert_eq!(steps[1], ("cart", Some(0), [Some(10), Some(20), Some(60), Some(70)]));
    // Another name is another operation.
    assert_eq!((steps[3].0, steps[4].0, steps[4].1), ("front", "ads", Some(3)));
}

#[test]
fn order_and_depth_determine_parents() {
    let at = |order: i64, depth: u32, times| {
        let mut made = test_span("shop", order as u128 + 1, 0, SpanKind::Unknown, times);
        (made.span.order, made.span.depth) = (Some(order), Some(depth));
        made
    };
    // In the order of executions: by their ends. The times of all are equal, so the order alone
    // decides.
    let spans =
        [at(2, 2, [0, 0]), at(1, 1, [0, 0]), at(3, 1, [0, 0]), at(0, 0, [0, 0]), at(4, 3, [0, 0])];
    let (requests, _, joined) = join_spans(&spans, u64::MAX);
    let parents: Vec<_> = requests[0].steps.iter().map(|step| step.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(0), Some(3)]);
    assert_eq!(joined.broken, 1, "the last one skips a depth");
}

#[test]
fn broken_spans_are_kept_if_possible_and_counted() {
    let spans = [
        // The parent of the span is missing.
        test_span("a", 1, 99, SpanKind::Server, [50, 60]),
        test_span("b", 2, 1, SpanKind::Internal, [52, 55]),
        // Two spans that are each other's parents.
        test_span("c", 10, 11, SpanKind::Internal, [10, 20]),
        test_span("d", 11, 10, SpanKind::Internal, [12, 18]),
        test_span("e", 12, 12, SpanKind::Internal, [5, 6]),
        // In two parts.
        test_span("b", 2, 1, SpanKind::Internal, [52, 99]),
    ];
    let (requests, names, joined) = join_spans(&spans, u64::MAX);
    let roots: Vec<_> = requests
        .iter()
        .map(|request| (names.name_of(request.steps[0].node), request.torn, request.steps.len()))
        .collect();
    assert_eq!(roots, [("e", false, 1), ("c", true, 2), ("a", true, 2)]);
    let JoinSummary { torn, broken, duplicates, parts, .. } = joined;
    assert_eq!((torn, broken, duplicates, parts), (2, 1, 0, 1));
    assert_eq!((joined.spans, joined.steps, joined.requests, joined.traces), (5, 5, 3, 1));
}

/// Calls from one host to another with a clock that is `offset` ahead and gains `ppm` per million.
fn skewed_spans(offset: i64, ppm: i64) -> Vec<TestSpan> {
    let mut spans = Vec::new();
    let there = |time: i64| time + offset + time / 1_000_000 * ppm;
    for call in 0..200_i64 {
        let begin = call * 10_000_000;
        let delay = 100_000 + (call * 7_919) % 50_000;
        let trace = TracingId::Number(1_000 + call as u128);
        let times = [begin + 10_000, begin + 10_000 + delay, begin + 900_000];
        let of =
            |made: TestSpan, host| TestSpan { host, span: Span { trace, ..made.span }, ..made };
        let [sent, received, answered] = times;
        spans.push(of(test_span("shop", 1, 0, SpanKind::Server, [begin, begin + 2_000_000]), "h1"));
        let client = [sent, answered + delay];
        spans.push(of(test_span("shop", 2, 1, SpanKind::Client, client), "h1"));
        let server = [there(received), there(answered)];
        spans.push(of(test_span("prices", 3, 2, SpanKind::Server, server), "h2"));
    }
    spans
}

#[test]
fn spans_of_skewed_hosts_are_converted_to_one_clock() {
    for (offset, ppm) in [(0, 0), (5_000_000_000, 0), (-3_000_000, 40), (250_000, -80)] {
        let (requests, _, joined) = join_spans(&skewed_spans(offset, ppm), u64::MAX);
        assert_eq!((requests.len(), joined.moved), (200, 0), "{offset} {ppm}");
        // The delays allow only an error of the offset by the fastest one.
        for request in &requests {
            let (root, step) = (&request.steps[0], &request.steps[1]);
            let times = [step.caller_begin, step.begin, step.end, step.caller_end];
            assert!(times.is_sorted() && step.begin >= root.begin, "{offset} {ppm} {times:?}");
            let network = step.begin.unwrap() - step.caller_begin.unwrap();
            assert!((0..=300_000).contains(&network), "{offset} {ppm}: {network}");
        }
    }
}

/// Calls of the first of ten nodes to all others, which take a millisecond there and a tenth of it
/// back. The clock of the fifth is `offset` ahead. All hosts are unknown.
fn spans_of_ten_nodes(offset: i64) -> Vec<TestSpan> {
    let nodes = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"];
    let mut spans = Vec::new();
    for call in 0..100_i64 {
        let begin = call * 100_000_000;
        let trace = TracingId::Number(1_000 + call as u128);
        let mut add = |node, id, above, kind, times| {
            let one = test_span(node, id, above, kind, times);
            spans.push(TestSpan { span: Span { trace, ..one.span }, ..one });
        };
        add("n0", 1, 0, SpanKind::Server, [begin, begin + 50_000_000]);
        for (place, node) in (1..).zip(&nodes[1..]) {
            let sent = begin + 4_000_000 * place as i64;
            let clock = if *node == "n4" { offset } else { 0 };
            let served = [sent + 1_000_000 + clock, sent + 2_000_000 + clock];
            let id = 2 * place;
            add("n0", id, 1, SpanKind::Client, [sent, sent + 2_100_000]);
            add(node, id + 1, id, SpanKind::Server, served);
        }
    }
    spans
}

#[test]
fn for_nodes_without_hosts_only_a_contradicting_clock_is_estimated() {
    for offset in [0, 5_000_000, -5_000_000] {
        let (requests, names, joined) = join_spans(&spans_of_ten_nodes(offset), u64::MAX);
        assert_eq!((requests.len(), joined.moved), (100, 0));
        let compared: Vec<&str> = (joined.clocks.hosts.iter())
            .filter(|host| host.offset_ns != 0)
            .map(|host| host.host.as_str())
            .collect();
        assert_eq!(compared, if offset == 0 { vec![] } else { vec!["n4"] }, "{offset}");
        for step in requests.iter().flat_map(|request| &request.steps[1..]) {
            let delay = step.begin.unwrap() - step.caller_begin.unwrap();
            // Half of both delays, if the clock is estimated; else the written times.
            let is_compared = offset != 0 && names.name_of(step.node) == "n4";
            let expected = if is_compared { 550_000 } else { 1_000_000 };
            assert!((delay - expected).abs() < 1_000, "{offset} {delay}");
        }
    }
}

#[test]
fn an_unknown_caller_on_the_clock_of_a_node_without_host_has_no_clock_of_its_own() {
    let on = |host, of: TestSpan| TestSpan { host, ..of };
    let spans = [
        on("prices", test_span("", 2, 0, SpanKind::Client, [10, 700])),
        test_span("prices", 3, 2, SpanKind::Server, [500, 690]),
    ];
    let (requests, _, joined) = join_spans(&spans, u64::MAX);
    let hosts: Vec<_> = joined.clocks.hosts.iter().map(|host| host.host.as_str()).collect();
    assert_eq!(hosts, ["prices"]);
    let step = &requests[0].steps[0];
    assert_eq!((step.caller_begin, step.begin), (Some(10), Some(500)), "as they were written");
}

/// A request as a list of steps, each with its parent, node, times and whether its caller is seen.
#[derive(Clone, Debug)]
struct SpanTreeCase(Vec<(Option<usize>, usize, [i64; 2], bool)>);

fn trees() -> impl Strategy<Value = SpanTreeCase> {
    let step = (any::<proptest::sample::Index>(), 0..4usize, 0..50i64, any::<bool>());
    proptest::collection::vec(step, 1..30).prop_map(|steps| {
        let mut tree: Vec<(Option<usize>, usize, [i64; 2], bool)> = Vec::new();
        for (place, (parent, node, after, is_call)) in steps.into_iter().enumerate() {
            let parent = (place > 0).then(|| parent.index(place));
            // All begins differ, so that siblings have one order. The begins are two nanoseconds
            // apart, because the caller's begin is one before the step's.
            let distance = 100 * after + 2 * place as i64;
            let begin = parent.map_or(0, |parent| tree[parent].2[0]) + distance;
            tree.push((parent, node, [begin, begin + 5_000], is_call && parent.is_some()));
        }
        SpanTreeCase(tree)
    })
}

const NODES: [&str; 4] = ["a", "b", "c", "d"];

fn spans_of(tree: &SpanTreeCase, trace: &'static str) -> Vec<TestSpan> {
    let mut spans = Vec::new();
    for (place, (parent, node, [begin, end], is_call)) in tree.0.iter().enumerate() {
        let id = 1 + 2 * place as u128;
        let parent_node = parent.map_or(0, |parent| tree.0[parent].1);
        let parent = parent.map_or(0, |parent| 1 + 2 * parent as u128);
        let kind = if *is_call { SpanKind::Server } else { SpanKind::Internal };
        let above = if *is_call { id + 1 } else { parent };
        let mut own = test_span(NODES[*node], id, above, kind, [*begin, *end]);
        own.span.trace = TracingId::Text(trace);
        own.span.operation = NODES[(*node + place) % 4];
        own.span.parameters = [[("k", Cow::Borrowed("0"))], [("k", Cow::Borrowed("1"))]]
            .get(place % 3)
            .map_or(&[], |parameters| Box::leak(Box::new(parameters.clone())));
        spans.push(own);
        if *is_call {
            let times = [begin - 1, end + 1];
            let mut client = test_span(NODES[parent_node], id + 1, parent, SpanKind::Client, times);
            client.span.trace = TracingId::Text(trace);
            spans.push(client);
        }
    }
    spans
}

/// Depth, name, begin, caller's begin and parameters of a step.
type StepInWords = (u32, String, Option<i64>, Option<i64>, String);

/// Describes a tree: for each step its depth, node, begin, end, caller's begin and parameter.
fn steps_in_words(request: &Request, names: &NameInterner) -> Vec<StepInWords> {
    (request.step_depths().into_iter().zip(&request.steps).enumerate())
        .map(|(place, (depth, step))| {
            let name = format!("{} {}", names.name_of(step.node), names.name_of(step.operation));
            let parameters: Vec<&str> =
                request.parameters.of_step(place).map(|(_, value)| value).collect();
            (depth, name, step.begin, step.caller_begin, parameters.join(","))
        })
        .collect()
}

fn expected_steps(tree: &SpanTreeCase) -> Vec<StepInWords> {
    let mut all = Vec::new();
    let mut open = vec![(0usize, 0u32)];
    while let Some((place, depth)) = open.pop() {
        let (_, node, [begin, _], is_call) = tree.0[place];
        let name = format!("{} {}", NODES[node], NODES[(node + place) % 4]);
        let parameter = if place % 3 < 2 { (place % 3).to_string() } else { String::new() };
        all.push((depth, name, Some(begin), is_call.then_some(begin - 1), parameter));
        let mut children: Vec<usize> =
            (0..tree.0.len()).filter(|child| tree.0[*child].0 == Some(place)).collect();
        children.sort_by_key(|child| tree.0[*child].2[0]);
        open.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any order of the spans, in memory or not.
    #[test]
    fn any_tree_survives_the_join(
        one in trees(),
        other in trees(),
        memory in prop_oneof![Just(0), Just(u64::MAX)],
        turn in 0..100usize,
    ) {
        let mut spans = spans_of(&one, "one");
        spans.extend(spans_of(&other, "other trace"));
        let middle = turn % spans.len();
        spans.rotate_left(middle);
        let (requests, names, joined) = join_spans(&spans, memory);
        prop_assert_eq!((requests.len(), joined.moved, joined.broken), (2, 0, 0));
        for (trace, tree) in [("one", one), ("other trace", other)] {
            let request = requests.iter().find(|request| request.trace == trace).unwrap();
            prop_assert_eq!(steps_in_words(request, &names), expected_steps(&tree));
        }
    }
}

mod asynchronous;
mod in_parts;
