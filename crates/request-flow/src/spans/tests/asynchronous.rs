//! Work that is not waited for: it carries no information about clocks, and stays where it was.

use super::*;

/// A millisecond in nanoseconds.
const MS: i64 = 1_000_000;

/// Ten traces of spans, each a second after the previous one: node, host, id, parent, kind, and the
/// times in milliseconds.
type TestSpanRow = (&'static str, &'static str, u128, u128, SpanKind, [i64; 2]);

fn traces_of_rows(rows: &[TestSpanRow]) -> Vec<TestSpan> {
    let mut spans = Vec::new();
    for trace in 1..=10_i64 {
        for (node, host, id, parent, kind, times) in rows {
            let at = times.map(|time| MS * (1_000 * trace + time));
            let mut span = test_span(node, *id, *parent, *kind, at);
            span.span.trace = TracingId::Number(trace as u128);
            spans.push(TestSpan { host, ..span });
        }
    }
    spans
}

/// Returns the times of a node's step in the last trace in milliseconds, and the clocks that are
/// off.
fn step_in_last_trace(
    spans: &[TestSpan],
    node: &str,
) -> ([Option<i64>; 4], Vec<String>, JoinSummary) {
    let (requests, names, joined) = join_spans(spans, u64::MAX);
    let last = requests.last().unwrap();
    let step = last.steps.iter().find(|step| names.name_of(step.node) == node).unwrap();
    let times = [step.caller_begin, step.begin, step.end, step.caller_end];
    let times = times.map(|time| time.map(|time| (time + MS / 2).div_euclid(MS) - 10_000));
    let off = joined
        .clocks
        .hosts
        .iter()
        .filter(|host| host.offset_ns.saturating_abs() > host.uncertainty_ns.unwrap_or(0));
    (times, off.map(|host| host.host.clone()).collect(), joined)
}

const ROOT: TestSpanRow = ("shop", "h1", 1, 0, SpanKind::Server, [0, 20]);

#[test]
fn a_job_that_begins_after_its_parent_ended_is_no_clock_error() {
    for kind in [
        SpanKind::Unknown,
        SpanKind::Internal,
        SpanKind::Server,
        SpanKind::Client,
        SpanKind::Producer,
        SpanKind::Consumer,
    ] {
        for times in [[300, 310], [300, 350], [15, 19], [15, 40]] {
            let spans = traces_of_rows(&[ROOT, ("mail", "h2", 3, 1, kind, times)]);
            let (placed, off, joined) = step_in_last_trace(&spans, "mail");
            let expected = [None, Some(times[0]), Some(times[1]), None];
            assert_eq!((placed, off), (expected, vec![]), "{kind:?}");
            let late = if times[0] > 20 { 10 } else { 0 };
            assert_eq!((joined.moved, joined.late), (0, late), "{kind:?}");
        }
    }
}

#[test]
fn work_of_another_host_for_a_continuing_task_is_not_cut() {
    let rows = [
        ROOT,
        ("mail", "h2", 3, 1, SpanKind::Internal, [300, 350]),
        ("task", "h1", 2, 1, SpanKind::Internal, [10, 200]),
        ("stock", "h3", 4, 2, SpanKind::Server, [50, 90]),
    ];
    let (stock, off, _) = step_in_last_trace(&traces_of_rows(&rows), "stock");
    assert_eq!((stock, off), ([None, Some(50), Some(90), None], vec![]));
    let (mail, ..) = step_in_last_trace(&traces_of_rows(&rows), "mail");
    assert_eq!(mail, [None, Some(300), Some(350), None]);
}

#[test]
fn a_job_is_not_moved_when_calls_relate_other_hosts() {
    for kind in [SpanKind::Internal, SpanKind::Server, SpanKind::Consumer] {
        let rows = [
            ROOT,
            ("shop", "h1", 2, 1, SpanKind::Client, [5, 15]),
            ("stock", "h3", 4, 2, SpanKind::Server, [6, 14]),
            ("mail", "h2", 3, 1, kind, [300, 310]),
        ];
        let (mail, off, joined) = step_in_last_trace(&traces_of_rows(&rows), "mail");
        assert_eq!((mail, off), ([None, Some(300), Some(310), None], vec![]), "{kind:?}");
        assert_eq!((joined.moved, joined.late), (0, 10), "{kind:?}");
    }
}

#[test]
fn a_server_that_takes_longer_than_its_client_waits_is_not_cut() {
    let rows = [
        ROOT,
        ("shop", "h1", 2, 1, SpanKind::Client, [5, 7]),
        ("mail", "h2", 3, 2, SpanKind::Server, [6, 46]),
    ];
    let (placed, off, joined) = step_in_last_trace(&traces_of_rows(&rows), "mail");
    assert_eq!((placed, off), ([Some(5), Some(6), Some(46), Some(7)], vec![]));
    assert_eq!(joined.moved, 0);
}

#[test]
fn a_following_span_is_not_waited_for() {
    // A call by its name, but marked as following.
    let mut spans = traces_of_rows(&[
        ROOT,
        ("shop", "h1", 2, 1, SpanKind::Unknown, [5, 15]),
        ("mail", "h2", 3, 2, SpanKind::Unknown, [14, 18]),
    ]);
    for made in spans.iter_mut().filter(|made| made.node == "mail") {
        made.span.follows = true;
    }
    let (placed, off, _) = step_in_last_trace(&spans, "mail");
    assert_eq!((placed, off), ([Some(5), Some(14), Some(18), None], vec![]));
}

#[test]
fn awaited_calls_determine_clocks_despite_other_work() {
    for (ahead, kind) in [(5_000, SpanKind::Consumer), (-5_000, SpanKind::Internal)] {
        let rows = [
            ROOT,
            ("shop", "h1", 2, 1, SpanKind::Client, [5, 15]),
            ("stock", "h2", 3, 2, SpanKind::Server, [6 + ahead, 14 + ahead]),
            ("mail", "h2", 4, 1, kind, [300 + ahead, 310 + ahead]),
        ];
        let (mail, off, joined) = step_in_last_trace(&traces_of_rows(&rows), "mail");
        assert_eq!((mail, off), ([None, Some(300), Some(310), None], vec!["h2".to_owned()]));
        assert_eq!((joined.moved, joined.late), (0, 10));
    }
}

#[test]
fn work_that_would_begin_before_its_cause_shows_a_clock_error() {
    for kind in [SpanKind::Internal, SpanKind::Server, SpanKind::Consumer] {
        let rows = [ROOT, ("mail", "h2", 3, 1, kind, [-290, -280])];
        let (mail, off, _) = step_in_last_trace(&traces_of_rows(&rows), "mail");
        assert_eq!(off, ["h2"], "{kind:?}");
        assert!(mail[1] >= Some(0), "{kind:?}: {mail:?}");
    }
}

#[test]
fn a_consumer_that_waited_for_its_message_is_no_clock_error() {
    let rows = [
        ROOT,
        ("shop", "h1", 2, 1, SpanKind::Producer, [5, 6]),
        ("mail", "h2", 3, 2, SpanKind::Consumer, [-400, 8]),
    ];
    let (_, off, joined) = step_in_last_trace(&traces_of_rows(&rows), "mail");
    // The step begins when its message was sent, and the move is counted.
    assert_eq!((off, joined.moved), (vec![], 10));
}
