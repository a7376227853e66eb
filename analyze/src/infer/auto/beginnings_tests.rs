//! EM iterations that several restarts share.

use super::*;
use crate::calls::CallId;
use crate::infer::auto::tests::requests;
use crate::infer::call_links::WorkItem;
use crate::infer::span::NodeSpan;

/// Twenty requests in sequence, each with one call.
fn service() -> Service {
    let mut service = Service::default();
    for at in 0..20 {
        let begin = 1_000_000 * i64::from(at);
        service.requests.push(NodeSpan { begin, end: begin + 500_000, kind: 1 });
        service.request_calls.push(WorkItem::request_at(at as usize));
        service.calls.push(NodeSpan { begin: begin + 100_000, end: begin + 300_000, kind: 2 });
        service.made_calls.push(CallId::from_index(100 + at as usize));
    }
    service
}

/// A restart that converged to this assignment.
fn trial(choice: Option<InitialRule>, owner: &[Option<RequestId>]) -> RestartTrial {
    RestartTrial {
        choice,
        first: owner.to_vec(),
        request_of_call: owner.to_vec(),
        shapes: Shapes::new(),
    }
}

#[test]
fn restarts_with_equal_assignments_share_an_iteration() {
    let service = service();
    let axis = Axis { resolution: service.resolution() };
    let events = events(&service);
    let learner = EmStep {
        service: &service,
        events,
        axis,
        width: WIDTH,
        exchanges: false,
        assumes_fifo: true,
    };
    let right = requests(0..20);
    let mut other = right.clone();
    other[7] = None;
    let mut trials = vec![
        trial(Some(InitialRule::Oldest), &right),
        trial(Some(InitialRule::Newest), &right),
        trial(Some(InitialRule::Fewest), &other),
        trial(None, &right),
    ];
    let mut done = Vec::new();
    learner.run_iteration(&mut trials, BackgroundAssumption::Counted, &mut done);
    assert_eq!(done.len(), 3, "two restarts are equal, one does not assume FIFO");
    assert!(
        trials.iter().all(|trial| trial.request_of_call == right),
        "each continues with its result"
    );
    // All restarts are where an earlier iteration began, so no iteration is left to do.
    learner.run_iteration(&mut trials, BackgroundAssumption::Counted, &mut done);
    assert_eq!(done.len(), 3);
    // The same assignment needs another iteration under another assumption about background calls;
    // the restart without the FIFO assumption takes no part in it.
    learner.run_iteration(&mut trials, BackgroundAssumption::WhileIdle, &mut done);
    assert_eq!(done.len(), 4);
}

#[test]
fn learning_that_lowers_the_log_likelihood_is_undone() {
    let [third, seventh] = [3, 7].map(|request| Some(RequestId::from_index(request)));
    let tried = |fit: f64, owner| ScoredRestart {
        log_likelihood: fit,
        first: vec![seventh],
        request_of_call: vec![owner],
        model: ServiceModel::default(),
        shapes: Shapes::new(),
        was_kept: false,
    };
    let found = |after: f64, before: f64| {
        let found = better_restart(tried(after, third), tried(before, seventh), 30.0);
        (found.request_of_call, found.was_kept)
    };
    assert_eq!(found(-500.0, -400.0), (vec![seventh], true));
    assert_eq!(found(-420.0, -400.0), (vec![third], false), "the difference is negligible");
    assert_eq!(found(-300.0, -400.0), (vec![third], false));
}

#[test]
fn an_assignment_far_from_all_restarts_is_limited_by_their_consensus() {
    // Two requests that are open together, each with a call of kind 2 and one of kind 3.
    let mut part = Service { window: 1_000_000_000, ..Service::default() };
    for request in 0..100_i64 {
        let begin = 10_000_000 * (request / 2) + 1000 * (request % 2);
        part.requests.push(NodeSpan { begin, end: begin + 5_000_000, kind: 9 });
        for (at, kind) in [(1_000_000, 2), (3_000_000, 3)] {
            let begin = begin + at;
            part.calls.push(NodeSpan { begin, end: begin + 100_000, kind });
        }
    }
    part.calls.sort_by_key(|call| call.begin);
    let [right, other] = [0, 1].map(|swapped| {
        let of = |call: usize| 2 * (call / 4) + (call ^ if call % 4 < 2 { swapped } else { 0 }) % 2;
        requests((0..200).map(of))
    });
    let axis = Axis { resolution: part.resolution() };
    let mut begun = RestartResults {
        model: ServiceModel::default(),
        agreement: RestartConsensus::default(),
        all: Vec::new(),
        without_fifo: None,
        events: events(&part),
        sample: part,
        axis,
        background: BackgroundAssumption::Counted,
    };
    let shapes = Shapes::new();
    for _ in 0..3 {
        begun.add(&right, &shapes);
    }
    // One assignment that continues from the restarts, and one that exchanged all calls of kind 2.
    let shares = |owner: &[Option<RequestId>]| {
        let mut shares: Vec<_> = owner.iter().map(|of| vec![(*of, 1.0)]).collect();
        begun.consensus(owner, &shapes).calibrate_shares(&begun.sample, &begun.events, &mut shares);
        [0, 2].map(|call: usize| shares[call][0].1)
    };
    let [second, third] = shares(&right);
    assert!(second > 0.99 && third > 0.99, "{second} {third}");
    let [second, third] = shares(&other);
    assert!(second < 0.75 && third > 0.99, "{second} {third}");
}
