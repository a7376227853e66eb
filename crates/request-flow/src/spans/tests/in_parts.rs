//! Spans that are reported more than once, in any order.

use super::*;

/// Describes requests completely.
fn requests_in_words(requests: &[Request], names: &NameInterner) -> Vec<String> {
    let step = |request: &Request, place: usize| {
        let step = request.steps[place];
        let parameters: Vec<(&str, &str)> = (request.parameters.of_step(place))
            .map(|(name, value)| (names.name_of(name), value))
            .collect();
        let text = [step.node, step.host, step.operation].map(|name| names.name_of(name));
        let unknown = NameInterner::UNKNOWN;
        let step = Step { node: unknown, host: unknown, operation: unknown, ..step };
        format!("{text:?} {parameters:?} {step:?}")
    };
    let of = |request: &Request| {
        let caller = [request.caller, request.caller_host].map(|name| names.name_of(name));
        let steps: Vec<String> = (0..request.steps.len()).map(|it| step(request, it)).collect();
        format!("{} {caller:?} {} {steps:#?}", request.trace, request.torn)
    };
    requests.iter().map(of).collect()
}

/// Node, parent, times and whether it failed, of a step.
type StepFigures = (String, Option<u32>, [Option<i64>; 4], bool);

/// Returns all steps of the only request.
fn steps_of_request(spans: &[TestSpan]) -> Vec<StepFigures> {
    let (requests, names, _) = join_spans(spans, u64::MAX);
    let [request] = &requests[..] else { panic!("{requests:?}") };
    let figures = |step: &Step| {
        let (node, parent, times) = step_in_words(step, &names);
        (node.to_owned(), parent, times, step.failed)
    };
    request.steps.iter().map(figures).collect()
}

/// Returns all orders of a few reports.
fn permutations(of: &[TestSpan]) -> Vec<Vec<TestSpan>> {
    let Some((first, others)) = of.split_first() else { return vec![Vec::new()] };
    let rest = permutations(others);
    let insert = |rest: &Vec<TestSpan>, place: usize| {
        let mut rest = rest.clone();
        rest.insert(place, first.clone());
        rest
    };
    rest.iter().flat_map(|rest| (0..=rest.len()).map(move |it| insert(rest, it))).collect()
}

fn without_times(of: TestSpan, kind: SpanKind) -> TestSpan {
    TestSpan { span: Span { kind, begin: None, end: None, ..of.span }, ..of }
}

#[test]
fn a_report_without_kind_and_times_hides_neither_half_of_a_call() {
    let server = test_span("stock", 2, 1, SpanKind::Server, [12, 62]);
    let reports = [
        test_span("shop", 1, 0, SpanKind::Server, [0, 90]),
        without_times(server.clone(), SpanKind::Unknown),
        server,
        test_span("shop", 2, 1, SpanKind::Client, [10, 64]),
    ];
    for reports in permutations(&reports) {
        let expected = [Some(10), Some(12), Some(62), Some(64)];
        assert_eq!(
            steps_of_request(&reports)[1..],
            [("stock".to_owned(), Some(0), expected, false)]
        );
    }
}

#[test]
fn begin_duration_and_failure_are_merged() {
    let client = test_span("shop", 2, 1, SpanKind::Client, [10, 64]);
    let begun = TestSpan { span: Span { end: None, ..client.span.clone() }, ..client.clone() };
    let mut lasted = without_times(client, SpanKind::Client);
    lasted.span.duration = Some(54);
    let mut failed = test_span("stock", 2, 1, SpanKind::Server, [12, 62]);
    failed.span.failed = true;
    let unfinished = test_span("stock", 2, 1, SpanKind::Server, [12, 12]);
    let root = test_span("shop", 1, 0, SpanKind::Server, [0, 90]);
    for reports in permutations(&[root, begun, lasted, failed, unfinished]) {
        let expected = [Some(10), Some(12), Some(62), Some(64)];
        assert_eq!(
            steps_of_request(&reports)[1..],
            [("stock".to_owned(), Some(0), expected, true)]
        );
    }
}

#[test]
fn consumers_that_share_an_id_stay_several() {
    let on = |host, of: TestSpan| TestSpan { host, ..of };
    let reports = [
        test_span("shop", 1, 0, SpanKind::Producer, [0, 5]),
        // Another program, another host, another time: each takes the message.
        on("h1", test_span("mail", 1, 0, SpanKind::Consumer, [20, 30])),
        on("h2", test_span("mail", 1, 0, SpanKind::Consumer, [20, 30])),
        on("h2", test_span("mail", 1, 0, SpanKind::Consumer, [25, 40])),
        test_span("audit", 1, 0, SpanKind::Consumer, [21, 29]),
        // Work of the last one.
        test_span("audit", 2, 1, SpanKind::Internal, [22, 23]),
    ];
    for turn in 0..reports.len() {
        let mut reports = reports.to_vec();
        reports.rotate_left(turn);
        let found = steps_of_request(&reports);
        let nodes: Vec<&str> = found.iter().map(|(node, ..)| node.as_str()).collect();
        assert_eq!(nodes, ["shop", "mail", "mail", "audit", "audit", "mail"]);
        let parents: Vec<Option<u32>> = found.iter().map(|(_, parent, ..)| *parent).collect();
        assert_eq!(parents, [None, Some(0), Some(0), Some(0), Some(3), Some(0)]);
    }
}

#[test]
fn the_same_report_again_is_a_duplicate_and_another_one_a_part() {
    let whole = test_span("shop", 1, 0, SpanKind::Server, [0, 90]);
    let part = test_span("shop", 1, 0, SpanKind::Server, [0, 0]);
    let (_, _, joined) = join_spans(&[part, whole.clone(), whole.clone(), whole], u64::MAX);
    assert_eq!((joined.spans, joined.duplicates, joined.parts), (1, 2, 1));
}

/// Any reports, of few ids and times, so that they collide.
fn any_reports() -> impl Strategy<Value = Vec<TestSpan>> {
    let kind = prop::sample::select(vec![
        SpanKind::Unknown,
        SpanKind::Internal,
        SpanKind::Client,
        SpanKind::Server,
        SpanKind::Producer,
        SpanKind::Consumer,
    ]);
    let name = prop::sample::select(vec!["", "a", "b", "c"]);
    let host = prop::sample::select(vec!["", "", "h1", "h2"]);
    let time = || prop::option::weighted(0.8, 0..6_i64);
    let ids = (0..2_u128, 1..6_u128, prop::option::of(0..6_u128), any::<bool>());
    let times = (time(), time(), prop::option::weighted(0.1, 0..4_i64), any::<bool>());
    let sizes = (prop::option::of(0..3_i64), prop::option::of(0..3_i64));
    let texts = (name.clone(), host, name.clone(), name, "[xy]{0,2}");
    let one = (ids, kind, times, sizes, texts, prop::option::weighted(0.1, 0..4_u32));
    let one = one.prop_map(|(ids, kind, times, sizes, texts, depth)| {
        let (trace, id, parent, follows) = ids;
        let (begin, end, duration, failed) = times;
        let (node, host, operation, peer, parameter) = texts;
        let parameters = parameter
            .chars()
            .enumerate()
            .map(|(place, letter)| (["k", "l"][place], Cow::Owned(letter.to_string())));
        let span = Span {
            parent: parent.map(TracingId::Number),
            follows,
            depth,
            kind,
            begin: begin.map(|time| 1_000_000 * time),
            end: end.map(|time| 1_000_000 * time),
            duration,
            failed,
            peer: Some(peer),
            bytes_in: sizes.0,
            bytes_out: sizes.1,
            parameters: Box::leak(parameters.collect()),
            ..Span::new(
                TracingId::Number(trace),
                TracingId::Number(id),
                ResourceId::from_index(0),
                operation,
            )
        };
        TestSpan { node, host, span }
    });
    prop::collection::vec(one, 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any reports, in memory or not.
    #[test]
    fn the_order_of_reports_makes_no_difference(
        (ordered, shuffled) in any_reports().prop_flat_map(|all| {
            (Just(all.clone()), Just(all).prop_shuffle())
        }),
        memory in prop_oneof![Just(0), Just(u64::MAX)],
    ) {
        let (requests, names, one) = join_spans(&ordered, u64::MAX);
        let (again, other_names, other) = join_spans(&shuffled, memory);
        prop_assert_eq!(requests_in_words(&requests, &names), requests_in_words(&again, &other_names));
        prop_assert_eq!(one, other);
    }

    /// A span that is split into parts is whole again, for any positions of the parts.
    #[test]
    fn parts_of_spans_are_merged_to_the_spans(
        tree in trees(),
        cuts in prop::collection::vec(0..5_usize, 60),
        order in prop::collection::vec(any::<u64>(), 180),
    ) {
        let whole = spans_of(&tree, "one");
        let mut parts = Vec::new();
        for (made, cut) in whole.iter().zip(&cuts) {
            let with = |change: fn(&mut Span<'_>)| {
                let mut part = made.clone();
                change(&mut part.span);
                part
            };
            match cut {
                0 => parts.push(made.clone()),
                1 => parts.extend([with(|span| span.begin = None), with(|span| span.end = None)]),
                2 => parts.extend([with(|span| span.end = span.begin), made.clone()]),
                3 => parts.extend([with(|span| span.parameters = &[]), made.clone()]),
                _ => parts.extend([
                    made.clone(),
                    with(|span| {
                        (span.begin, span.end, span.kind) = (None, None, SpanKind::Unknown);
                        (span.parent, span.operation) = (None, "");
                    }),
                ]),
            }
        }
        let mut order = order.into_iter().cycle();
        parts.sort_by_cached_key(|_| order.next());
        let (requests, names, _) = join_spans(&whole, u64::MAX);
        let (again, other_names, _) = join_spans(&parts, u64::MAX);
        prop_assert_eq!(requests_in_words(&requests, &names), requests_in_words(&again, &other_names));
    }
}
