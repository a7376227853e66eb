//! Tests of the whole analysis: a small system with a known call structure, and properties of
//! random traces.

use proptest::prelude::*;

use super::*;
use message_trace::{Message, MessageTrace};

use crate::fixture::{Fixture, some_trace};
use crate::infer::ALGORITHMS;
use crate::links::Links;
use crate::options::Algorithm;
use crate::paths::{PathInstances, PathPattern};

/// Returns the algorithm with this name.
fn named(name: &str) -> Algorithm {
    name.parse().unwrap()
}

/// Two clients, each with `requests` sequential requests: one through web and app to db, twice; the
/// other only to web. Times differ a little from request to request.
fn system(requests: i64) -> MessageTrace {
    let mut trace = Fixture::new();
    for request in 0..requests {
        let wobble = request * 7 % 5;
        let mut time = request * 10_000;
        for (src, dst, answers) in [
            ("load", "web", false),
            ("web", "app", false),
            ("app", "db", false),
            ("db", "app", true),
            ("app", "db", false),
            ("db", "app", true),
            ("app", "web", true),
            ("web", "load", true),
        ] {
            hop(&mut trace, src, dst, time, answers);
            time += 150 + wobble;
        }
        time += 2000;
        hop(&mut trace, "probe", "web", time, false);
        hop(&mut trace, "web", "probe", time + 150 + wobble, true);
    }
    trace.trace()
}

fn hop(trace: &mut Fixture, src: &str, dst: &str, time: i64, answers: bool) {
    let port = |name: &str| match name {
        "web" => 80,
        "app" => 81,
        _ => 82,
    };
    if answers {
        trace.send(src, dst, time, time + 50).ports(port(src), 40_000).accepting();
    } else {
        trace.send(src, dst, time, time + 50).ports(40_000, port(dst));
    }
}

/// The output of an analysis of a trace.
struct AnalysisOutput {
    totals: AnalysisTotals,
    links: Links,
    instances: PathInstances,
    patterns: Vec<PathPattern>,
}

/// Analyzes `trace` and reads the output.
fn analyzed(trace: &MessageTrace, options: &Options) -> AnalysisOutput {
    let directory = tempfile::tempdir().unwrap();
    let dir = DataDir::new(directory.path());
    trace.write(dir.messages_path(), dir.nodes_path()).unwrap();
    let totals = analyze(&dir, options, &()).unwrap().totals;
    let links = Links::read(dir.links_path()).unwrap();
    let instances = PathInstances::read(dir.paths_path()).unwrap();
    AnalysisOutput {
        totals,
        links,
        instances,
        patterns: PathPattern::read_all(dir.patterns_path()).unwrap(),
    }
}

#[test]
fn the_patterns_of_a_small_system_are_its_call_structure() {
    let trace = system(50);
    let AnalysisOutput { totals, patterns, .. } = analyzed(&trace, &Options::default());
    let shape = |pattern: &PathPattern| -> Vec<(usize, String, String)> {
        pattern.hops.iter().map(|hop| (hop.depth, hop.src.clone(), hop.dst.clone())).collect()
    };
    let hop = |depth, src: &str, dst: &str| (depth, src.to_owned(), dst.to_owned());
    let long = [
        hop(0, "load", "web"),
        hop(1, "web", "app"),
        hop(2, "app", "db"),
        hop(3, "db", "app"),
        hop(4, "app", "db"),
        hop(5, "db", "app"),
        hop(6, "app", "web"),
        hop(7, "web", "load"),
    ];
    let short = [hop(0, "probe", "web"), hop(1, "web", "probe")];
    let expected: f64 = patterns.iter().map(|pattern| pattern.expected).sum();
    let known = patterns.iter().filter(|pattern| shape(pattern) == long || shape(pattern) == short);
    let known: Vec<&PathPattern> = known.collect();
    assert_eq!(known.iter().map(|pattern| pattern.count).collect::<Vec<_>>(), [50, 50]);
    assert!(known.iter().map(|pattern| pattern.expected).sum::<f64>() > 0.95 * expected);
    assert_eq!(known[0].hops[1].node.map(|node| node.mean.round()), Some(102.0));
    assert_eq!(totals.messages, 500);
    assert_eq!(totals.roots, 100);
}

#[test]
fn a_summary_is_read_back_and_nothing_else_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let dir = DataDir::new(directory.path());
    system(5).write(dir.messages_path(), dir.nodes_path()).unwrap();
    let summary = analyze(&dir, &Options::default(), &()).unwrap();
    assert_eq!(AnalysisSummary::read(dir.analysis_path()).unwrap(), summary);
    let mut files: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    files.sort();
    let tables =
        ["links.parquet", "messages.parquet", "nodes.parquet", "paths.parquet", "patterns.parquet"];
    assert_eq!(files[0], "analysis.json");
    assert_eq!(files[1..], tables);
}

/// Equal requests, one every 10 us, so that every batch has the same delays.
fn alike(requests: i64) -> MessageTrace {
    let mut trace = Fixture::new();
    for request in 0..requests {
        let time = request * 10_000;
        let client = format!("client#{}", request % 5);
        trace.send(&client, "web", time, time + 50).ports(40_000, 80).on(request % 5);
        trace.send("web", "app", time + 300, time + 350).ports(40_000, 81).on(9);
        trace.send("app", "web", time + 900, time + 950).ports(81, 40_000).accepting().on(9);
        trace
            .send("web", &client, time + 1300, time + 1350)
            .ports(80, 40_000)
            .accepting()
            .on(request % 5);
    }
    trace.trace()
}

#[test]
fn algorithms_that_infer_calls_use_their_ids() {
    // Two calls are open at a time on each connection; by their ids the later one is answered
    // first.
    let mut fixture = Fixture::new();
    for pair in 0..50 {
        let time = pair * 10_000;
        for (src, sent) in [("c", time), ("c", time + 100)] {
            fixture.send(src, "web", sent, sent + 50).ports(40_000, 80);
            fixture.send("web", "app", sent + 60, sent + 70).ports(40_001, 81).on(1);
        }
        for (ended, name) in [(time + 400, "web"), (time + 900, "web")] {
            fixture.send("app", name, ended, ended + 50).ports(81, 40_001).on(1).accepting();
            fixture.send(name, "c", ended + 60, ended + 110).ports(80, 40_000).accepting();
        }
    }
    let plain = fixture.trace();
    let mut with_ids = MessageTrace::new(plain.nodes.clone());
    for (row, message) in plain.messages().enumerate() {
        let endpoints =
            [message.src_endpoint, message.dst_endpoint].map(|end| plain.endpoint(end).unwrap());
        let [src_endpoint, dst_endpoint] = endpoints.map(|endpoint| with_ids.intern(endpoint));
        // Eight rows per pair of calls: c1, w1, c2, w2, then the responses to w2 and c2, and to w1
        // and c1.
        let id = ["c1", "w1", "c2", "w2", "w2", "c2", "w1", "c1"][row % 8];
        with_ids.push(
            &Message { src_endpoint, dst_endpoint, ..message },
            Some(&format!("{id}/{}", row / 8)),
        );
    }
    for (algorithm, uses_ids) in [
        (named("auto"), true),
        (named("nesting"), true),
        (named("linking"), false),
        (named("convolution"), false),
    ] {
        let links = |trace| analyzed(trace, &Options { algorithm, ..Options::default() }).links;
        assert_eq!(links(&with_ids) != links(&plain), uses_ids, "{algorithm}");
        assert_eq!(algorithm.begin_inference().looks_for_calls(), uses_ids, "{algorithm}");
    }
}

#[test]
fn batches_give_the_same_result_as_the_whole_trace() {
    let trace = alike(60);
    for algorithm in [named("auto"), named("linking"), named("nesting")] {
        let in_stretches = |stretch| {
            analyzed(&trace, &Options { algorithm, window: 5_000, stretch, ..Options::default() })
        };
        let whole = in_stretches(1000);
        let shape = |pattern: &PathPattern| -> Vec<_> {
            pattern
                .hops
                .iter()
                .map(|hop| (hop.depth, hop.src.clone(), hop.dst.clone(), hop.dst_port.clone()))
                .collect()
        };
        let counts = |of: &AnalysisOutput| -> Vec<_> {
            of.patterns.iter().map(|pattern| (shape(pattern), pattern.count)).collect()
        };
        assert_eq!(whole.patterns[0].count, 60, "{algorithm}");
        // Batch boundaries lie within requests.
        for stretch in [41, 50, 79, 101, 163] {
            let parts = in_stretches(stretch);
            assert_eq!(counts(&parts), counts(&whole), "{algorithm} {stretch}");
            assert_eq!(parts.totals.messages, 240);
            assert_eq!(
                (parts.totals.links, parts.totals.span),
                (whole.totals.links, whole.totals.span)
            );
            for message in trace.ids() {
                let likely = |of: &AnalysisOutput| {
                    of.links.likeliest_parent(message).map(|(parent, _)| parent)
                };
                assert_eq!(likely(&parts), likely(&whole), "{algorithm} {stretch} {message:?}");
            }
            let messages = |of: &AnalysisOutput| -> Vec<Vec<MessageId>> {
                of.instances.iter().map(|instance| instance.messages.to_vec()).collect()
            };
            assert_eq!(messages(&parts), messages(&whole), "{algorithm} {stretch}");
        }
    }
}

/// The same requests. Three pairs of hosts serve them alternately, and every fourth request makes
/// calls to two apps.
fn replicas(requests: i64) -> MessageTrace {
    let mut trace = Fixture::new();
    for request in 0..requests {
        let (time, flow, host) =
            (request * 10_000, request % 3, |of: i64| ["one", "two", "three"][of as usize % 3]);
        let (client, web) = (format!("c/client#{flow}"), format!("web-{}/web", host(request)));
        let apps = [format!("app-{}/app", host(request)), format!("app-{}/app", host(request + 1))];
        trace.send(&client, &web, time, time + 50).ports(40_000, 80).on(flow);
        let mut now = time + 50;
        for (place, app) in apps.iter().enumerate().take(if request % 4 == 0 { 2 } else { 1 }) {
            let flow = 10 + 10 * place as i64 + flow;
            trace.send(&web, app, now + 300, now + 350).ports(40_000, 81).on(flow);
            trace.send(app, &web, now + 900, now + 950).ports(81, 40_000).accepting().on(flow);
            now += 950;
        }
        trace.send(&web, &client, now + 300, now + 350).ports(80, 40_000).accepting().on(flow);
    }
    trace.trace()
}

#[test]
fn batches_by_roles_give_the_result_of_the_whole_trace_with_the_links_by_names() {
    let trace = replicas(72);
    for algorithm in [named("auto"), named("linking"), named("nesting")] {
        let found = |stretch, roles| {
            let options =
                Options { algorithm, window: 5_000, stretch, roles, ..Options::default() };
            analyzed(&trace, &options)
        };
        let shapes = |of: &AnalysisOutput| -> Vec<_> {
            let shape = |pattern: &PathPattern| -> String {
                pattern.hops.iter().map(|hop| format!("{}>{} ", hop.src, hop.dst)).collect()
            };
            of.patterns.iter().map(|pattern| (shape(pattern), pattern.count)).collect()
        };
        let (names, whole) = (found(1000, false), found(1000, true));
        assert_eq!(names.patterns.len(), 6, "{algorithm}");
        let one = "client>web web>app app>web web>client ".to_owned();
        let two = "client>web web>app app>web web>app#2 app#2>web web>client ".to_owned();
        assert_eq!(shapes(&whole), [(one, 54), (two, 18)], "{algorithm}");
        assert_eq!(whole.links, names.links, "{algorithm}: roles do not change the links");
        let messages = |of: &AnalysisOutput| -> Vec<Vec<MessageId>> {
            of.instances.iter().map(|instance| instance.messages.to_vec()).collect()
        };
        assert_eq!(messages(&whole), messages(&names), "{algorithm}");
        // Batch boundaries lie within requests.
        for stretch in [41, 79, 101] {
            let parts = found(stretch, true);
            assert_eq!(shapes(&parts), shapes(&whole), "{algorithm} {stretch}");
            assert_eq!(messages(&parts), messages(&whole), "{algorithm} {stretch}");
        }
    }
}

#[test]
fn an_empty_trace_gives_an_empty_result() {
    let found = analyzed(&MessageTrace::default(), &Options::default());
    assert_eq!(found.totals, AnalysisTotals::default());
    assert_eq!(
        (found.links.message_count(), found.instances.len(), found.patterns.len()),
        (0, 0, 0)
    );
}

#[test]
fn a_malformed_summary_is_an_error_that_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("analysis.json");
    std::fs::write(&path, "{").unwrap();
    assert!(AnalysisSummary::read(&path).unwrap_err().to_string().contains("analysis.json"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn links_sum_to_one_and_come_from_messages_received_before(
        trace in some_trace(),
        window in 1i64..200,
        clients_start_paths in any::<bool>(),
        entry in prop::sample::select(ALGORITHMS.to_vec()),
    ) {
        let algorithm = Algorithm::from(entry);
        let options = Options { algorithm, window, clients_start_paths, ..Options::default() };
        let AnalysisOutput { links, instances, patterns, .. } = analyzed(&trace, &options);
        for child in trace.ids() {
            let parents = links.parents_here(child);
            let total: f64 = parents.clone().map(|(_, probability)| probability).sum();
            prop_assert!((total + links.spontaneous_probability(child) - 1.0).abs() < 1e-9);
            let sent = trace.message(child);
            for (parent, probability) in parents {
                prop_assert!(probability > 0.0 && probability <= 1.0);
                prop_assert!(parent != child);
                let cause = trace.message(parent);
                prop_assert_eq!(cause.dst, sent.src);
                // A cause has arrived with its first byte. If the node has no time of its own, the
                // times of its peers are used; but with auto, messages of an untraced node are
                // caused by messages of their receiver.
                let delay = sent.send_ts.or(sent.arrival_time()).unwrap() - cause.arrival_time().or(cause.send_ts).unwrap();
                if algorithm != named("auto") {
                    prop_assert!(sent.send_ts.is_none() || cause.recv_ts.is_some());
                    prop_assert!(sent.send_ts.is_some() || cause.src == sent.dst);
                }
                // The window applies to the linking algorithm only.
                prop_assert!(delay >= 0 && (algorithm != named("linking") || delay <= window));
            }
        }
        let counted: i64 = patterns.iter().map(|pattern| pattern.count).sum();
        prop_assert_eq!(counted as usize, instances.len());
        for (number, pattern) in patterns.iter().enumerate() {
            let of = instances.iter().filter(|instance| instance.pattern as usize == number);
            let expected: f64 = of.map(|instance| instance.probability).sum();
            prop_assert!((expected - pattern.expected).abs() < 1e-9);
            prop_assert!(pattern.max_probability <= 1.0 && pattern.max_probability <= expected + 1e-9);
        }
    }
}
