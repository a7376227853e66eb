//! Canonical forms of requests whose steps are known.

use request_flow::{Request, Step};
use workload::canonical::{Act, Canonical, demands_of, of_request};
use workload::clusters::RequestFacts;
use workload::demands::{Demands, Waits};

/// Steps as parent, node, begin and end at the caller; each uses its node in nanoseconds.
fn form(steps: &[(Option<u32>, u32, i64, Option<i64>)]) -> Canonical {
    let mut request = Request::default();
    for (parent, node, begin, end) in steps {
        let begin = Some(*begin);
        let step =
            Step { parent: *parent, caller_begin: begin, caller_end: *end, ..Step::of(*node, 1) };
        request.push(step, []);
    }
    let demands =
        |place: usize| Demands { processor_ns: i64::from(steps[place].1), ..Demands::default() };
    of_request(&request, demands, |step| step.node)
}

fn told(form: &Canonical) -> Vec<(Act, u32, i64)> {
    let told = form.elements.iter();
    told.map(|of| (of.act, of.role, of.demands.processor_ns)).collect()
}

#[test]
fn a_call_and_its_answer_are_signals() {
    let found = form(&[(None, 30, 0, Some(100)), (Some(0), 40, 10, Some(60))]);
    let expected = [
        (Act::Work, 30, 30),
        (Act::Signal, 40, 0),
        (Act::Work, 30, 0),
        (Act::Wait, 30, 0),
        (Act::Resume, 40, 0),
        (Act::Work, 40, 40),
        (Act::Signal, 30, 0),
        (Act::Work, 40, 0),
        (Act::Wait, 40, 0),
        (Act::Resume, 30, 0),
        (Act::Work, 30, 0),
        (Act::Wait, 30, 0),
    ];
    assert_eq!(told(&found), expected);
    assert_eq!(found.duration(), 70);
}

#[test]
fn calls_at_the_same_time_are_a_fork_whose_order_is_not_that_of_time() {
    let one =
        form(&[(None, 30, 0, Some(99)), (Some(0), 40, 10, Some(60)), (Some(0), 50, 20, Some(70))]);
    let other =
        form(&[(None, 30, 0, Some(99)), (Some(0), 50, 10, Some(60)), (Some(0), 40, 20, Some(70))]);
    assert_eq!(one, other);
    assert_eq!(one.duration(), 80);
    // One after the other is another structure, and takes longer on endless processors.
    let after =
        form(&[(None, 30, 0, Some(99)), (Some(0), 40, 10, Some(20)), (Some(0), 50, 20, Some(70))]);
    assert_ne!(told(&after), told(&one));
    assert_eq!(after.duration(), 120);
}

#[test]
fn a_call_without_an_answer_is_not_waited_for() {
    let found =
        form(&[(None, 30, 0, Some(99)), (Some(0), 40, 10, None), (Some(0), 50, 20, Some(70))]);
    assert_eq!(found.duration(), 80);
    assert_eq!(found.demands().processor_ns, 120);
    let signals = found.elements.iter().filter(|of| of.act == Act::Signal);
    assert_eq!(signals.map(|of| of.role).collect::<Vec<_>>(), [40, 50, 30]);
}

#[test]
fn a_request_and_its_canonical_form_demand_the_same() {
    let mut request = Request::default();
    let waits = Some(Waits { lock_ns: 4, ..Waits::default() });
    let step = |node, used| Step {
        processor_ns: used,
        bytes_in: Some(100),
        bytes_out: Some(7),
        disk_bytes: Some(4_096),
        waits,
        ..Step::of(node, 1)
    };
    request.push(Step { begin: Some(1_000), end: Some(1_900), ..step(30, Some(50)) }, []);
    request.push(Step { parent: Some(0), begin: Some(1_200), ..step(40, None) }, []);
    let facts = RequestFacts::of_request(&request, 5, 9);
    let demands = Demands {
        processor_ns: 50,
        disk_read_bytes: 8_192,
        sent_bytes: 14,
        received_bytes: 200,
        ..Demands::default()
    };
    assert_eq!((facts.number, facts.name, facts.begin, facts.end), (5, 9, 1_000, 1_900));
    assert_eq!((facts.demands, facts.waits.lock_ns), (demands, 8));
    let canonical = of_request(&request, |at| demands_of(&request.steps[at]), |step| step.node);
    assert_eq!(canonical.demands(), demands);
}
