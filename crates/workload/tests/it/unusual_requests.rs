//! Unusual requests are found and named; disturbed schedules are not unusual.

use crate::mixtures::{MixtureRequest, mixture, names};
use out_of_core::NameId;
use workload::canonical::{CanonicalElement, ElementAct};
use workload::demands::WaitTimes;
use workload::model::WorkloadModel;
use workload::unusual::DifferenceKind;
use workload::{Workload, clusters::DemandedResource};

fn model(made: &[MixtureRequest]) -> WorkloadModel {
    let mut workload = Workload::default();
    made.iter().for_each(|of| workload.push(&of.canonical, &of.facts));
    workload.finish(&names())
}

/// Requests of type B without disturbances.
fn quiet() -> Vec<MixtureRequest> {
    let mut made: Vec<MixtureRequest> =
        mixture("B", 1, 400, 11).into_iter().filter(|of| !of.is_disturbed).collect();
    made.truncate(250);
    made
}

#[test]
fn a_driver_that_waits_busily_in_one_of_250_requests_is_found_and_named() {
    let mut made = quiet();
    let busy = &mut made[77];
    let last = busy.canonical.elements.iter_mut().rfind(|of| of.act == ElementAct::Work).unwrap();
    last.demands.processor_ns += 100_000_000;
    busy.facts.demands.processor_ns += 100_000_000;
    let number = busy.facts.number;
    let model = model(&made);
    assert_eq!(model.unusual.len(), 1);
    let unusual = &model.unusual[0];
    assert_eq!((unusual.request, unusual.name.as_str()), (number, "B"));
    assert_eq!(unusual.requests, [number]);
    let difference = &unusual.differences[0];
    assert_eq!((difference.kind, difference.role.as_str()), (DifferenceKind::Demand, "worker"));
    assert_eq!(difference.resource, Some(DemandedResource::Processor));
    assert!((114e6..117e6).contains(&(difference.demand as f64)), "{difference:?}");
    assert!((14e6..16e6).contains(&(difference.usual as f64)), "{difference:?}");
    let begins = "11";
    assert!(unusual.what.starts_with(begins), "{}", unusual.what);
    let tells = " ms of processor time of worker between its wake-up and its end, usually 15";
    assert!(unusual.what.contains(tells), "{}", unusual.what);
    assert!(unusual.what.ends_with("; 249 other requests of its structure"), "{}", unusual.what);
}

#[test]
fn a_request_that_had_to_wait_for_a_processor_is_not_unusual() {
    let mut made = quiet();
    let facts = &mut made[77].facts;
    facts.end += 500_000_000;
    facts.waits = WaitTimes { runnable_ns: 500_000_000, ..WaitTimes::default() };
    let model = model(&made);
    assert_eq!((model.clusters.len(), model.unusual.len()), (1, 0));
    assert_eq!(model.clusters[0].waits.runnable_ns, 2_000_000);
}

#[test]
fn a_call_that_others_do_not_make_is_named() {
    let mut made = quiet();
    let of = &mut made[9].canonical.elements;
    let other = NameId::from_index(14);
    let element = |act, role, processor_ns| {
        let mut element = CanonicalElement { act, role, ..CanonicalElement::default() };
        element.demands.processor_ns = processor_ns;
        element
    };
    // Before its last wait, the worker signals another thread, which works for 3 ms.
    let wait = of.pop().unwrap();
    of.push(element(ElementAct::Signal, other, 0));
    of.push(element(ElementAct::Work, wait.role, 0));
    of.push(wait);
    of.push(element(ElementAct::Resume, other, 0));
    of.push(element(ElementAct::Work, other, 3_000_000));
    of.push(element(ElementAct::Wait, other, 0));
    made[9].facts.demands.processor_ns += 3_000_000;
    let model = model(&made);
    assert_eq!(model.unusual.len(), 1);
    assert_eq!(model.unusual[0].request, made[9].facts.number);
    let what = &model.unusual[0].what;
    assert!(what.starts_with("with 3 ms of processor time of cache between its wake-up"), "{what}");
    assert!(what.ends_with("; 249 other requests near it"), "{what}");
}

#[test]
fn few_requests_are_not_called_unusual() {
    assert!(model(&quiet()[..4]).unusual.is_empty());
    assert!(model(&[]).clusters.is_empty());
}
