//! Tests of responses in fragments, on hand-made traces.

use message_trace::{MessageId, MessageTrace};

use crate::calls::Calls;
use crate::fixture::{Fixture, FixtureMessage};

/// How the client of [`files`] continues after a reply.
#[derive(Clone, Copy)]
struct Client {
    /// Whether the client acts on behalf of a request that it received.
    is_asked: bool,
    /// How long the client waits for the second reply, and after that before its next request.
    waits: [i64; 2],
}

const GATEWAY: Client = Client { is_asked: true, waits: [300, 10] };

/// Ten times "user" sends "b" a request, for which it makes three calls to "a". After the response
/// to the second of them, a sends another message. Rows are in the order of sending.
fn files(client: Client) -> (MessageTrace, Calls) {
    let mut trace = Fixture::new();
    for at in 0..10 {
        let (begin, flow) = (100_000 * at, 2 * at + 1);
        let back = |sent: &mut FixtureMessage| {
            sent.ports(80, 40_000 + at as u16).accepting().on(flow);
        };
        if client.is_asked {
            trace.send("user", "b", begin, begin + 1).on(flow + 1);
        }
        let ask = |trace: &mut Fixture, time| {
            trace.send("b", "a", time, time + 1).ports(40_000 + at as u16, 80).on(flow);
        };
        let mut time = begin + 2;
        ask(&mut trace, time);
        back(trace.send("a", "b", time + 400, time + 401));
        time += 410;
        ask(&mut trace, time);
        back(trace.send("a", "b", time + 20, time + 21));
        time += 20 + client.waits[0];
        back(trace.send("a", "b", time, time + 1));
        time += 1 + client.waits[1];
        ask(&mut trace, time);
        back(trace.send("a", "b", time + 20, time + 21));
        if client.is_asked {
            trace
                .send("b", "user", time + 30, time + 31)
                .ports(80, 50_000)
                .accepting()
                .on(flow + 1);
        }
    }
    let trace = trace.trace();
    let calls = Calls::from_trace(&trace);
    assert_eq!(calls.iter().map(|call| calls.message_count(call)).sum::<usize>(), trace.len());
    (trace, calls)
}

/// Returns the number of calls with a response in fragments.
fn in_pieces(client: Client) -> usize {
    let (_, calls) = files(client);
    calls.iter().filter(|call| calls.message_count(*call) > 2).count()
}

#[test]
fn a_second_reply_that_the_client_waits_for_is_a_response_fragment() {
    let (_, calls) = files(GATEWAY);
    // user's request is row 0; the second call to a is row 3, with its replies in rows 4 and 5.
    let [third, fourth, fifth] = [3, 4, 5].map(MessageId::from_index);
    let call = calls.call_of_message(third);
    assert_eq!(
        (calls.request(call), calls.response(call), calls.message_count(call)),
        (Some(third), Some(fifth), 3)
    );
    assert_eq!([calls.call_of_message(fourth), calls.call_of_message(fifth)], [call, call]);
    let requests = [third, fourth, fifth].map(|row| calls.request_of_fragment(row));
    assert_eq!(requests, [None, Some(third), None]);
    assert_eq!((calls.len(), in_pieces(GATEWAY)), (40, 10));
}

#[test]
fn notifications_are_not_response_fragments() {
    // A node that serves no request does not wait for notifications.
    assert_eq!(in_pieces(Client { is_asked: false, ..GATEWAY }), 0);
    // The message comes at any time, long after the response or without the client continuing after
    // it.
    assert_eq!(in_pieces(Client { waits: [2000, 10], ..GATEWAY }), 0);
    assert_eq!(in_pieces(Client { waits: [300, 290], ..GATEWAY }), 0);
}
