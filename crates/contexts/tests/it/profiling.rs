//! Contexts, counts and figures of requests made by hand.

use contexts::identity::OperationIdentity;
use contexts::result::{ContextProfile, OperationProfile, Profile};
use request_flow::NameInterner;

use crate::support::{CallSpec, RequestSet, call};

fn contexts(profile: &Profile) -> (u64, u64, u64, u64) {
    let of = profile.totals.contexts;
    (profile.totals.operations, of.caller, of.stack, of.trace)
}

fn operation<'a>(profile: &'a Profile, name: &str) -> &'a OperationProfile {
    profile.operations.iter().find(|operation| operation.names.operation == name).unwrap()
}

/// A search in a book shop: it looks a book up, and asks for offers, which look one up, too. The
/// hosts of the two backends vary, as in the logs of Kieker's book shop.
fn search(catalog: &str, offers: &str) -> CallSpec {
    let book = || call("getBook", 5, vec![]).on(catalog);
    call("search", 1, vec![book(), call("offers", 2, vec![book()]).on(offers)]).on("SRV0")
}

#[test]
fn a_book_shop_has_one_class_by_operations_and_four_by_hosts() {
    let mut made = RequestSet::new();
    for (count, catalog, offers) in
        [(706, "SRV0", "SRV0"), (386, "SRV0", "SRV1"), (356, "SRV1", "SRV0"), (187, "SRV1", "SRV1")]
    {
        (0..count).for_each(|_| {
            made.add(&search(catalog, offers));
        });
    }
    let profile = made.profile();
    assert_eq!((profile.totals.requests, profile.totals.steps), (1_635, 6_540));
    assert_eq!(contexts(&profile), (3, 4, 4, 4));
    assert_eq!(profile.classes.iter().map(|class| class.requests).collect::<Vec<_>>(), [1_635]);
    let by_host =
        made.with(OperationIdentity::Host, u64::MAX, |_, profiled| profiled.profile.clone());
    let classes: Vec<u64> = by_host.classes.iter().map(|class| class.requests).collect();
    assert_eq!(classes, [706, 386, 356, 187]);
    assert_eq!(by_host.classes[1].example, 706);
    assert!(by_host.operations.iter().any(|operation| operation.name == "n getBook @SRV1"));
}

/// The cart and the prices are requested concurrently, and the prices look something up. In two of
/// twenty pages the cart has ended before the prices are requested, and in one page the prices have
/// ended before the cart is requested.
#[test]
fn calls_without_overlap_by_chance_form_no_separate_class() {
    let cart = || call("cart", 10, vec![]);
    let prices = || call("prices", 20, vec![call("lookup", 5, vec![])]);
    let page = || call("page", 1, vec![]);
    let in_order = |calls: Vec<CallSpec>| call("page", 1, calls);
    for memory in [0, u64::MAX] {
        let mut made = RequestSet::new();
        for number in 0..20 {
            made.add(&match number {
                3 | 7 => in_order(vec![cart(), prices()]),
                11 => in_order(vec![prices(), cart()]),
                number if number % 2 == 0 => page().at_once(vec![cart(), prices()]),
                _ => page().at_once(vec![prices(), cart()]),
            });
        }
        // Another page never requests both concurrently.
        (0..5).for_each(|_| {
            made.add(&call("other", 1, vec![cart(), prices()]));
        });
        let profile =
            made.with(OperationIdentity::Operation, memory, |_, profiled| profiled.profile.clone());
        let classes: Vec<(u64, u64)> =
            profile.classes.iter().map(|class| (class.requests, class.example)).collect();
        assert_eq!(classes, [(20, 0), (5, 20)]);
        assert_eq!(contexts(&profile), (5, 7, 8, 8));
        let lookup = operation(&profile, "lookup");
        let of_page: Vec<u64> = (lookup.all_contexts())
            .filter(|context| context.level.to_string() == "trace")
            .map(|context| context.summary.timed)
            .collect();
        assert_eq!(of_page, [20, 5]);
    }
}

/// Trees of Figures 2 and 3: a calls f twice in traces of one kind, and once in others.
#[test]
fn the_example_of_the_paper_has_its_contexts() {
    let mut made = RequestSet::new();
    for round in 0..10 {
        let a = call("a", 1, vec![call("f", 100 + round, vec![]), call("f", 10, vec![])]);
        made.add(&call("d", 1, vec![a]));
        made.add(&call("f", 50, vec![]));
    }
    let profile = made.profile();
    let f = operation(&profile, "f");
    let levels = |level: &str| {
        f.all_contexts().filter(|context| context.level.to_string() == level).collect::<Vec<_>>()
    };
    assert_eq!(["caller", "stack", "trace"].map(|level| levels(level).len()), [2, 2, 3]);
    let names: Vec<&str> = levels("stack").iter().map(|context| context.name.as_str()).collect();
    assert_eq!(names, ["$ > n f", "$ > n d > n a > n f"]);
    let means: Vec<f64> = levels("trace")
        .iter()
        .map(|context| context.summary.times.as_ref().unwrap().mean)
        .collect();
    // A call ends a nanosecond after its calls.
    assert_eq!(means, [50.0, 104.5, 10.0]);
    // Deviations by hand: of all 30 values, of the 20 of the stack, and of those of a
    // trace-context.
    let deviation = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    };
    let slow: Vec<f64> = (0..10).map(|round| f64::from(100 + round)).collect();
    let stack = deviation(&[slow.clone(), vec![10.0; 10]].concat());
    let all = deviation(&[slow.clone(), vec![10.0; 10], vec![50.0; 10]].concat());
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(close(f.decrease.stack.share, 1.0 - (stack * 20.0 / 30.0) / all));
    assert!(close(f.decrease.caller.share, f.decrease.stack.share));
    assert!(close(f.decrease.trace.share, 1.0 - (deviation(&slow) / 3.0) / all));
    assert!(close(f.contexts[1].decrease.trace.unwrap(), 1.0 - deviation(&slow) / 2.0 / stack));
    assert_eq!(f.contexts[1].decrease.caller, None);
}

#[test]
fn the_average_decrease_is_over_all_operations() {
    let mut made = RequestSet::new();
    for (caller, time) in [("x", 10), ("x", 10), ("y", 90), ("y", 90)] {
        made.add(&call(caller, 0, vec![call("f", time, vec![])]));
    }
    let profile = made.profile();
    // f has the deviation 40 in 4 of 8 calls, x and y none.
    assert_eq!((profile.deviation, profile.decrease.caller), (20.0, 1.0));
    assert_eq!(profile.operations[0].names.operation, "f", "what context explains is first");
}

#[test]
fn the_order_of_concurrent_calls_makes_no_class() {
    let mut made = RequestSet::new();
    let [b, c] = ["b", "c"].map(|name| call(name, 50, vec![]));
    let a = || call("a", 1, vec![]);
    made.add(&a().at_once(vec![b.clone(), c.clone(), b.clone()]));
    made.add(&a().at_once(vec![b.clone(), b.clone(), c.clone()]));
    made.add(&a().at_once(vec![c.clone(), b.clone(), b.clone()]));
    // For sequential calls the order counts.
    made.add(&call("a", 1, vec![b.clone(), c.clone(), b.clone()]));
    made.add(&call("a", 1, vec![c, b.clone(), b]));
    let profile = made.profile();
    assert_eq!(profile.classes.iter().map(|class| class.requests).collect::<Vec<_>>(), [3, 1, 1]);
    let steps = &profile.classes[0].steps;
    let name = |step: usize| &profile.operations[steps[step].operation as usize].names.operation;
    assert_eq!(steps.len(), 3);
    let double = (1..3).find(|step| name(*step) == "b").unwrap();
    assert_eq!((steps[double].times, steps[0].times), (2, 1));
    assert_eq!(steps[1].group, steps[2].group);
    assert_eq!(operation(&profile, "b").summary.count, 10);
}

#[test]
fn steps_without_an_end_are_counted_and_have_no_response_time() {
    let mut made = RequestSet::new();
    for round in 0..4 {
        let request = made.add(&call("a", 10, vec![call("b", 20, vec![])]));
        let end = request.steps[0].end;
        match round {
            0 => request.steps[1].end = None,
            // It continues after its caller, and failed.
            1 => {
                request.steps[1].end = end.map(|end| end + 5);
                request.steps[1].failed = true;
            }
            _ => {}
        }
    }
    let profile = made.profile();
    let b = &operation(&profile, "b").summary;
    assert_eq!((b.count, b.timed, b.outliving, b.failed), (4, 3, 1, 1));
    assert_eq!((profile.totals.steps, profile.totals.timed, profile.totals.outliving), (8, 7, 1));
}

#[test]
fn requests_count_by_their_probabilities() {
    let mut made = RequestSet::new();
    for (probability, time) in [(1.0, 100), (0.25, 500), (0.0, 9_000)] {
        made.add(&call("a", time, vec![])).probability = probability;
    }
    let profile = made.profile();
    let a = &operation(&profile, "a").summary;
    let times = a.times.as_ref().unwrap();
    assert_eq!((a.count, a.expected, a.timed), (3, 1.25, 2));
    assert!((times.mean - (100.0 + 0.25 * 500.0) / 1.25).abs() < 1e-9);
    assert_eq!((times.weight, times.max), (1.25, 500));
}

#[test]
fn a_known_caller_is_a_context() {
    let mut made = RequestSet::new();
    let [web, batch] = ["web", "batch"].map(|name| made.name(name));
    for caller in [web, web, batch, NameInterner::UNKNOWN] {
        made.add(&call("a", 1, vec![])).caller = caller;
    }
    let profile = made.profile();
    let names: Vec<&str> =
        profile.operations[0].contexts.iter().map(|context| context.name.as_str()).collect();
    assert_eq!(names, ["$", "web", "batch"]);
    assert_eq!((contexts(&profile), profile.totals.classes), ((1, 3, 3, 3), 3));
}

#[test]
fn memory_affects_only_the_place_of_response_times() {
    let mut made = RequestSet::new();
    for round in 0..3_000 {
        let f = |by: i64| call("f", 50 + (round * by) % 97, vec![]);
        made.add(&call("a", round % 10, vec![f(7), call("b", 5, vec![f(5)])]));
    }
    let whole = made.profile();
    let spilled =
        made.with(OperationIdentity::Operation, 0, |_, profiled| profiled.profile.clone());
    assert!(spilled.totals.spilled > 0 && whole.totals.spilled == 0);
    let mut same = spilled;
    same.totals.spilled = 0;
    assert_eq!(whole, same);
}

#[test]
fn a_profile_is_read_back_from_json() {
    let mut made = RequestSet::new();
    for round in 0..40 {
        made.add(&call("a", round, vec![call("b", 3 * round, vec![]), call("c", 1, vec![])]))
            .steps[2]
            .end = None;
    }
    let profile = made.profile();
    let text = serde_json::to_string(&profile).unwrap();
    let read: Profile = serde_json::from_str(&text).unwrap();
    assert_eq!(read.operations.len(), 3);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[test]
fn contexts_have_examples_numbers_and_histograms() {
    let mut made = RequestSet::new();
    for round in 0..100 {
        made.add(&call("a", 1, vec![call("b", 10 * round, vec![])]));
    }
    let profile = made.profile();
    let ids: Vec<u32> = profile
        .operations
        .iter()
        .flat_map(|operation| {
            std::iter::once(operation.id).chain(operation.all_contexts().map(|c| c.id))
        })
        .collect();
    assert_eq!(ids, (1..=8).collect::<Vec<u32>>());
    let b = operation(&profile, "b");
    let trace: &ContextProfile = &b.contexts[0].contexts[0].contexts[0];
    assert_eq!(
        (trace.class, trace.step, trace.name.as_str()),
        (Some(0), Some(1), "class 0, step 1")
    );
    let times = trace.summary.times.as_ref().unwrap();
    assert_eq!(
        (times.examples.len(), times.examples[0].request, times.examples[0].time),
        (20, 99, 990)
    );
    assert_eq!(times.histogram.len() as u32, b.bins.unwrap().count);
    assert_eq!(times.histogram.iter().sum::<f32>(), 100.0);
}
