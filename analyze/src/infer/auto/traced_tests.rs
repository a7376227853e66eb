//! Calls with trace ids of tracers, compared with the result from times alone.

use message_trace::{MessageId, MessageTrace};

use super::AutoAlgorithm;
use super::service::{MadeCallId, NodeSpan, RequestId, Service};
use crate::calls::CallId;
use crate::fixture::Fixture;
use crate::infer::call_links::WorkItem;
use crate::infer::{Inference, InferenceInput};
use crate::naming::Naming;
use crate::options::Options;

/// Pairs of requests that a server with one thread receives together. In every third pair it makes
/// the call for the second one first, which the times do not show.
fn overtaking(with_traces: bool) -> MessageTrace {
    let mut trace = Fixture::new();
    for pair in 0..40_i64 {
        let (time, swapped) = (1_000_000 * pair, pair * 7919 % 3 == 0);
        let own = 5000 + 4 * pair as u16;
        for of in 0..2_i64 {
            let place = if swapped { 1 - of } else { of };
            let (flow, port, id) = (4 * pair + of, own + of as u16, (2 * pair + of + 1) as u64);
            let asked = time + 40_000 + 1_000 * place;
            let answered = time + 90_000 + 1_000 * place;
            let request = trace.send("x", "web", time + of, time + of + 10);
            request.ports(port, 80).on(flow).threads(1, 1);
            if with_traces {
                request.of_trace(id, 2 * id);
            }
            let (flow, port) = (flow + 2, port + 2);
            let call = trace.send("web", "db", asked, asked + 10);
            call.ports(port, 5432).on(flow).threads(1, 1);
            if with_traces {
                call.of_trace(id, 2 * id + 1);
            }
            trace
                .send("db", "web", asked + 20_000, asked + 20_010)
                .ports(5432, port)
                .accepting()
                .on(flow)
                .threads(1, 1);
            let (flow, port) = (flow - 2, port - 2);
            trace
                .send("web", "x", answered, answered + 10)
                .ports(80, port)
                .accepting()
                .on(flow)
                .threads(1, 1);
        }
    }
    trace.trace()
}

/// Number of calls that are surely caused by the request of their pair and place, and number of
/// all.
fn sure(trace: &MessageTrace) -> [usize; 2] {
    let options = Options::default();
    let naming = Naming::new(trace, &options);
    let links = AutoAlgorithm::default()
        .infer_links(&InferenceInput::without_progress(trace, &naming, &options));
    let calls = trace.ids().filter(|row| trace.message(*row).bytes == 100);
    let calls: Vec<MessageId> = calls.filter(|row| trace.flow(*row).number() % 4 >= 2).collect();
    let is_request = |row: &MessageId| trace.direction(*row) == message_trace::FROM_CONNECTING;
    let calls: Vec<MessageId> = calls.into_iter().filter(is_request).collect();
    let right = calls.iter().filter(|row| {
        let parents: Vec<(MessageId, f64)> = links.parents_here(**row).collect();
        matches!(parents[..], [(parent, share)] if share > 0.999
            && trace.flow(**row) == trace.flow(parent).advanced_by(2))
    });
    [right.count(), calls.len()]
}

#[test]
fn a_call_was_made_for_the_request_of_its_trace() {
    assert_eq!(sure(&overtaking(true)), [80, 80]);
    let [right, all] = sure(&overtaking(false));
    assert!(right < all, "times alone do not show it: {right}");
}

#[test]
fn a_forwarded_header_belongs_to_the_request_with_the_same_span() {
    // Both requests are of one trace; the proxy forwards their headers.
    let mut trace = Fixture::new();
    for (of, at) in [(0_i64, 60), (1, 50)] {
        trace
            .send("x", "proxy", of, of + 5)
            .ports(5000 + of as u16, 80)
            .on(of)
            .of_trace(7, of as u64);
        let call = trace.send("proxy", "web", at, at + 5).ports(6000 + of as u16, 81);
        call.on(2 + of).of_trace(7, of as u64);
        let back = trace.send("web", "proxy", at + 20, at + 25).ports(81, 6000 + of as u16);
        back.on(2 + of).accepting();
        let back = trace.send("proxy", "x", at + 30, at + 35).ports(80, 5000 + of as u16);
        back.on(of).accepting();
    }
    let trace = trace.trace();
    let options = Options::default();
    let naming = Naming::new(&trace, &options);
    let links = AutoAlgorithm::default()
        .infer_links(&InferenceInput::without_progress(&trace, &naming, &options));
    let parents = |row: usize| links.parent_rows(row);
    // The call of the second request comes first.
    assert_eq!((parents(2), parents(3)), (vec![(1, 1.0)], vec![(0, 1.0)]));
}

#[test]
fn a_request_of_another_trace_is_no_cause_and_one_without_an_id_may_be() {
    let span = |begin: i64, end: i64| NodeSpan { begin, end, kind: 1 };
    let service = Service {
        requests: vec![span(0, 90), span(1, 91), span(2, 92)],
        calls: vec![span(10, 20), span(11, 21)],
        request_traces: vec![5, 0, 6],
        call_traces: vec![6, 0],
        ..Service::default()
    };
    let [first, second, third] = [0, 1, 2].map(RequestId::from_index);
    let lasts = |call: usize| {
        let call = MadeCallId::from_index(call);
        [first, second, third].map(|request| service.outlasts(request, call))
    };
    assert_eq!((lasts(0), lasts(1)), ([false, true, true], [true; 3]));
    let mut shares = vec![
        vec![(Some(first), 0.5), (Some(second), 0.25), (None, 0.25)],
        vec![(Some(first), 1.0)],
    ];
    let numbered = Service {
        made_calls: [7, 8].map(CallId::from_index).to_vec(),
        request_calls: [1, 2, 3].map(WorkItem::request_at).to_vec(),
        ..service
    };
    super::traced::restrict_to_traces(&numbered, &mut shares);
    assert_eq!(shares, [vec![(Some(second), 0.5), (None, 0.5)], vec![(Some(first), 1.0)]]);
}
