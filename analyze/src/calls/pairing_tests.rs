//! Tests of pairing on hand-made traces.

use message_trace::{Endpoint, FROM_ACCEPTING, FlowId, Message, NodeId, TransportProtocol};

use super::*;
use crate::calls::{CallId, Calls};
use crate::fixture::Fixture;

/// The time of receipt of a message that was lost.
const LOST: i64 = i64::MIN;

/// A message as sender, receiver, call id (empty: none), and the times of sending and receipt. The
/// node with the alphabetically first name accepts, except that "c" never does.
pub(in crate::calls) type Row<'a> = (&'a str, &'a str, &'a str, i64, i64);

/// c calls a (messages 0 and 5), which calls b (1, 2) and then d (3, 4).
pub(in crate::calls) const IN_TURN: [Row<'_>; 6] = [
    ("c", "a", "x", 0, 1),
    ("a", "b", "y", 2, 3),
    ("b", "a", "y", 4, 5),
    ("a", "d", "z", 6, 7),
    ("d", "a", "z", 8, 9),
    ("a", "c", "x", 10, 11),
];

/// A trace of these messages, with its calls. All messages between two nodes are one flow.
pub(in crate::calls) fn calls(rows: &[Row<'_>]) -> (MessageTrace, Calls) {
    calls_at(rows, TransportProtocol::Tcp, |endpoint| endpoint.clone())
}

/// A trace of these messages over `protocol`, with the endpoints that `named` returns, and its
/// calls.
fn calls_at(
    rows: &[Row<'_>],
    protocol: TransportProtocol,
    named: impl Fn(&Endpoint) -> Endpoint,
) -> (MessageTrace, Calls) {
    let accepts = |name: &str| name != "c";
    let mut fixture = Fixture::new();
    for (src, dst, _, send, recv) in rows {
        let sent = fixture.send(src, dst, *send, *recv);
        if accepts(src) && !(accepts(dst) && src < dst) {
            sent.accepting();
        }
        if *recv == LOST {
            sent.lost();
        }
    }
    let plain = fixture.trace();
    let mut trace = MessageTrace::new(plain.nodes.clone());
    let mut sorted = rows.to_vec();
    sorted.sort_by_key(|row| row.3);
    for (row, (_, _, id, _, _)) in sorted.iter().enumerate() {
        let message = plain.message(MessageId::from_index(row));
        let [src, dst] = [message.src, message.dst].map(NodeId::index);
        let flow = FlowId::from_number((src.min(dst) * 100 + src.max(dst)) as i64);
        let endpoints = [message.src_endpoint, message.dst_endpoint]
            .map(|id| trace.intern(&named(plain.endpoint(id).unwrap())));
        let [src_endpoint, dst_endpoint] = endpoints;
        let message = Message { flow, src_endpoint, dst_endpoint, protocol, ..message };
        trace.push(&message, Some(*id).filter(|id| !id.is_empty()));
    }
    let calls = Calls::from_trace(&trace);
    (trace, calls)
}

/// Requests and responses by row.
fn pairs_by_row(rows: &[Row<'_>]) -> Vec<(Option<usize>, Option<usize>)> {
    pairs_of(&calls(rows).1)
}

/// Requests and responses by row, without known connections.
fn found_by_order(rows: &[Row<'_>]) -> Vec<(Option<usize>, Option<usize>)> {
    pairs_of(&calls_at(rows, TransportProtocol::Tcp, |_| Endpoint::Other(String::new())).1)
}

fn pairs_of(calls: &Calls) -> Vec<(Option<usize>, Option<usize>)> {
    calls.pair_rows()
}

#[test]
fn an_id_pairs_messages_with_others_in_between() {
    let rows = [
        ("c", "a", "x", 0, 1),
        ("c", "a", "y", 2, 3),
        ("a", "c", "y", 4, 5),
        ("a", "c", "x", 6, 7),
    ];
    assert_eq!(pairs_by_row(&rows), [(Some(0), Some(3)), (Some(1), Some(2))]);
}

#[test]
fn a_busy_client_that_reads_late_does_not_hide_the_turns_of_the_server() {
    let rows = [
        ("c", "a", "", 0, 1),
        ("a", "c", "", 2, 30),
        ("c", "a", "", 10, 11),
        ("a", "c", "", 12, 30),
        ("c", "a", "", 20, 21),
        ("a", "c", "", 22, 50),
        ("c", "a", "", 40, 41),
        // One message has the responses to the last two requests.
        ("c", "a", "", 42, 43),
        ("a", "c", "", 44, 60),
    ];
    let pairs = [(0, Some(1)), (2, Some(3)), (4, Some(5)), (6, Some(8)), (7, None)];
    assert_eq!(pairs_by_row(&rows), pairs.map(|(request, response)| (Some(request), response)));
}

#[test]
fn a_clock_that_timed_both_identifies_a_request_that_seems_to_come_later() {
    // a's clock is 10 late: by the common clock, its response was sent before the request.
    assert_eq!(
        pairs_by_row(&[("a", "c", "x", -5, 6), ("c", "a", "x", 0, -8)]),
        [(Some(1), Some(0))]
    );
    // The accepting side calls, as Project 5's traces may have it.
    assert_eq!(pairs_by_row(&[("b", "a", "x", 0, 1), ("a", "b", "x", 2, 3)]), [(Some(0), Some(1))]);
    let first = MessageId::from_index(0);
    assert_eq!(row_direction(&calls(&[("b", "a", "x", 0, 1)]).0, first), FROM_ACCEPTING);
}

#[test]
fn the_direction_decides_the_role_of_a_single_message_with_an_id() {
    assert_eq!(
        pairs_by_row(&[("c", "a", "x", 0, 1), ("a", "c", "y", 2, 3)]),
        [(Some(0), None), (None, Some(1))]
    );
    // b accepts and calls: the second message is a request, too.
    let rows = [("b", "a", "x", 0, 1), ("a", "b", "x", 2, 3), ("b", "a", "y", 4, 5)];
    assert_eq!(pairs_by_row(&rows), [(Some(0), Some(1)), (Some(2), None)]);
}

#[test]
fn a_reused_id_is_another_call_with_another_name() {
    let rows = [
        ("c", "a", "x", 0, 1),
        ("a", "c", "x", 2, 3),
        ("c", "a", "x", 4, 5),
        ("a", "c", "x", 6, 7),
    ];
    assert_eq!(pairs_by_row(&rows), [(Some(0), Some(1)), (Some(2), Some(3))]);
    let (trace, calls) = calls(&rows);
    assert_eq!([0, 1].map(|call| calls.id(&trace, CallId::from_index(call))), ["x", "x#2"]);
}

#[test]
fn without_ids_messages_are_paired_by_turns() {
    let q = |time| ("c", "a", "", time, time + 1);
    let r = |time| ("a", "c", "", time, time + 1);
    // Pipelined: two requests before the first response.
    let pipelined = [q(0), q(2), r(4), q(6), r(8), r(10)];
    assert_eq!(
        pairs_by_row(&pipelined),
        [(Some(0), Some(2)), (Some(1), Some(4)), (Some(3), Some(5))]
    );
    // The first request was sent in two fragments: later pairs are not shifted.
    let pieces = [q(0), q(2), r(4), q(6), r(8)];
    assert_eq!(pairs_by_row(&pieces), [(Some(0), Some(2)), (Some(1), None), (Some(3), Some(4))]);
    // A request that is never answered is a call without a response.
    assert_eq!(pairs_by_row(&[q(0), r(2), q(4)]), [(Some(0), Some(1)), (Some(2), None)]);
    let (trace, calls) = calls(&[q(0), r(2), q(4)]);
    assert_eq!([0, 1].map(|call| calls.id(&trace, CallId::from_index(call))), ["#0", "#2"]);
}

#[test]
fn without_connections_each_return_is_of_the_earliest_unmatched_call() {
    let q = |time| ("c", "a", "", time, time);
    let r = |time| ("a", "c", "", time, time);
    // (A, B, 0, 3) and (A, B, 1, 4); the call at 5 is not answered, and does not begin a turn of
    // its own.
    let rows = [q(0), q(1), r(3), r(4), q(5), q(6), r(7)];
    let all = [(Some(0), Some(2)), (Some(1), Some(3)), (Some(4), Some(6)), (Some(5), None)];
    assert_eq!(found_by_order(&rows), all);
    // A return is outstanding when the next call is made. On a connection the next call would begin
    // a turn.
    let rows = [q(0), q(1), r(2), q(3), r(4)];
    assert_eq!(found_by_order(&rows), [(Some(0), Some(2)), (Some(1), Some(4)), (Some(3), None)]);
    assert_eq!(pairs_by_row(&rows), [(Some(0), Some(2)), (Some(1), None), (Some(3), Some(4))]);
    // An unasked message stands alone, here as well.
    assert_eq!(found_by_order(&[r(0), q(1), r(2)]), [(Some(0), None), (Some(1), Some(2))]);
}

#[test]
fn calls_of_one_id_are_matched_in_order_and_of_one_sent_again_the_last_was_answered() {
    let q = |time| ("c", "a", "x", time, time + 1);
    let r = |time| ("a", "c", "x", time, time + 1);
    assert_eq!(pairs_by_row(&[q(0), q(2), r(4), r(6)]), [(Some(0), Some(2)), (Some(1), Some(3))]);
    assert_eq!(pairs_by_row(&[q(0), q(2), r(4)]), [(Some(0), None), (Some(1), Some(2))]);
}

#[test]
fn turns_are_determined_by_one_clock() {
    // By the common clock the responses, sent at -9 and -5, come before both requests.
    let rows = [
        ("a", "c", "", -9, 3),
        ("a", "c", "", -5, 7),
        ("c", "a", "", 0, -10),
        ("c", "a", "", 4, -6),
    ];
    assert_eq!(pairs_by_row(&rows), [(Some(2), Some(0)), (Some(3), Some(1))]);
}

#[test]
fn turns_are_determined_by_the_clock_that_saw_more() {
    // a's clock is late, and its responses did not arrive: by c's clock, there are only the
    // requests.
    let rows = [
        ("c", "a", "", 0, -9),
        ("a", "c", "", -8, LOST),
        ("c", "a", "", 4, -5),
        ("a", "c", "", -4, LOST),
    ];
    assert_eq!(pairs_by_row(&rows), [(Some(2), Some(0)), (Some(3), Some(1))]);
}

#[test]
fn a_lost_request_is_not_the_answered_one() {
    let over = |protocol, rows: &[Row<'_>]| {
        pairs_of(&calls_at(rows, protocol, |endpoint| endpoint.clone()).1)
    };
    let found = |rows: &[Row<'_>]| over(TransportProtocol::Udp, rows);
    // A query with a lost first datagram, sent again; and one that was sent again because the
    // response was late.
    let again = [("c", "a", "", 0, LOST), ("c", "a", "", 20, 21), ("a", "c", "", 22, 23)];
    assert_eq!(found(&again), [(Some(0), None), (Some(1), Some(2))]);
    // A message over a connection arrives, whether the log has it or not.
    assert_eq!(over(TransportProtocol::Tcp, &again), [(Some(0), Some(2)), (Some(1), None)]);
    let late = [("c", "a", "", 0, 1), ("c", "a", "", 20, 21), ("a", "c", "", 22, 23)];
    assert_eq!(found(&late), [(Some(0), Some(2)), (Some(1), None)]);
    // Twenty lost requests in sequence are not retransmissions of one.
    let mut many: Vec<Row<'_>> = (0..20).map(|time| ("c", "a", "", time, LOST)).collect();
    many.extend([("c", "a", "", 20, 21), ("a", "c", "", 22, 23)]);
    assert_eq!(found(&many)[0], (Some(0), Some(21)));
    // Of requests that all were lost, or that may have been, the first is answered.
    let unseen = [("c", "a", "", 0, LOST), ("c", "a", "", 20, LOST), ("a", "c", "", 22, 23)];
    assert_eq!(found(&unseen), [(Some(0), Some(2)), (Some(1), None)]);
}

#[test]
fn a_first_message_of_the_accepting_side_is_not_part_of_later_turns() {
    let q = |time| ("c", "a", "", time, time + 1);
    let r = |time| ("a", "c", "", time, time + 1);
    // The first message answers something that was not seen: the connection setup, or a request
    // before the recording.
    assert_eq!(pairs_by_row(&[r(0), q(2), r(4)]), [(None, Some(0)), (Some(1), Some(2))]);
    // Both sides have sent equally many, since the first request came in two fragments: it does not
    // take the second response.
    let even = [r(0), q(2), q(4), r(6), q(8), r(10)];
    assert_eq!(
        pairs_by_row(&even),
        [(None, Some(0)), (Some(1), Some(3)), (Some(2), None), (Some(4), Some(5))]
    );
    // The accepting side has sent more, but all requests are answered: pipelined requests stay
    // open.
    let more = [r(0), q(2), q(4), r(6), q(8), r(10), r(12)];
    let pairs = [(None, Some(0)), (Some(1), Some(3)), (Some(2), Some(5)), (Some(4), Some(6))];
    assert_eq!(pairs_by_row(&more), pairs);
}

#[test]
fn a_connection_setup_is_answered_by_the_greeting() {
    let mut trace = Fixture::new();
    trace.send("c", "a", 0, 1).on(1).connect();
    trace.send("a", "c", 2, 3).ports(80, 40_000).on(1).accepting();
    trace.send("c", "a", 4, 5).on(1);
    trace.send("a", "c", 6, 7).ports(80, 40_000).on(1).accepting();
    // c sends a farewell, which is not answered.
    trace.send("c", "a", 8, 9).on(1);
    assert_eq!(
        pairs_of(&Calls::from_trace(&trace.trace())),
        [(Some(0), Some(1)), (Some(2), Some(3)), (Some(4), None)]
    );
}

#[test]
fn a_request_read_to_its_end_after_the_response_precedes_it() {
    // c is not traced, and a reads the rest of each request after it has answered.
    let mut trace = Fixture::new().untraced(&["c"]);
    for call in 0..3 {
        let time = 100 * call;
        trace.send("c", "a", time, time + 50).on(1).arrives(time + 10);
        trace.send("a", "c", time + 20, time + 21).ports(80, 40_000).on(1).accepting();
    }
    // By the time of the last byte the first response precedes the first request.
    let trace = trace.trace();
    assert_eq!(
        (
            trace.send_ts(MessageId::from_index(0)),
            trace.arrival_time(MessageId::from_index(1)),
            trace.recv_ts(MessageId::from_index(1))
        ),
        (Some(20), Some(10), Some(50))
    );
    assert_eq!(
        pairs_of(&Calls::from_trace(&trace)),
        [(Some(1), Some(0)), (Some(3), Some(2)), (Some(5), Some(4))]
    );
}

#[test]
fn for_one_id_the_first_byte_identifies_the_request() {
    // a calls c over the connection that c made, and c reads to the end after it has answered.
    let mut plain = Fixture::new();
    plain.send("a", "c", 0, 30).ports(80, 40_000).on(1).accepting().arrives(10);
    plain.send("c", "a", 20, 21).on(1);
    let plain = plain.trace();
    let mut trace = MessageTrace::new(plain.nodes.clone());
    plain.messages().for_each(|message| trace.push(&message, Some("x")));
    assert_eq!(pairs_of(&Calls::from_trace(&trace)), [(Some(0), Some(1))]);
}

#[test]
fn a_message_sent_before_a_request_arrived_does_not_answer_it() {
    // a sends an unasked message at 1, while the request is under way.
    let rows = [("c", "a", "", 0, 5), ("a", "c", "", 1, 6), ("a", "c", "", 7, 8)];
    assert_eq!(pairs_by_row(&rows), [(Some(0), Some(2)), (Some(1), None)]);
}
