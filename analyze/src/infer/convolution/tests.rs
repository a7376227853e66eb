//! The convolution algorithm on synthetic systems with known paths and delays.

use message_trace::{MessageTrace, NodeId};

use super::*;
use crate::fixture::Fixture;
use crate::naming::Naming;
use crate::options::Options;

const MS: i64 = 1_000_000;

/// Steps of 1 ms, and delays up to 500 ms.
fn options() -> Options {
    let mut options = Options { window: 500 * MS, ..Options::default() };
    options.convolution.time_step = Some(MS);
    options
}

/// `requests` at random times, every 100 ms on average, each made by `request` from its number and
/// time.
fn system(requests: i64, mut request: impl FnMut(&mut Fixture, i64, i64)) -> MessageTrace {
    let mut trace = Fixture::new();
    let mut random = 1_u64;
    let mut time = 0;
    for number in 0..requests {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        time += (random >> 33) as i64 % (200 * MS);
        request(&mut trace, number, time);
    }
    trace.trace()
}

/// A message from `src` to `dst` after `tenths` tenths of a millisecond, received immediately;
/// requests go to a port of the callee.
fn hop(trace: &mut Fixture, src: &str, dst: &str, time: i64, tenths: i64, answers: bool) {
    let port = |name: &str| 80 + u16::from(name.as_bytes()[0]);
    let time = time + tenths * MS / 10;
    if answers {
        trace.send(src, dst, time, time).ports(port(src), 40_000).accepting();
    } else {
        trace.send(src, dst, time, time).ports(40_000, port(dst));
    }
}

fn graph(trace: &MessageTrace, options: &Options) -> PathGraph {
    ConvolutionAlgorithm.build_graph(&InferenceInput::without_progress(
        trace,
        &Naming::new(trace, options),
        options,
    ))
}

/// Each path as its nodes and delays.
fn paths(trace: &MessageTrace, options: &Options) -> Vec<String> {
    let mut paths: Vec<String> = graph(trace, options)
        .paths()
        .into_iter()
        .map(|path| {
            let delays = path
                .delays
                .iter()
                .map(|delay| delay.map_or(String::new(), |ns| (ns / MS).to_string()));
            path.nodes[1..].iter().zip(delays).fold(path.nodes[0].clone(), |text, (node, delay)| {
                format!("{text} {delay}> {node}")
            })
        })
        .collect();
    paths.sort_unstable();
    paths
}

/// A calls B, B calls C, with a delay that differs a little from request to request.
fn rpc(trace: &mut Fixture, number: i64, time: i64) {
    let wobble = number * 7 % 10;
    hop(trace, "a", "b", time, 0, false);
    hop(trace, "b", "c", time, 100 + wobble, false);
    hop(trace, "c", "b", time, 300 + wobble, true);
    hop(trace, "b", "a", time, 350 + wobble, true);
}

#[test]
fn the_path_of_a_call_and_the_call_that_it_makes() {
    // 5.3.1 says that A -> B -> A would be reported, too: it is accidentally short.
    let trace = system(300, rpc);
    assert_eq!(paths(&trace, &options()), ["a > b 10> c 20> b 5> a"]);
    let graph = graph(&trace, &options());
    assert_eq!(graph.edges().iter().map(GraphEdge::message_count).collect::<Vec<_>>(), [300; 4]);
}

#[test]
fn kinds_of_requests_have_separate_paths() {
    let trace = system(600, |trace, number, time| {
        if number % 3 == 0 {
            hop(trace, "a", "b", time, 0, false);
            hop(trace, "b", "a", time, 70, true);
        } else {
            rpc(trace, number, time);
        }
    });
    assert_eq!(paths(&trace, &options()), ["a > b 10> c 20> b 5> a", "a > b 7> a"]);
}

#[test]
fn a_node_may_occur_several_times_in_a_path() {
    let trace = system(300, |trace, _, time| {
        hop(trace, "a", "b", time, 0, false);
        for (call, tenths) in [("c", 100), ("c", 300), ("d", 600)] {
            hop(trace, "b", call, time, tenths, false);
            hop(trace, call, "b", time, tenths + 80, true);
        }
        hop(trace, "b", "a", time, 750, true);
    });
    let path = "a > b 10> c 8> b 12> c 8> b 22> d 8> b 7> a";
    assert_eq!(paths(&trace, &options()), [path]);
}

/// Unlike the nesting algorithm (section 5.3.1), convolution follows forwarded calls: B forwards
/// the call to C, which replies to A.
#[test]
fn calls_may_be_forwarded() {
    let trace = system(300, |trace, _, time| {
        hop(trace, "a", "b", time, 0, false);
        hop(trace, "b", "c", time, 100, false);
        hop(trace, "c", "a", time, 300, true);
    });
    assert_eq!(paths(&trace, &options()), ["a > b 10> c 20> a"]);
}

/// The same holds if B replies before it makes the call that the request causes, as a write-back
/// cache does.
#[test]
fn a_reply_may_come_before_what_the_request_causes() {
    let trace = system(300, |trace, _, time| {
        hop(trace, "a", "b", time, 0, false);
        hop(trace, "b", "a", time, 50, true);
        hop(trace, "b", "c", time, 400, false);
    });
    assert_eq!(paths(&trace, &options()), ["a > b 40> c", "a > b 5> a"]);
}

#[test]
fn a_few_messages_are_noise() {
    let trace = system(9, rpc);
    assert!(paths(&trace, &options()).is_empty());
    let mut less = options();
    less.convolution.least_messages = 8;
    // 10.0 to 10.8 ms are mostly 11 quanta apart here.
    assert_eq!(paths(&trace, &less), ["a > b 11> c 20> b 5> a"]);
}

#[test]
fn messages_without_a_common_delay_have_no_path() {
    // C is called at times that are unrelated to B's requests.
    let trace = system(400, |trace, number, time| match number % 2 {
        0 => hop(trace, "a", "b", time, 0, false),
        _ => hop(trace, "b", "c", time, 0, false),
    });
    assert_eq!(paths(&trace, &options()), ["a > b", "b > c"]);
}

#[test]
fn messages_with_delays_within_v_are_selected() {
    // Delays of 10 to 29 ms, all equally frequent.
    let trace = system(400, |trace, number, time| {
        hop(trace, "a", "b", time, 0, false);
        hop(trace, "b", "c", time, 100 + 10 * (number % 20), false);
    });
    let selected = |v: i64| {
        let mut options = options();
        options.convolution.variation = Some(v * MS);
        let graph = graph(&trace, &options);
        graph
            .edges()
            .iter()
            .filter(|edge| edge.delay.is_some())
            .map(GraphEdge::message_count)
            .max()
            .unwrap_or(0)
    };
    let (narrow, wide) = (selected(1), selected(20));
    assert!((60..150).contains(&narrow), "{narrow}");
    assert!(wide >= 395, "{wide}");
}

#[test]
fn a_closed_loop_ends() {
    // The client sends the next request 20 ms after the response, and its requests may be caused by
    // responses.
    let mut trace = Fixture::new();
    for request in 0..500_i64 {
        let time = request * 50 * MS + request * request % 7 * MS;
        hop(&mut trace, "a", "b", time, 0, false);
        hop(&mut trace, "b", "a", time, 300, true);
    }
    let trace = trace.trace();
    let options = Options { clients_start_paths: false, ..options() };
    let paths = graph(&trace, &options).paths();
    assert!(paths.iter().all(|path| path.nodes.len() < 10), "{paths:?}");
    assert!(paths.iter().any(|path| path.nodes[..3] == ["a", "b", "a"]), "{paths:?}");
}

#[test]
fn links_lead_to_the_message_at_the_delay() {
    let trace = system(300, rpc);
    let options = options();
    let links = ConvolutionAlgorithm.infer_links(&InferenceInput::without_progress(
        &trace,
        &Naming::new(&trace, &options),
        &options,
    ));
    // Messages of a request are adjacent unless requests overlap.
    let mut right = 0;
    for child in trace.ids() {
        let sent = trace.message(child);
        let name = |node: NodeId| trace.nodes.0[node.index()].command.as_str();
        let likeliest = links.likeliest_parent(child);
        let Some(parent) = likeliest.and_then(|(parent, _)| parent.here()) else {
            assert_eq!(name(sent.src), "a", "{child:?} is spontaneous");
            right += 1;
            continue;
        };
        let delay = sent.send_ts.unwrap() - trace.recv_ts(parent).unwrap();
        let usual = match (name(sent.src), name(sent.dst)) {
            ("b", "c") => 10 * MS..11 * MS,
            ("c", "b") => 20 * MS..20 * MS + 1,
            _ => 5 * MS..5 * MS + 1,
        };
        right += usize::from(usual.contains(&delay));
    }
    assert!(right > trace.len() * 98 / 100, "{right} of {}", trace.len());
}

#[test]
fn times_at_the_ends_of_the_range_do_not_overflow() {
    let mut trace = Fixture::new();
    for time in [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX] {
        trace.send("a", "b", time, time);
        trace.send("b", "c", time, time).ports(40_001, 81);
    }
    let trace = trace.trace();
    for (window, step) in
        [(i64::MAX, Some(1 << 50)), (1, Some(1 << 55)), (i64::MAX, Some(i64::MAX))]
    {
        let mut options = Options { window, ..Options::default() };
        options.convolution.time_step = step;
        options.convolution.least_messages = 1;
        let links = ConvolutionAlgorithm.infer_links(&InferenceInput::without_progress(
            &trace,
            &Naming::new(&trace, &options),
            &options,
        ));
        assert_eq!(links.message_count(), 12);
    }
}
