use std::sync::Arc;

use super::*;
use crate::infer::auto::service::NodeSpan;
use crate::infer::words::WordClaim;

/// A service with three requests. Two are open at the first call, one at the second, and none at
/// the third. All calls are assigned to the first request, except the third.
fn service() -> (Service, Assignment) {
    let span = |begin, end| NodeSpan { begin, end, kind: 1 };
    let service = Service {
        requests: vec![span(0, 100), span(10, 50), span(200, 210)],
        request_calls: [0, 1, 2].map(WorkItem::request_at).to_vec(),
        calls: vec![span(20, 30), span(60, 70), span(150, 160)],
        made_calls: [10, 11, 12].map(CallId::from_index).to_vec(),
        ..Service::default()
    };
    let first = Some(RequestId::from_index(0));
    let shares = vec![vec![(None, 0.1), (first, 0.9)], vec![(first, 1.0)], vec![(None, 1.0)]];
    (service, Assignment { request_of_call: vec![first, first, None], shares })
}

/// The evidence of the three calls of a service that `change` changed.
fn evidence_with(change: impl Fn(&mut Service)) -> [Option<CallEvidence>; 3] {
    let (mut service, found) = service();
    change(&mut service);
    evidence_of_calls(&service, &found, |_| false).try_into().unwrap()
}

const FIRST: CallId = CallId::from_index(10);

#[test]
fn a_call_is_inferred_only_if_other_requests_are_open() {
    let expected = [Some(CallEvidence::Inferred), Some(CallEvidence::OneRequest), None];
    assert_eq!(evidence_with(|_| ()), expected);
    // A call for no request, while one is open, is a guess too.
    let (service, mut found) = service();
    found.shares[1] = vec![(None, 1.0)];
    let evidence = evidence_of_calls(&service, &found, |_| false);
    assert_eq!(evidence[1], Some(CallEvidence::Inferred));
}

#[test]
fn a_bound_thread_or_context_decides() {
    let bind = |service: &mut Service| {
        service.bound_to = vec![Some(RequestId::from_index(0)), None, None];
    };
    assert_eq!(evidence_with(bind)[0], Some(CallEvidence::Threads));
    let (mut of_contexts, found) = service();
    bind(&mut of_contexts);
    let evidence = evidence_of_calls(&of_contexts, &found, |made| made == FIRST);
    assert_eq!(evidence[0], Some(CallEvidence::Tasks));
    let other = |service: &mut Service| {
        bind(service);
        service.alternative_job = vec![Some(RequestId::from_index(1)), None, None];
    };
    assert_eq!(evidence_with(other)[0], Some(CallEvidence::Inferred), "an alternative job");
    let bound_elsewhere = |service: &mut Service| {
        service.bound_to = vec![Some(RequestId::from_index(1)), None, None];
    };
    assert_eq!(evidence_with(bound_elsewhere)[0], Some(CallEvidence::Inferred));
}

#[test]
fn attributed_work_is_shown_by_what_attributed_it() {
    for shown in [CallEvidence::Tasks, CallEvidence::Threads, CallEvidence::HandOffs] {
        let attribute = |service: &mut Service| {
            service.attributed_to.insert(FIRST, WorkItem::request_at(0));
            service.shown_by.insert(FIRST, shown);
            // Such calls are bound too, by their request.
            service.bound_to = vec![Some(RequestId::from_index(0)), None, None];
        };
        assert_eq!(evidence_with(attribute)[0], Some(shown));
    }
    let by_order = |service: &mut Service| {
        service.attributed_to.insert(FIRST, WorkItem::request_at(0));
        service.shown_by.insert(FIRST, CallEvidence::Inferred);
        service.bound_to = vec![Some(RequestId::from_index(0)), None, None];
    };
    assert_eq!(evidence_with(by_order)[0], Some(CallEvidence::Inferred));
    let to_another = |service: &mut Service| {
        service.attributed_to.insert(FIRST, WorkItem::request_at(1));
        service.shown_by.insert(FIRST, CallEvidence::Tasks);
    };
    assert_eq!(evidence_with(to_another)[0], Some(CallEvidence::Inferred));
}

#[test]
fn ids_and_words_decide_if_they_name_one_request() {
    let traced = |requests: &'static [usize]| {
        move |service: &mut Service| {
            let requests = requests.iter().map(|of| WorkItem::request_at(*of)).collect();
            service.traced_for.insert(FIRST, requests);
        }
    };
    assert_eq!(evidence_with(traced(&[0]))[0], Some(CallEvidence::Ids));
    assert_eq!(evidence_with(traced(&[0, 1]))[0], Some(CallEvidence::Inferred));
    let shared = |requests: &'static [usize]| {
        move |service: &mut Service| {
            let requests = requests.iter().map(|of| WorkItem::request_at(*of)).collect();
            let claim = WordClaim { requests, open: 2, at_least: 0.95, expected: 0.99 };
            service.word_claims.insert(FIRST, Arc::new(claim));
        }
    };
    assert_eq!(evidence_with(shared(&[0]))[0], Some(CallEvidence::Words));
    assert_eq!(evidence_with(shared(&[0, 1]))[0], Some(CallEvidence::Inferred));
    assert_eq!(evidence_with(shared(&[1]))[0], Some(CallEvidence::Inferred));
}
