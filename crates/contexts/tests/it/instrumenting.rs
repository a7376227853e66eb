//! Partial instrumentations, compared with profiles of requests from which the steps were removed.

use contexts::identity::OperationIdentity;
use contexts::instrumentation::{evaluate_one, evaluate_random};
use contexts::result::Profile;
use request_flow::{NameId, NameInterner, Request, RequestBuilder, Step};

use crate::support::{CallSpec, RequestSet, call};

/// Some requests of different shapes, with times by `seed`.
fn requests(made: &mut RequestSet) {
    let leaf = |name: &str, time: i64| call(name, time, vec![]);
    for round in 0..60 {
        let time = |by: i64| 10 + (round * by) % 53;
        let b = |by| call("b", time(by), vec![leaf("c", time(7)), leaf("d", time(5))]);
        let root: CallSpec = match round % 4 {
            0 => call("a", 1, vec![b(3), leaf("c", time(11))]),
            1 => call("a", 1, vec![leaf("e", time(2))]).at_once(vec![b(3), leaf("c", time(13))]),
            2 => call("f", 1, vec![b(17), b(19)]),
            _ => leaf("e", time(23)),
        };
        made.add(&root);
    }
}

/// The requests with only the instrumented steps: other steps' calls become calls of the nearest
/// instrumented caller. `None` if a request falls apart.
fn only(made: &RequestSet, is_seen: impl Fn(&NameInterner, NameId) -> bool) -> Option<RequestSet> {
    let left = |request: &Request| {
        let mut builder = RequestBuilder::default();
        let mut places: Vec<Option<u32>> = Vec::new();
        let (mut count, mut roots) = (0, 0);
        for step in &request.steps {
            let parent = step.parent.and_then(|parent| places[parent as usize]);
            if is_seen(&made.names, step.operation) {
                builder.add_step(Step { parent, ..*step }, None, []);
                roots += u32::from(parent.is_none());
                places.push(Some(count));
                count += 1;
            } else {
                places.push(parent);
            }
        }
        let mut left = request.clone();
        builder.build(&mut left);
        (roots <= 1).then_some(left)
    };
    let requests: Option<Vec<Request>> = made.requests.iter().map(left).collect();
    let requests = requests?.into_iter().filter(|request| !request.steps.is_empty()).collect();
    Some(RequestSet { names: made.names.clone(), requests })
}

#[test]
fn the_full_instrumentation_is_the_profile() {
    let mut made = RequestSet::new();
    requests(&mut made);
    made.with(OperationIdentity::Operation, u64::MAX, |collected, profiled| {
        let found = evaluate_random(collected, &profiled.moments, 0, 1, &()).full;
        let Profile { totals, deviation, decrease, .. } = &profiled.profile;
        assert_eq!((found.executions, found.traces), (totals.steps, totals.requests));
        assert_eq!((found.monitoring_points, found.classes), (totals.operations, totals.classes));
        assert_eq!(found.contexts, totals.contexts);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
        assert!(close(found.deviation, *deviation));
        assert!(close(found.decrease.caller, decrease.caller));
        assert!(close(found.decrease.stack, decrease.stack));
        assert!(close(found.decrease.trace, decrease.trace));
    });
}

#[test]
fn classes_give_the_same_result_as_executions() {
    let mut made = RequestSet::new();
    requests(&mut made);
    let operations = ["a", "b", "c", "d", "e", "f"];
    let compared = made.with(OperationIdentity::Operation, u64::MAX, |collected, profiled| {
        let mut compared = 0;
        // b has calls and is concurrent with c: without b, times determine how these overlap, and
        // classes have no times.
        for set in (1..64_u32).filter(|set| set & 2 > 0) {
            let is_seen = |name: &str| {
                let place = operations.iter().position(|operation| *operation == name);
                place.is_some_and(|place| set >> place & 1 > 0)
            };
            let Some(other) = only(&made, |names, name| is_seen(names.name_of(name))) else {
                continue;
            };
            let found =
                evaluate_one(collected, &profiled.moments, |names| is_seen(&names.operation));
            let expected =
                other.with(OperationIdentity::Operation, u64::MAX, |collected, profiled| {
                    evaluate_random(collected, &profiled.moments, 0, 1, &()).full
                });
            let counts = |of: &contexts::instrumentation::InstrumentationPoint| {
                (of.executions, of.traces, of.classes, of.contexts, of.monitoring_points)
            };
            assert_eq!(counts(&found), counts(&expected), "{set:b}");
            for (a, b) in [
                (found.deviation, expected.deviation),
                (found.decrease.caller, expected.decrease.caller),
                (found.decrease.stack, expected.decrease.stack),
                (found.decrease.trace, expected.decrease.trace),
            ] {
                assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{set:b}: {a} {b}");
            }
            compared += 1;
        }
        compared
    });
    assert!(compared >= 8, "{compared}");
}

#[test]
fn a_trace_without_its_root_remains_one_trace() {
    let mut made = RequestSet::new();
    made.add(&call("a", 1, vec![call("b", 1, vec![]), call("c", 2, vec![]), call("b", 3, vec![])]));
    made.add(&call("b", 4, vec![]));
    made.with(OperationIdentity::Operation, u64::MAX, |collected, profiled| {
        let found = evaluate_one(collected, &profiled.moments, |names| names.operation == "b");
        assert_eq!((found.traces, found.classes, found.executions), (2, 2, 3));
        let contexts = found.contexts;
        assert_eq!((contexts.caller, contexts.stack, contexts.trace), (1, 1, 3));
        assert_eq!(found.decrease.trace, 1.0);
        // No instrumented operation is executed.
        let none = evaluate_one(collected, &profiled.moments, |names| names.operation == "x");
        assert_eq!((none.traces, none.contexts.trace, none.decrease.trace), (0, 0, 0.0));
    });
}

#[test]
fn instrumentations_are_the_same_again_and_differ_by_seed() {
    let mut made = RequestSet::new();
    requests(&mut made);
    made.with(OperationIdentity::Operation, u64::MAX, |collected, profiled| {
        let of =
            |count, seed| evaluate_random(collected, &profiled.moments, count, seed, &()).random;
        let some = of(40, 7);
        assert_eq!(some[..20], of(20, 7));
        assert_ne!(some, of(40, 8));
        assert!(some.iter().all(|one| (1..6).contains(&one.monitoring_points)));
    });
}
