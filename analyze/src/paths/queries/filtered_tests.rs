//! Filtered patterns, compared with the table as it was written and with a simple implementation,
//! and by hand.

use std::num::NonZeroUsize;

use message_trace::table::operations::OperationRow;
use message_trace::{MessageTrace, OperationRole};
use proptest::prelude::*;

use super::*;
use crate::fixture::{Fixture, analyzed, operation, some_trace, write_operations};
use crate::options::WorkDivision;
use crate::paths::patterns::pattern::CallOutcomes;
use crate::paths::queries::filter::operation_names;
use crate::{Options, analyze};

fn resources(memory: u64, threads: usize) -> AnalysisResources {
    // Several patterns in a partition.
    let division = WorkDivision { partitions: 2, ..AnalysisResources::default().division };
    AnalysisResources { memory, threads: NonZeroUsize::new(threads), division }
}

fn by_total(one: &PathPattern, other: &PathPattern) -> Ordering {
    other.total_time.total_cmp(&one.total_time)
}

fn left(dir: &DataDir, filter: &PathFilter) -> ChosenPatterns {
    ChosenPatterns::read_filtered(
        dir,
        filter,
        usize::MAX,
        by_total,
        &AnalysisResources::default(),
        &(),
    )
    .unwrap()
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_filter_that_matches_everything_gives_the_patterns_of_the_table(
        trace in some_trace(),
        memory in prop::sample::select(vec![0, 500, 1 << 20]),
        threads in 1usize..4,
        most in prop::sample::select(vec![0, 1, 3, usize::MAX]),
    ) {
        let (_directory, dir) = analyzed(&trace);
        let filter = PathFilter { min_confidence: Some(0.0), ..PathFilter::default() };
        let table = ChosenPatterns::read(dir.patterns_path(), most, by_total).unwrap();
        let again =
            ChosenPatterns::read_filtered(&dir, &filter, most, by_total, &resources(memory, threads), &()).unwrap();
        prop_assert_eq!(&again.patterns, &table.patterns);
        prop_assert_eq!((again.all, again.instances), (table.all, table.instances));
        prop_assert!(close(again.expected, table.expected) && close(again.total_time, table.total_time));
        let none = ChosenPatterns::read_filtered(&dir, &PathFilter::default(), most, by_total, &resources(0, 1), &());
        prop_assert_eq!(none.unwrap(), table);
    }

    #[test]
    fn two_halves_of_a_time_range_add_up(
        trace in some_trace(),
        bounds in (0i64..400, 0i64..400, 0i64..400),
        min_confidence in prop::option::of(0.0f64..1.0),
    ) {
        let (_directory, dir) = analyzed(&trace);
        let mut bounds = [bounds.0, bounds.1, bounds.2];
        bounds.sort_unstable();
        let [from, middle, to] = bounds;
        let range = |from, to| {
            left(&dir, &PathFilter { from: Some(from), to: Some(to), min_confidence, ..PathFilter::default() })
        };
        let (whole, halves) = (range(from, to), [range(from, middle), range(middle, to)]);
        let sum = |value: fn(&ChosenPatterns) -> f64| halves.iter().map(value).sum::<f64>();
        prop_assert_eq!(whole.instances, halves.iter().map(|half| half.instances).sum::<i64>());
        prop_assert!(close(whole.expected, sum(|half| half.expected)));
        prop_assert!(close(whole.total_time, sum(|half| half.total_time)));
        for pattern in &whole.patterns {
            let of = halves.iter().flat_map(|half| half.patterns.iter().filter(|part| part.id == pattern.id));
            let of: Vec<&PathPattern> = of.collect();
            prop_assert_eq!(pattern.count, of.iter().map(|part| part.count).sum::<i64>());
            prop_assert!(close(pattern.expected, of.iter().map(|part| part.expected).sum()));
            prop_assert!(close(pattern.total_time, of.iter().map(|part| part.total_time).sum()));
            let bytes: f64 = of.iter().map(|part| part.hops[0].bytes * part.expected).sum();
            prop_assert!(close(pattern.hops[0].bytes * pattern.expected, bytes));
        }
    }

    #[test]
    fn filtered_patterns_match_the_filter(
        trace in some_trace(),
        least in 0.0f64..1.0,
        is_exact in any::<bool>(),
        through in prop::collection::vec("[abcd]", 1..3),
        patterns in prop::collection::vec(0i64..200, 0..9),
    ) {
        let (_directory, dir) = analyzed(&trace);
        let table = PathPattern::read_all(dir.patterns_path()).unwrap();
        let least = table.first().filter(|_| is_exact).map_or(least, |pattern| pattern.max_probability);
        let likely = left(&dir, &PathFilter { min_confidence: Some(least), ..PathFilter::default() });
        for pattern in &table {
            let of = likely.patterns.iter().find(|part| part.id == pattern.id);
            prop_assert_eq!(of.is_some(), pattern.max_probability >= least);
            prop_assert!(of.is_none_or(|of| of.count <= pattern.count && of.expected >= least * of.count as f64 - 1e-9));
        }
        let passes = |pattern: &PathPattern| {
            let has = |part: &String| pattern.hops.iter().any(|hop| hop.src.contains(part) || hop.dst.contains(part));
            through.iter().all(has) && (patterns.is_empty() || patterns.contains(&pattern.id))
        };
        let expected: Vec<PathPattern> = table.iter().filter(|pattern| passes(pattern)).cloned().collect();
        let filter = PathFilter { through: through.clone(), patterns: patterns.clone(), ..PathFilter::default() };
        prop_assert_eq!(&left(&dir, &filter).patterns, &expected);
        let both = PathFilter { min_confidence: Some(0.0), ..filter };
        prop_assert_eq!(&left(&dir, &both).patterns, &expected);
    }
}

/// Requests a -> b -> c, one after the other; b works for 5, 15, 25 before its call.
fn requests() -> MessageTrace {
    let mut trace = Fixture::new();
    for request in 0..3 {
        let time = request * 1000;
        trace.send("a", "b", time, time + 10).ports(40_000, 80);
        trace.send("b", "c", time + 15 + 10 * request, time + 20 + 10 * request).ports(40_000, 81);
    }
    trace.trace()
}

#[test]
fn a_hand_made_trace_gives_the_expected_figures() {
    let (_directory, dir) = analyzed(&requests());
    let table = PathPattern::read_all(dir.patterns_path()).unwrap();
    let long = table.iter().find(|pattern| pattern.hops.len() == 2).unwrap();
    assert_eq!(long.count, 3);
    let of = |from, to| {
        let filter = PathFilter { from, to, patterns: vec![long.id], ..PathFilter::default() };
        left(&dir, &filter).patterns
    };
    // The second request alone: it takes 30 from beginning to end.
    let [second] = &of(Some(1000), Some(2000))[..] else { panic!() };
    assert_eq!((second.id, second.count, second.duration.p50), (long.id, 1, 30.0));
    assert_eq!(
        (second.total_time, second.hops[1].node.unwrap().p99),
        (30.0 * second.expected, 15.0)
    );
    assert_eq!((second.hops[1].src.as_str(), second.hops[1].parent), ("b", Some(0)));
    // A path that begins at the end of the time is not within it.
    let [first] = &of(None, Some(1000))[..] else { panic!() };
    assert_eq!((first.count, first.hops[1].node.unwrap().p99), (1, 5.0));
    let [later] = &of(Some(1), None)[..] else { panic!() };
    assert_eq!((later.count, later.hops[1].node.unwrap().p99), (2, 25.0));
    assert_eq!(of(Some(5000), None), []);
    let none = PathFilter { patterns: vec![99, -1, i64::MAX], ..PathFilter::default() };
    assert_eq!(left(&dir, &none), ChosenPatterns::default());
    let both = PathFilter { through: vec!["b".into(), "c".into()], ..PathFilter::default() };
    assert!(
        left(&dir, &both)
            .patterns
            .iter()
            .all(|pattern| pattern.hops.iter().any(|hop| hop.dst == "c"))
    );
}

#[test]
fn untraced_latency_is_computed_from_the_matching_instances() {
    let mut trace = Fixture::new().untraced(&["dns"]);
    for (request, answered) in (0..).zip([100, 400]) {
        let time = 1000 * request;
        trace.send("a", "b", time, time + 1).ports(40_000, 80);
        trace.send("b", "dns", time + 2, 0).ports(40_000, 53);
        trace.send("dns", "b", 0, time + 2 + answered).ports(53, 40_000).accepting();
    }
    let (_directory, dir) = analyzed(&trace.trace());
    let of = |from| {
        let filter = PathFilter { from: Some(from), ..PathFilter::default() };
        let patterns = left(&dir, &filter).patterns;
        let hops = patterns.iter().flat_map(|pattern| &pattern.hops);
        hops.filter_map(|hop| Some(hop.untraced?.p99)).collect::<Vec<_>>()
    };
    assert_eq!((of(0), of(1000)), (vec![400.0], vec![400.0]));
    let first = PathFilter { to: Some(1000), ..PathFilter::default() };
    let hops: Vec<Hop> =
        left(&dir, &first).patterns.into_iter().flat_map(|pattern| pattern.hops).collect();
    assert_eq!(hops.iter().filter_map(|hop| Some(hop.untraced?.p99)).collect::<Vec<_>>(), [100.0]);
}

/// Requests x -> web -> db and back, one after the other; each has an operation, and some responses
/// of the web server are errors.
fn shop() -> (tempfile::TempDir, DataDir) {
    let mut trace = Fixture::new();
    for request in 0..6 {
        let (time, flow) = (100_000 * request, 2 * request);
        let port = trace.ephemeral();
        trace.send("x", "web", time, time + 10).ports(port, 80).on(flow);
        trace.send("web", "db", time + 100, time + 110).ports(port, 5432).on(flow + 1);
        trace.send("db", "web", time + 300, time + 310).ports(5432, port).accepting().on(flow + 1);
        trace.send("web", "x", time + 400, time + 410).ports(80, port).accepting().on(flow);
    }
    let directory = tempfile::tempdir().unwrap();
    let dir = DataDir::new(directory.path());
    trace.trace().write(dir.messages_path(), dir.nodes_path()).unwrap();
    let [request_role, response_role, _] = OperationRole::ALL;
    let operations = (0..6).flat_map(|request| {
        let route = ["GET /cart/{}", "POST /order"][request as usize / 4];
        let named = |message, name| OperationRow { name, ..operation(message, request_role) };
        let is_error = request == 1 || request == 5;
        let answered =
            |message, is_error| OperationRow { is_error, ..operation(message, response_role) };
        [
            named(4 * request, route),
            named(4 * request + 1, "SELECT books"),
            answered(4 * request + 2, false),
            answered(4 * request + 3, is_error),
        ]
    });
    write_operations(&dir, &operations.collect::<Vec<_>>());
    analyze(&dir, &Options::default(), &()).unwrap();
    (directory, dir)
}

#[test]
fn operations_distinguish_patterns_and_errors_do_not() {
    let (_directory, dir) = shop();
    let patterns = PathPattern::read_all(dir.patterns_path()).unwrap();
    let seen: Vec<_> = patterns
        .iter()
        .map(|pattern| {
            let asked = pattern.hops.iter().map(|hop| hop.operation.as_deref());
            let ended = pattern.hops.iter().map(|hop| hop.outcomes);
            (pattern.count, asked.collect::<Vec<_>>(), ended.collect::<Vec<_>>())
        })
        .collect();
    let ended = |answers, errors| {
        let error_share = errors as f64 / answers as f64;
        Some(CallOutcomes { answers, errors, error_share })
    };
    let books = Some("SELECT books");
    assert_eq!(
        seen,
        [
            (
                4,
                vec![Some("GET /cart/{}"), books, None, None],
                vec![None, None, ended(4, 0), ended(4, 1)]
            ),
            (
                2,
                vec![Some("POST /order"), books, None, None],
                vec![None, None, ended(2, 0), ended(2, 1)]
            ),
        ]
    );
    let names = operation_names(dir.patterns_path()).unwrap().unwrap();
    assert_eq!(
        names.into_iter().collect::<Vec<_>>(),
        ["GET /cart/{}", "POST /order", "SELECT books"]
    );
    let again = PathFilter { min_confidence: Some(0.0), ..PathFilter::default() };
    assert_eq!(left(&dir, &again).patterns, patterns);
}

#[test]
fn operations_select_patterns_and_errors_select_instances() {
    let (_directory, dir) = shop();
    let counts = |filter: PathFilter| -> Vec<(i64, i64)> {
        let patterns = left(&dir, &filter).patterns;
        patterns.iter().map(|pattern| (pattern.id, pattern.count)).collect()
    };
    let of = |operations: &[&str]| PathFilter {
        operations: operations.iter().map(|name| (*name).to_owned()).collect(),
        ..PathFilter::default()
    };
    assert_eq!(counts(of(&["SELECT books"])), [(0, 4), (1, 2)]);
    assert_eq!(counts(of(&["POST /order", "SELECT books"])), [(1, 2)]);
    assert_eq!(counts(of(&["POST /order", "GET /cart/{}"])), []);
    assert_eq!(counts(of(&["GET /cart"])), [], "the whole name");
    assert_eq!(counts(PathFilter { through: vec!["db".into()], ..of(&["POST /order"]) }), [(1, 2)]);
    let errors = PathFilter { errors: true, ..PathFilter::default() };
    assert_eq!(counts(errors.clone()), [(0, 1), (1, 1)]);
    assert_eq!(counts(PathFilter { errors: true, ..of(&["GET /cart/{}"]) }), [(0, 1)]);
    let failed = left(&dir, &errors).patterns;
    let all_failed = CallOutcomes { answers: 1, errors: 1, error_share: 1.0 };
    assert_eq!(failed[0].hops[3].outcomes, Some(all_failed));
    assert!(!errors.is_empty() && !of(&["x"]).is_empty());
}
