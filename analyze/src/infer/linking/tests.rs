//! Message linking on handwritten traces: which messages are considered, at which place, in which
//! window.

use message_trace::{MessageTrace, NodeGrain};

use super::*;
use crate::fixture::Fixture;
use crate::naming::Naming;
use crate::options::Options;

fn options() -> Options {
    Options { clients_start_paths: false, ..Options::default() }
}

fn infer(trace: &MessageTrace, options: &Options) -> Links {
    LinkingAlgorithm.infer_links(&InferenceInput::without_progress(
        trace,
        &Naming::new(trace, options),
        options,
    ))
}

fn delay(trace: &MessageTrace, options: &Options, message: MessageId) -> f64 {
    let naming = Naming::new(trace, options);
    let places = PlaceEvents::from_trace(trace, &naming, options);
    let mut delays = estimate_delays(&places, &naming, options, IterationWeights::First, &());
    for _ in 1..options.iterations {
        delays = estimate_delays(&places, &naming, options, IterationWeights::After(&delays), &());
    }
    delays.mean_delay(naming.hop(message))
}

fn parents(links: &Links, child: MessageId) -> Vec<usize> {
    links.parents_here(child).map(|(parent, _)| parent.index()).collect()
}

/// The message that was sent at `time` or, if that is not known, received.
fn at(trace: &MessageTrace, time: i64) -> MessageId {
    trace.ids().find(|message| trace.message(*message).sort_time() == time).unwrap()
}

#[test]
fn step_1_averages_the_smallest_delays_within_x() {
    let mut trace = Fixture::new();
    // The smallest delays are 10 and 30; the earlier arrivals (90 and 130 before) do not count.
    trace.send("a", "b", 0, 20);
    trace.send("a", "b", 50, 100);
    trace.send("b", "c", 110, 111);
    trace.send("b", "c", 130, 131);
    // No arrival in the 1000 before this one.
    trace.send("b", "c", 1101, 1102);
    // Another pair, with a delay of its own.
    trace.send("b", "d", 107, 108);
    let trace = trace.trace();
    let options = Options { window: 1000, ..options() };
    assert_eq!(delay(&trace, &options, at(&trace, 110)), 20.0);
    assert_eq!(delay(&trace, &options, at(&trace, 107)), 7.0);
    let links = infer(&trace, &options);
    assert_eq!(links.spontaneous_probability(at(&trace, 1101)), 1.0);
    // With a window of 1001 there is one: d = (10 + 30 + 1001) / 3.
    let options = Options { window: 1001, ..options };
    assert_eq!(delay(&trace, &options, at(&trace, 110)), 347.0);
}

/// Steps 1 and 2 repeated: d is the average over the links, weighted by their probabilities.
#[test]
fn a_further_iteration_averages_the_delays_of_links() {
    let mut trace = Fixture::new();
    // 40 and 20 before; the smallest delay is 20.
    trace.send("a", "b", 0, 60);
    trace.send("a", "b", 50, 80);
    trace.send("b", "c", 100, 101);
    let trace = trace.trace();
    let of =
        |iterations| delay(&trace, &Options { iterations, ..options() }, MessageId::from_index(2));
    assert_eq!(of(1), 20.0);
    // With d = 20 they weigh exp(-1) and exp(-2); the case without a cause has no delay, and does
    // not count.
    let [one, two] = [(-1.0_f64).exp(), (-2.0_f64).exp()];
    let second = (20.0 * one + 40.0 * two) / (one + two);
    assert!((of(2) - second).abs() < 1e-6, "{} {second}", of(2));
    let [one, two] = [(-20.0 / second).exp(), (-40.0 / second).exp()];
    assert!((of(3) - (20.0 * one + 40.0 * two) / (one + two)).abs() < 1e-6);
    // Fewer than one iteration is one.
    assert_eq!(of(0), 20.0);
}

#[test]
fn further_iterations_approach_the_true_delay_of_overlapping_requests() {
    // A request every 10, which B forwards after an exponential delay of 40 on average: 4 are under
    // way at a time.
    let (mut trace, mut random, mut sum) = (Fixture::new(), 1_u64, 0);
    for request in 0..2000_i64 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((random >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let takes = (-40_000.0 * uniform.ln()) as i64;
        sum += takes;
        trace.send("a", "b", request * 10_000, request * 10_000);
        trace.send("b", "c", request * 10_000 + takes, request * 10_000 + takes).ports(40_001, 81);
    }
    let truth = sum as f64 / 2000.0;
    let trace = trace.trace();
    let message =
        trace.ids().find(|row| trace.nodes.0[trace.message(*row).dst.index()].command == "c");
    let error = |iterations| {
        let options = Options { iterations, ..options() };
        (delay(&trace, &options, message.unwrap()) - truth).abs() / truth
    };
    let errors = [1, 2, 4, 8].map(error);
    assert!(errors.is_sorted_by(|before, after| after < before), "{errors:?}");
    assert!(errors[0] > 0.8, "{errors:?}");
}

#[test]
fn two_services_of_one_name_are_distinguished_by_their_ports() {
    let mut trace = Fixture::new();
    // One program twice: on port 1 it responds after 10, on port 2 after 1000.
    for (process, port, takes) in [("store#1", 1, 10), ("store#2", 2, 1000)] {
        trace.send("a", process, 0, 5).ports(40_000, port);
        trace.send(process, "a", 5 + takes, 2000).ports(port, 40_000).accepting();
    }
    let trace = trace.trace();
    assert_eq!(delay(&trace, &options(), at(&trace, 15)), 10.0);
    assert_eq!(delay(&trace, &options(), at(&trace, 1005)), 1000.0);
}

#[test]
fn a_simultaneous_arrival_is_a_cause_and_a_later_one_is_not() {
    let mut trace = Fixture::new();
    trace.send("a", "b", 0, 10);
    trace.send("a", "b", 1, 11);
    trace.send("b", "c", 9, 12);
    trace.send("b", "c", 10, 12);
    let trace = trace.trace();
    let links = infer(&trace, &options());
    assert!(parents(&links, at(&trace, 9)).is_empty());
    assert_eq!(parents(&links, at(&trace, 10)), [0]);
    // d is 0, treated as a nanosecond: 1 against exp(-4).
    let probability = links.parents_here(at(&trace, 10)).next().unwrap().1;
    assert!((probability - 1.0 / (1.0 + (-4.0_f64).exp())).abs() < 1e-12);
}

#[test]
fn a_message_to_its_own_sender_is_not_its_own_cause() {
    let mut trace = Fixture::new();
    trace.send("a#1", "a#2", 5, 5);
    let trace = trace.trace();
    let links = infer(&trace, &Options { grain: NodeGrain::Host, ..options() });
    assert_eq!(links.spontaneous_probability(MessageId::from_index(0)), 1.0);
}

#[test]
fn a_lost_message_causes_nothing() {
    let mut trace = Fixture::new();
    trace.send("a", "b", 0, 10).lost();
    trace.send("b", "c", 20, 30);
    let trace = trace.trace();
    assert_eq!(infer(&trace, &options()).spontaneous_probability(MessageId::from_index(1)), 1.0);
}

#[test]
fn causes_are_sought_within_a_process_and_delays_belong_to_the_command() {
    let mut trace = Fixture::new();
    trace.send("a", "b#1", 0, 10);
    trace.send("a", "b#2", 1, 20);
    trace.send("b#1", "c", 30, 31);
    trace.send("b#2", "c", 32, 33);
    let trace = trace.trace();
    let links = infer(&trace, &options());
    assert_eq!(parents(&links, MessageId::from_index(2)), [0]);
    assert_eq!(parents(&links, MessageId::from_index(3)), [1]);
    assert_eq!(delay(&trace, &options(), MessageId::from_index(2)), 16.0);
    assert_eq!(
        delay(
            &trace,
            &Options { grain: NodeGrain::Process, ..options() },
            MessageId::from_index(2)
        ),
        20.0
    );
    let links = infer(&trace, &Options { grain: NodeGrain::Host, ..options() });
    // Everything is on one host: the message that c received at 31 is among the causes of the one
    // that b#2 sends.
    assert_eq!(parents(&links, MessageId::from_index(3)), [2, 1, 0]);
}

#[test]
fn at_the_grain_of_threads_a_thread_causes_only_what_it_sends_itself() {
    let mut trace = Fixture::new();
    trace.send("a", "b", 0, 10).threads(1, 2);
    trace.send("a", "b", 1, 11).threads(1, 3);
    trace.send("b", "c", 20, 21).threads(2, 9);
    let trace = trace.trace();
    assert_eq!(parents(&infer(&trace, &options()), MessageId::from_index(2)), [1, 0]);
    assert_eq!(
        parents(
            &infer(&trace, &Options { grain: NodeGrain::Thread, ..options() }),
            MessageId::from_index(2)
        ),
        [0]
    );
}

#[test]
fn an_untraced_node_answers_only_its_client() {
    let mut trace = Fixture::new().untraced(&["dns"]);
    trace.send("a", "dns", 0, 0);
    trace.send("z", "dns", 1, 0);
    trace.send("dns", "a", 0, 50);
    trace.send("dns", "z", 0, 61);
    // A message that no request asked for.
    trace.send("dns", "q", 0, 70);
    let trace = trace.trace();
    let links = infer(&trace, &options());
    // z's question was sent later and would be the likelier cause of the response to a.
    assert_eq!(parents(&links, at(&trace, 50)), [0]);
    assert_eq!(parents(&links, at(&trace, 61)), [1]);
    assert_eq!(links.spontaneous_probability(at(&trace, 70)), 1.0);
    // On a's clock: from its sending at 0 to its receipt at 50.
    assert_eq!(delay(&trace, &options(), at(&trace, 50)), 50.0);
}

#[test]
fn messages_of_a_client_are_spontaneous_unless_the_paper_is_followed_to_the_letter() {
    let mut trace = Fixture::new();
    for request in 0..3 {
        let time = request * 100;
        trace.send("load", "web", time, time + 10).ports(40_000, 80);
        trace.send("web", "load", time + 20, time + 30).ports(80, 40_000).accepting();
    }
    let trace = trace.trace();
    let links = infer(&trace, &Options::default());
    assert_eq!(
        [0, 2, 4].map(MessageId::from_index).map(|request| links.spontaneous_probability(request)),
        [1.0; 3]
    );
    assert_eq!(parents(&links, MessageId::from_index(3))[0], 2);
    let links = infer(&trace, &options());
    assert_eq!([2, 4].map(|request| parents(&links, MessageId::from_index(request))[0]), [1, 3]);
}

#[test]
fn a_message_can_be_a_cause_from_its_first_byte_on() {
    let mut trace = Fixture::new();
    trace.send("a", "b", 0, 50).arrives(10);
    trace.send("b", "c", 30, 31);
    let links = infer(&trace.trace(), &options());
    assert_eq!(
        (
            parents(&links, MessageId::from_index(1)),
            links.spontaneous_probability(MessageId::from_index(1)) < 0.1
        ),
        (vec![0], true)
    );
    // The response of an untraced node, in fragments: it was sent when the first one had arrived.
    let mut trace = Fixture::new().untraced(&["d"]);
    trace.send("b", "d", 0, 1);
    trace.send("d", "b", 2, 50).arrives(20);
    trace.send("b", "c", 30, 31);
    let trace = trace.trace();
    let (answer, child) = (at(&trace, 50), at(&trace, 30));
    let links = infer(&trace, &options());
    assert_eq!((parents(&links, answer), parents(&links, child)), (vec![0], vec![answer.index()]));
    assert_eq!(delay(&trace, &options(), answer), 20.0);
}

#[test]
fn with_a_coarse_clock_a_response_does_not_cause_its_request() {
    // All within a millisecond, on a clock with that resolution.
    let mut trace = Fixture::new();
    trace.send("x", "a", 5, 5).on(1);
    trace.send("a", "b", 5, 5).on(2);
    trace.send("b", "a", 5, 5).accepting().ports(80, 40_000).on(2);
    let mut links = infer(&trace.trace(), &options());
    assert_eq!(
        [0, 1, 2].map(|child| parents(&links, MessageId::from_index(child))),
        [vec![], vec![0], vec![1]]
    );
    assert_eq!(links.break_cycles(&(0..3)), 0);
}
