//! Systems with an untraced intermediary, all on one machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use message_trace::Message;

use super::*;
use crate::calls::{CallId, CandidateParents, LikelyParents};
use crate::fixture::Fixture;
use crate::infer::auto::AutoAlgorithm;
use crate::infer::auto::tests::{MS, lot};
use crate::infer::{Inference, InferenceInput, Links};
use crate::options::Options;

/// The trace `plain` with loopback addresses only, and with a node for each connection of an
/// untraced client, as in a capture.
fn on_loopback(plain: &MessageTrace) -> MessageTrace {
    let mut trace = MessageTrace::new(plain.nodes.clone());
    for message in plain.messages() {
        let ends = [message.src_endpoint, message.dst_endpoint].map(|id| {
            let port = plain.endpoint(id).and_then(Endpoint::port).unwrap();
            trace.intern(&Endpoint::Inet(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)))
        });
        let [src_endpoint, dst_endpoint] = ends;
        trace.push(&Message { src_endpoint, dst_endpoint, ..message }, None);
    }
    trace
}

/// A call over a connection of its own.
fn call(trace: &mut Fixture, [from, to]: [&str; 2], port: u16, times: [i64; 4]) {
    let (own, [asks, asked, answers, answered]) = (trace.ephemeral(), times);
    trace.send(from, to, asks, asked).ports(own, port).on(i64::from(own));
    trace.send(to, from, answers, answered).ports(port, own).accepting().on(i64::from(own));
}

/// Requests of an untraced client to a, which calls the untraced m; and m calls b twice, the first
/// time `before` after its receipt. Some of them overlap.
fn through_m(requests: i64, before: i64) -> MessageTrace {
    let mut trace = Fixture::new().untraced(&["load", "m", "of-m"]);
    for request in 0..requests {
        let at = 10 * MS * (request / 2) + request % 2 * (MS + lot(request, 4 * MS));
        let (first, second) = (at + MS + before, at + 3 * MS + before);
        let jitter = lot(request + 1000, MS / 5);
        call(&mut trace, ["load", "a"], 80, [at - 9, at, at + 7 * MS, at + 7 * MS + 9]);
        call(&mut trace, ["a", "m"], 9000, [at + MS / 2, 0, 0, at + 6 * MS]);
        call(&mut trace, ["of-m", "b"], 81, [0, first + jitter, first + MS + jitter, 0]);
        call(&mut trace, ["of-m", "b"], 81, [0, second + jitter, second + MS, 0]);
    }
    on_loopback(&trace.trace())
}

fn infer(trace: &MessageTrace) -> (Calls, Links) {
    let options = Options::default();
    (
        Calls::from_trace(trace),
        AutoAlgorithm::default().infer_links(&InferenceInput::without_progress(
            trace,
            &Naming::new(trace, &options),
            &options,
        )),
    )
}

/// How many of the calls to `to` have most likely been made for a call to `parent`.
fn made_for(
    trace: &MessageTrace,
    (calls, links): &(Calls, Links),
    to: &str,
    parent: Option<&str>,
) -> usize {
    let parents =
        LikelyParents::from_links(calls, links, &CandidateParents::from_links(calls, links));
    let callee = |call: CallId| {
        let row = calls.request(call).unwrap();
        trace.nodes.get(trace.message(row).dst).unwrap().command.as_str()
    };
    let of = calls.iter().filter(|call| callee(*call) == to);
    of.filter(|call| parents.of_call(*call).unwrap().call.map(callee) == parent).count()
}

#[test]
fn calls_of_an_untraced_program_are_for_the_requests_to_it() {
    let trace = through_m(200, 0);
    let found = infer(&trace);
    assert_eq!(made_for(&trace, &found, "b", Some("m")), 400);
    assert_eq!(made_for(&trace, &found, "m", Some("a")), 200);
    assert_eq!(made_for(&trace, &found, "a", None), 200, "the client's own requests begin paths");
    // In nearly all cases each request to m has its own two calls.
    let (calls, links) = &found;
    let parents =
        LikelyParents::from_links(calls, links, &CandidateParents::from_links(calls, links));
    let mut of = vec![0; calls.len()];
    for parent in calls.iter().filter_map(|call| parents.of_call(call)?.call) {
        of[parent.index()] += 1;
    }
    let twos = of.iter().filter(|count| **count == 2).count();
    assert!(twos >= 196, "{twos}");
}

#[test]
fn calls_outside_of_the_requests_are_not_made_by_the_server() {
    // b is called long after m has responded.
    let trace = through_m(200, 50 * MS + MS / 7);
    let found = infer(&trace);
    assert_eq!(made_for(&trace, &found, "b", None), 400);
}

#[test]
fn a_server_that_always_has_a_request_open_makes_no_calls() {
    // a always waits at an untraced queue, whatever else it does; meanwhile there are quick
    // requests of an untraced client.
    let mut trace = Fixture::new().untraced(&["load", "queue"]);
    for request in 0..200 {
        let at = 10 * MS * request + lot(request, 5 * MS);
        call(&mut trace, ["load", "a"], 80, [0, at, at + MS, 0]);
        call(&mut trace, ["a", "queue"], 6379, [10 * MS * request, 0, 0, 10 * MS * (request + 2)]);
    }
    let trace = on_loopback(&trace.trace());
    let found = infer(&trace);
    assert_eq!(made_for(&trace, &found, "a", None), 200);
}

#[test]
fn responses_of_an_untraced_database_pair_within_their_connection() {
    // Twelve pooled connections. On each, requests are open at any time, and responses come in
    // another order. One more connection carries messages that are not answered: none, or more than
    // are answered.
    for told in [0, 400] {
        let mut trace = Fixture::new().untraced(&["database"]);
        for request in 0..240_i64 {
            let (connection, at) = (request % 12, MS * request);
            let end = at + 2 * MS + lot(request, 9 * MS);
            trace
                .send("app", "database", at, 0)
                .ports(5000 + connection as u16, 5432)
                .on(connection);
            let back = trace.send("database", "app", 0, end);
            back.ports(5432, 5000 + connection as u16).accepting().on(connection);
        }
        for request in 0..told {
            trace.send("app", "database", MS * request / 2 + 7, 0).ports(6000, 5432).on(99);
        }
        let trace = trace.trace();
        let (_, links) = infer(&trace);
        for row in trace.ids().filter(|row| trace.direction(*row) != message_trace::FROM_CONNECTING)
        {
            let parents: Vec<(MessageId, f64)> = links.parents_here(row).collect();
            let [(request, probability)] = parents[..] else { panic!("{parents:?}") };
            assert_eq!((trace.flow(request), probability), (trace.flow(row), 1.0));
            assert_eq!((links.spontaneous_probability(row), request < row), (0.0, true));
        }
    }
}
