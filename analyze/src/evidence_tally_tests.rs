use super::*;
use crate::fixture::Fixture;
use crate::options::Options;
use message_trace::Node;

/// Smallest id of a context.
const CONTEXT: i32 = 1 << 30;

/// Two rounds of a client's request to `web` on thread 1, and a call of `web` on `thread`.
fn calls_of_web(thread: i32) -> Fixture {
    let mut fixture = Fixture::new();
    for round in 0..2 {
        let time = 1_000 * round;
        fixture.send("client", "web", time, time + 10).on(1).threads(1, 1);
        fixture.send("web", "db", time + 20, time + 30).ports(40_001, 81).on(2).threads(thread, 1);
        let answer = fixture.send("db", "web", time + 40, time + 50);
        answer.ports(81, 40_001).on(2).accepting().threads(1, thread);
        let answer = fixture.send("web", "client", time + 60, time + 70);
        answer.ports(80, 40_000).on(1).accepting().threads(1, 1);
    }
    fixture
}

/// The services of a trace, in which all calls of `web` have this evidence.
fn services(
    trace: &MessageTrace,
    evidence: CallEvidence,
    handoffs: &[Handoff],
) -> Vec<ServiceEvidence> {
    let naming = Naming::new(trace, &Options::default());
    let mut links = Links::spontaneous_only(trace.len());
    for row in [1, 5].map(MessageId::from_index) {
        links.set_evidence(row, Some(evidence));
    }
    let mut tally = EvidenceTally::default();
    // Batches overlap; each message is counted in its own.
    for own in [0..4, 4..trace.len()] {
        tally.count_batch(trace, &naming, &links, own, handoffs);
    }
    tally.into_services()
}

#[test]
fn calls_are_counted_by_service() {
    let trace = calls_of_web(1).trace();
    for evidence in CallEvidence::ALL {
        let found = services(&trace, evidence, &[]);
        let mut calls = crate::EvidenceCounts::default();
        calls.add(evidence, 2);
        let web = ServiceEvidence { service: "web".into(), calls, ..ServiceEvidence::default() };
        assert_eq!(found, [web]);
    }
}

#[test]
fn inferred_calls_of_threads_without_requests_are_those_of_workers() {
    let of_workers = |thread: i32, evidence: CallEvidence, handoffs: &[Handoff]| {
        services(&calls_of_web(thread).trace(), evidence, handoffs)[0].inferred_of_workers
    };
    assert_eq!(of_workers(7, CallEvidence::Inferred, &[]), 2);
    assert_eq!(of_workers(7, CallEvidence::Threads, &[]), 0);
    assert_eq!(of_workers(1, CallEvidence::Inferred, &[]), 0, "the thread receives requests");
    assert_eq!(of_workers(CONTEXT + 7, CallEvidence::Inferred, &[]), 0, "a context");
    let node = calls_of_web(7).node("web");
    let handoff = Handoff { signalled: 1, woken: 2, node, from: 1, to: Some(7), object: 5 };
    assert_eq!(of_workers(7, CallEvidence::Inferred, &[handoff]), 0, "hand-offs are recorded");
}

#[test]
fn services_with_unfollowed_tasks_are_named_if_they_make_calls() {
    let mut trace = calls_of_web(1).trace();
    let nodes = std::sync::Arc::make_mut(&mut trace.nodes);
    for node in &mut nodes.0 {
        *node = Node { unfollowed: "Python 3.99".to_owned(), ..node.clone() };
    }
    let found = services(&trace, CallEvidence::Inferred, &[]);
    // The client receives no requests, and the database makes no calls.
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].service.as_str(), &found[0].unfollowed[..]),
        ("web", &["Python 3.99".to_owned()][..])
    );
}
