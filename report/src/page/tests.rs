//! The data of the page as a whole, from hand-written patterns and instances.

use analyze::paths::{CallOutcomes, InstanceRow, TimedHop};
use serde_json::Value;

use super::*;
use crate::sample_reports;

/// The time at which the trace begins, in nanoseconds since the Unix epoch.
const BEGIN: i64 = 1_700_000_000_000_000_000;

fn report(patterns: &[PathPattern]) -> Report<'_> {
    Report::new(patterns, crate::TraceMeta { begin: Some(BEGIN), ..sample_reports::sample_meta() })
}

/// Adds `number` instances of a pattern. Their delays are the means of the pattern times a factor,
/// which is a tenth larger each time.
fn add(builder: &mut PageBuilder<'_>, pattern: &PathPattern, number: i64) {
    let timing = analyze::paths::timing::PatternTiming::from_pattern(pattern);
    for index in 0..number {
        let factor = 1.0 + index as f64 / 10.0;
        let start = BEGIN + index * 1_000_000_000;
        let at = |time: f64| start + (time * factor) as i64;
        let hop = |(place, hop): (usize, &analyze::paths::Hop)| TimedHop {
            parent: hop.parent.map(|parent| parent as u32),
            depth: hop.depth as u32,
            message: 0,
            sent: hop.src_traced.then(|| at(timing.sent[place])),
            received: hop.dst_traced.then(|| at(timing.received[place])),
            bytes: 0,
            connecting: 0,
            is_error: None,
        };
        let hops: Vec<TimedHop> = pattern.hops.iter().enumerate().map(hop).collect();
        let which = InstanceRow { path: index, pattern: pattern.id, probability: 0.5 };
        builder.add_instance(&TimedInstance { which, hops: &hops });
    }
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn an_overview_has_all_patterns_by_rank() {
    let patterns = sample_reports::small_system();
    let report = report(&patterns);
    let mut builder = PageBuilder::new(&report, &Options::default());
    add(&mut builder, &patterns[0], 3);
    let page = builder.finish().unwrap();
    let overview = json(&page.overview);
    let ranked = report.ranked_patterns(&Options::default());
    let ids: Vec<i64> = ranked.iter().map(|pattern| pattern.id).collect();
    assert_eq!(overview["patterns"]["id"], serde_json::json!(ids));
    assert_eq!(overview["begin"], 1_700_000_000_000i64);
    assert_eq!(overview["notes"].as_array().unwrap().len(), 2, "what did not happen is left out");
    let decided = serde_json::json!([["tasks", 1_092], ["words", 72], ["inferred", 36]]);
    assert_eq!(overview["evidence"]["decided"], decided);
    let limit = overview["evidence"]["limits"][0].as_str().unwrap();
    assert!(limit.starts_with("gateway: Python 3.15, tasks are not followed"), "{limit}");
    let names = overview["names"].as_array().unwrap();
    let place = ids.iter().position(|id| *id == patterns[1].id).unwrap();
    let route: Vec<(&str, bool)> = overview["patterns"]["nodes"][place]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node.as_u64().unwrap() as usize)
        .map(|node| (names[node / 2].as_str().unwrap(), node % 2 == 1))
        .collect();
    assert_eq!(route, crate::label::visited_nodes(&patterns[1].hops, 9));
    let series = &overview["series"];
    assert_eq!(
        series["expected"].as_array().unwrap().len(),
        crate::tuning::SLICES / 20,
        "there are few paths"
    );
    let expected: f64 =
        series["expected"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).sum();
    assert!((expected - 1.5).abs() < 1e-9);
}

#[test]
fn known_operations_and_outcomes_are_included() {
    let mut patterns = [sample_reports::lookup_pattern()];
    let page = |patterns: &[PathPattern]| {
        let report = report(patterns);
        let mut builder = PageBuilder::new(&report, &Options::default());
        add(&mut builder, &patterns[0], 3);
        let page = builder.finish().unwrap();
        (json(&page.overview), json(&page.details[0])[0].clone())
    };
    let (overview, details) = page(&patterns);
    assert!(overview["patterns"].get("asked").is_none() && details["hops"].get("errors").is_none());
    let (first, last) = (0, patterns[0].hops.len() - 1);
    patterns[0].hops[first].operation = Some("GET /cart/{}".to_owned());
    let outcomes = CallOutcomes { answers: 4, errors: 1, error_share: 0.25 };
    patterns[0].hops[last].outcomes = Some(outcomes);
    let (overview, details) = page(&patterns);
    let name = |number: &Value| overview["names"][number.as_u64().unwrap() as usize].clone();
    assert_eq!(name(&overview["patterns"]["asked"][0]), "GET /cart/{}");
    assert_eq!(overview["patterns"]["errors"][0], 0.25);
    let port = name(&details["hops"]["port"][first]);
    assert!(port.as_str().unwrap().ends_with(" GET /cart/{}"), "{port}");
    assert_eq!(details["hops"]["errors"][last], 0.25);
}

#[test]
fn one_sided_messages_have_their_nodes() {
    let patterns = sample_reports::small_system();
    let report = report(&patterns);
    let mut builder = PageBuilder::new(&report, &Options::default());
    let one = |to: &str, messages| OneSided {
        from: "web".to_owned(),
        to: to.to_owned(),
        protocol: message_trace::TransportProtocol::Tcp,
        missing: analyze::MissingEnd::Receipt,
        traced: true,
        messages,
        flows: 2,
        bytes: 300,
    };
    let found: Vec<OneSided> =
        (0..300).map(|number| one(&format!("app\u{1b}{number}"), 3)).collect();
    builder.set_one_sided(&found);
    let overview = json(&builder.finish().unwrap().overview);
    // The count covers all pairs, though only some are named; and names are escaped.
    assert_eq!(overview["one_sided"]["messages"], 900);
    let between = overview["one_sided"]["between"].as_array().unwrap();
    assert_eq!(between.len(), 200);
    assert!(!between[0]["to"].as_str().unwrap().contains('\u{1b}'), "{}", between[0]);
    assert_eq!((&between[0]["missing"], &between[0]["traced"]), (&"receipt".into(), &true.into()));
}

#[test]
fn details_have_distributions_and_instances() {
    let patterns = [sample_reports::lookup_pattern()];
    let report = report(&patterns);
    let mut builder = PageBuilder::new(&report, &Options::default());
    add(&mut builder, &patterns[0], 40);
    let page = builder.finish().unwrap();
    let details = &json(&page.details[0])[0];
    let delays = details["delays"].as_array().unwrap();
    let of = |hop: u64, part: &str| {
        delays.iter().find(|delay| delay["hop"] == hop && delay["part"] == part).unwrap()
    };
    // All instances are in each distribution, with their probability.
    for delay in delays {
        let weights: f64 = delay["histogram"]
            .as_array()
            .unwrap()
            .iter()
            .skip(2)
            .step_by(2)
            .map(|weight| weight.as_f64().unwrap())
            .sum();
        assert!((weights - 20.0).abs() < 1e-3, "{delay}");
    }
    assert_eq!(of(3, "untraced")["mean"], 2_200_000);
    // From 2.2 ms to 2.2 ms times 4.9: from 2^21.07 to 2^23.36 ns, in 256 bins per doubling.
    let bins: Vec<u64> = of(3, "untraced")["histogram"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .step_by(2)
        .map(|bin| bin.as_u64().unwrap())
        .collect();
    assert_eq!((bins.first(), bins.last()), (Some(&5393), Some(&5980)));
    assert_eq!(details["critical"], serde_json::json!({"hop": 3, "part": "untraced"}));
    let instances = details["instances"].as_array().unwrap();
    assert_eq!(instances.len(), MAX_INSTANCES);
    assert_eq!(instances.last().unwrap()["path"], 39, "the slowest is there");
    assert_eq!(instances.last().unwrap()["probability"], 0.5);
    assert_eq!(instances.last().unwrap()["at"], 39_000_000_000i64);
    assert_eq!(details["tree"].as_array().unwrap().len(), 6);
    assert_eq!(details["hops"]["parent"], serde_json::json!([-1, 0, 1, 2, 3, 4]));
    let ends =
        |hop: &analyze::paths::Hop| u64::from(hop.src_traced) + 2 * u64::from(hop.dst_traced);
    let traced: Vec<u64> = patterns[0].hops.iter().map(ends).collect();
    assert_eq!(details["hops"]["traced"], serde_json::json!(traced));
    assert!(traced.contains(&1) && traced.contains(&2), "10.0.0.2 was not traced: {traced:?}");
}

#[test]
fn patterns_not_in_the_page_count_only_over_time() {
    let patterns = sample_reports::small_system();
    let report = report(&patterns[..1]);
    let mut builder = PageBuilder::new(&report, &Options::default());
    add(&mut builder, &patterns[1], 4);
    let page = builder.finish().unwrap();
    assert_eq!(json(&page.details[0])[0]["duration"]["histogram"], serde_json::json!([]));
    // Slices are several seconds long.
    assert_eq!(json(&page.overview)["series"]["expected"][0], 1);
}

#[test]
fn long_and_many_patterns_are_limited() {
    let long = sample_reports::pipeline_pattern(0, 20_000);
    let report = report(std::slice::from_ref(&long));
    let mut builder = PageBuilder::new(&report, &Options::default());
    add(&mut builder, &long, 3);
    let page = builder.finish().unwrap();
    assert!(page.details[0].len() < 1_000_000, "{}", page.details[0].len());
    assert_eq!(json(&page.details[0])[0]["omitted"], 20_000 - MAX_HOPS);

    let many = sample_reports::many_patterns(10_000);
    let report = self::report(&many);
    let mut builder = PageBuilder::new(&report, &Options::default());
    many.iter().for_each(|pattern| add(&mut builder, pattern, 3));
    let page = builder.finish().unwrap();
    assert!(page.overview.len() < 2_000_000, "{}", page.overview.len());
    let mut out = Vec::new();
    crate::HtmlWriter.write_page(&report, &page, &mut out).unwrap();
    assert!(out.len() < 12_000_000, "{}", out.len());
}

#[test]
fn an_empty_page_is_valid() {
    let report = Report::new(&[], crate::TraceMeta::default());
    let page = PageBuilder::new(&report, &Options::default()).finish().unwrap();
    assert!(page.details.is_empty());
    assert_eq!(json(&page.overview)["begin"], Value::Null);
}
