//! Canonical forms of requests with known steps.

use request_flow::{NameId, Request, Step};
use workload::canonical::{CanonicalRequest, ElementAct, canonicalize_steps, demands_of_step};
use workload::clusters::RequestFacts;
use workload::demands::{Demands, WaitTimes};

/// Steps as parent, node, begin and end at the caller; each uses its node's number in nanoseconds.
fn canonical_of_steps(steps: &[(Option<u32>, u32, i64, Option<i64>)]) -> CanonicalRequest {
    let mut request = Request::default();
    for (parent, node, begin, end) in steps {
        let begin = Some(*begin);
        let [node, operation] = [*node as usize, 1].map(NameId::from_index);
        let (caller_begin, caller_end) = (begin, *end);
        let step = Step { parent: *parent, caller_begin, caller_end, ..Step::new(node, operation) };
        request.push_step(step, []);
    }
    let demands =
        |place: usize| Demands { processor_ns: i64::from(steps[place].1), ..Demands::default() };
    canonicalize_steps(&request, demands, |step| step.node)
}

fn element_figures(form: &CanonicalRequest) -> Vec<(ElementAct, u32, i64)> {
    let elements = form.elements.iter();
    elements.map(|of| (of.act, of.role.index() as u32, of.demands.processor_ns)).collect()
}

#[test]
fn a_call_and_its_answer_are_signals() {
    let found = canonical_of_steps(&[(None, 30, 0, Some(100)), (Some(0), 40, 10, Some(60))]);
    let expected = [
        (ElementAct::Work, 30, 30),
        (ElementAct::Signal, 40, 0),
        (ElementAct::Work, 30, 0),
        (ElementAct::Wait, 30, 0),
        (ElementAct::Resume, 40, 0),
        (ElementAct::Work, 40, 40),
        (ElementAct::Signal, 30, 0),
        (ElementAct::Work, 40, 0),
        (ElementAct::Wait, 40, 0),
        (ElementAct::Resume, 30, 0),
        (ElementAct::Work, 30, 0),
        (ElementAct::Wait, 30, 0),
    ];
    assert_eq!(element_figures(&found), expected);
    assert_eq!(found.ideal_duration(), 70);
}

#[test]
fn concurrent_calls_are_a_fork_in_an_order_independent_of_time() {
    let one = canonical_of_steps(&[
        (None, 30, 0, Some(99)),
        (Some(0), 40, 10, Some(60)),
        (Some(0), 50, 20, Some(70)),
    ]);
    let other = canonical_of_steps(&[
        (None, 30, 0, Some(99)),
        (Some(0), 50, 10, Some(60)),
        (Some(0), 40, 20, Some(70)),
    ]);
    assert_eq!(one, other);
    assert_eq!(one.ideal_duration(), 80);
    // Sequential calls are another structure, and take longer with unlimited processors.
    let after = canonical_of_steps(&[
        (None, 30, 0, Some(99)),
        (Some(0), 40, 10, Some(20)),
        (Some(0), 50, 20, Some(70)),
    ]);
    assert_ne!(element_figures(&after), element_figures(&one));
    assert_eq!(after.ideal_duration(), 120);
}

#[test]
fn a_call_without_an_answer_is_not_waited_for() {
    let found = canonical_of_steps(&[
        (None, 30, 0, Some(99)),
        (Some(0), 40, 10, None),
        (Some(0), 50, 20, Some(70)),
    ]);
    assert_eq!(found.ideal_duration(), 80);
    assert_eq!(found.total_demands().processor_ns, 120);
    let signals = found.elements.iter().filter(|of| of.act == ElementAct::Signal);
    assert_eq!(signals.map(|of| of.role.index()).collect::<Vec<_>>(), [40, 50, 30]);
}

#[test]
fn a_request_and_its_canonical_form_demand_the_same() {
    let mut request = Request::default();
    let waits = Some(WaitTimes { lock_ns: 4, ..WaitTimes::default() });
    let step = |node: usize, used| Step {
        processor_ns: used,
        bytes_in: Some(100),
        bytes_out: Some(7),
        disk_bytes: Some(4_096),
        waits,
        ..Step::new(NameId::from_index(node), NameId::from_index(1))
    };
    request.push_step(Step { begin: Some(1_000), end: Some(1_900), ..step(30, Some(50)) }, []);
    request.push_step(Step { parent: Some(0), begin: Some(1_200), ..step(40, None) }, []);
    let facts = RequestFacts::from_request(&request, 5, NameId::from_index(9));
    let demands = Demands {
        processor_ns: 50,
        disk_read_bytes: 8_192,
        sent_bytes: 14,
        received_bytes: 200,
        ..Demands::default()
    };
    assert_eq!((facts.number, facts.name.index(), facts.begin, facts.end), (5, 9, 1_000, 1_900));
    assert_eq!((facts.demands, facts.waits.lock_ns), (demands, 8));
    let canonical =
        canonicalize_steps(&request, |at| demands_of_step(&request.steps[at]), |step| step.node);
    assert_eq!(canonical.total_demands(), demands);
}
