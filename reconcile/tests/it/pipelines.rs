//! Several operations in one call: one message if one request caused them all, and a message each
//! if a client coalesces many requests.

use socket_log::encode::Direction::{Receive, Send};

use crate::common::System;
use crate::operations::ends;

/// First messages of a client with a log of two commands in one call and a third in the next,
/// before any answer was received if it is `again`.
fn asks_in_rounds(again: bool) -> Vec<String> {
    let (mut client, mut server) = ends();
    let mut operations = Vec::new();
    let (requested_at, answered_at) =
        if again { ([0, 10], [600, 600]) } else { ([0, 500], [300, 800]) };
    for round in (10_000..).step_by(1_000).take(20) {
        for ((requested, answered), commands) in
            requested_at.into_iter().zip(answered_at).zip([2, 1])
        {
            let [requested, answered] = [requested, answered].map(|at| round + at);
            client.send(requested, 1, 20 * commands).receive(answered, 1, 5 * commands);
            server.receive(requested + 100, 1, 20 * commands).send(
                requested + 200,
                1,
                5 * commands,
            );
            for at in 0..commands as u32 {
                operations.push((Send, requested, 20 * at, "GET"));
                operations.push((Receive, answered, 5 * at, "200"));
            }
        }
    }
    let system = System::new();
    let outcome = system
        .with_operations("a", &client, &operations)
        .with_operations("b", &server, &[])
        .reconcile();
    outcome.lines().iter().take(6).cloned().collect()
}

#[test]
fn a_pipeline_is_divided_if_its_client_sends_again_before_an_answer() {
    let expected = [
        "client => server 20 10000 10100",
        "client => server 20 10000 10100",
        "client => server 20 10010 10110",
        "server -> client 5 10200 10600",
        "server -> client 5 10200 10600",
        "server -> client 5 10210 10600",
    ];
    assert_eq!(asks_in_rounds(true), expected);
    let expected = [
        "client => server 40 10000 10100",
        "server -> client 10 10200 10300",
        "client => server 20 10500 10600",
        "server -> client 5 10700 10800",
        "client => server 40 11000 11100",
        "server -> client 10 11200 11300",
    ];
    assert_eq!(asks_in_rounds(false), expected);
}
