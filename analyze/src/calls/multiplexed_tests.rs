//! Tests of concurrent calls on one connection, by hand and at random.

use proptest::prelude::*;

use super::*;
use crate::fixture::Fixture;

/// A message of connection 1: whether it is a request, its time and its size. The client is "c",
/// the server "a".
type Row = (bool, i64, i64);

fn calls(rows: &[Row]) -> (MessageTrace, Calls) {
    let mut fixture = Fixture::new();
    for (is_request, at, bytes) in rows {
        let sent = match is_request {
            true => fixture.send("c", "a", *at, at + 1),
            false => fixture.send("a", "c", *at, at + 1).accepting(),
        };
        sent.on(1).bytes(*bytes);
    }
    let trace = fixture.trace();
    let calls = Calls::from_trace(&trace);
    (trace, calls)
}

/// Returns the times of the requests and responses of all calls; `None` if one is missing.
fn times((trace, calls): &(MessageTrace, Calls)) -> Vec<(Option<i64>, Option<i64>)> {
    let sent = |row: Option<MessageId>| row.and_then(|row| trace.send_ts(row));
    calls.iter().map(|call| (sent(calls.request(call)), sent(calls.response(call)))).collect()
}

/// Repeats the rows of `round` `count` times, each time 1000 later.
fn rounds(count: i64, round: &[Row]) -> Vec<Row> {
    let later = |number: i64| {
        round.iter().map(move |(is_request, at, bytes)| (*is_request, at + 1_000 * number, *bytes))
    };
    (0..count).flat_map(later).collect()
}

#[test]
fn a_ping_before_each_request_takes_no_response() {
    let found = calls(&rounds(100, &[(true, 0, 17), (true, 100, 300), (false, 200, 500)]));
    for number in 0..100 {
        let at = 1_000 * number;
        let expected = [(Some(at), None), (Some(at + 100), Some(at + 200))];
        assert_eq!(times(&found)[2 * number as usize..][..2], expected);
    }
    assert!(found.1.iter().all(|call| found.1.mispairing_probability(call) == 0.0));
}

#[test]
fn small_requests_that_are_answered_are_requests() {
    // Every tenth is small.
    let mut rows = rounds(100, &[(true, 0, 300), (false, 100, 500)]);
    for number in (0..100).step_by(10) {
        rows[2 * number].2 = 5;
    }
    let found = calls(&rows);
    assert!(times(&found).iter().all(|(request, answer)| request.is_some() && answer.is_some()));
}

/// The mispairing probability of the call with this index.
fn mispairing(found: &(MessageTrace, Calls), call: usize) -> f64 {
    found.1.mispairing_probability(CallId::from_index(call))
}

/// Two overlapping calls: the second begins while the first is open, and both are answered.
const TWO: [Row; 4] = [(true, 0, 300), (true, 100, 300), (false, 200, 500), (false, 300, 500)];

#[test]
fn concurrent_calls_are_paired_in_order_and_uncertain() {
    let found = calls(&rounds(100, &TWO));
    for (number, pair) in times(&found).chunks(2).enumerate() {
        let at = 1_000 * number as i64;
        assert_eq!(pair, [(Some(at), Some(at + 200)), (Some(at + 100), Some(at + 300))]);
    }
    // Either response may belong to either of the two calls.
    assert_eq!([0, 1].map(|call| mispairing(&found, call)), [0.5, 0.5]);
}

#[test]
fn exchanging_identical_responses_is_no_mispairing() {
    // Both responses were cut from one write, and read by one call.
    let mut both = TWO;
    both[3].1 = both[2].1;
    let found = calls(&rounds(100, &both));
    assert_eq!([0, 1].map(|call| mispairing(&found, call)), [0.0, 0.0]);
    // A wrong pair would report wrong sizes.
    both[3].2 += 1;
    let found = calls(&rounds(100, &both));
    assert!(mispairing(&found, 0) > 0.0);
}

#[test]
fn unanswered_requests_and_control_messages_shift_no_later_pairs() {
    // Trailers and window updates now and then, and a request that is never answered in every tenth
    // round.
    let mut rows = rounds(200, &TWO);
    rows.extend(rounds(200, &[(true, 210, 13), (false, 310, 11)]).chunks(2).step_by(7).flatten());
    rows.extend(rounds(200, &[(true, 150, 300)]).into_iter().step_by(10));
    let found = calls(&rows);
    let round = |at: i64| at.div_euclid(1_000);
    let pairs: Vec<_> =
        times(&found).into_iter().filter_map(|(one, other)| one.zip(other)).collect();
    assert_eq!(pairs.len(), 400, "all answers but the small ones");
    let strangers =
        pairs.iter().filter(|(request, answer)| round(*request) != round(*answer)).count();
    assert_eq!(strangers, 0);
}

#[test]
fn calls_with_ids_are_certain() {
    let (trace, calls) = crate::calls::pairing::tests::calls(&[
        ("c", "a", "x", 0, 1),
        ("c", "a", "y", 2, 3),
        ("a", "c", "y", 4, 5),
        ("a", "c", "x", 6, 7),
    ]);
    assert!(mispairing_probabilities(&trace, &calls).is_empty());
}

proptest! {
    #[test]
    fn least_ahead_is_the_minimum_of_the_next_values(values in prop::collection::vec(-50i64..50, 0..400)) {
        let expected: Vec<i64> = (0..values.len())
            .map(|place| *values[place..values.len().min(place + ANSWERS_AHEAD + 1)].iter().min().unwrap())
            .collect();
        prop_assert_eq!(least_ahead(&values), expected);
    }

    /// For any messages, each belongs to one call, and responses come after their requests.
    #[test]
    fn each_message_is_of_one_call(
        rows in prop::collection::vec((any::<bool>(), 0i64..100_000, 1i64..400), 150..400),
    ) {
        let (trace, calls) = calls(&rows);
        let messages: usize = calls.iter().map(|call| calls.message_count(call)).sum();
        prop_assert_eq!(messages, trace.len());
        for call in calls.iter() {
            prop_assert!((0.0..1.0).contains(&calls.mispairing_probability(call)));
        }
    }
}

/// Calls of a connection; some overlap: by number, the times of request and response, and
/// their sizes. Every other call is short and small.
fn overlapping(count: i64, interval: impl Fn(i64) -> i64) -> Vec<[Row; 2]> {
    let mut at = 0;
    let call = |number| {
        at += interval(number);
        let (took, sizes) = if number % 2 == 0 {
            (100 + number % 7, [200, 500])
        } else {
            (900 + number % 11, [300, 600])
        };
        [(true, at * 1_000, sizes[0]), (false, (at + took) * 1_000, sizes[1])]
    };
    (0..count).map(call).collect()
}

/// For each call, whether it has its own response, and its mispairing probability.
fn right(made: &[[Row; 2]]) -> Vec<(bool, f64)> {
    let mut rows: Vec<Row> = made.iter().flatten().copied().collect();
    rows.sort_by_key(|(_, at, _)| *at);
    let found = calls(&rows);
    let times = times(&found);
    let of = |[request, answer]: &[Row; 2]| {
        let call = times.iter().position(|(asked, _)| *asked == Some(request.1)).unwrap();
        (times[call].1 == Some(answer.1), mispairing(&found, call))
    };
    made.iter().map(of).collect()
}

#[test]
fn sizes_and_durations_show_which_call_is_answered_first() {
    // A short call begins and ends while each long one is open; every fourth of each does not
    // overlap.
    let made =
        overlapping(400, |number| if number % 2 == 0 && number % 8 != 0 { 300 } else { 2_000 });
    let found = right(&made);
    assert!(found.iter().all(|(is_right, _)| *is_right));
    assert!(found.iter().all(|(_, mispairing)| *mispairing < 0.05), "the calls differ");
}

#[test]
fn similar_calls_are_uncertain_with_all_overlapping_calls() {
    // Two similar calls begin soon after each other; every fourth pair does not overlap.
    let mut at = 0;
    let mut made = Vec::new();
    for number in 0..400 {
        at += if number % 2 == 0 {
            5_000
        } else if number % 8 == 1 {
            1_000
        } else {
            20
        };
        let took = 300 + number * 37 % 200;
        made.push([(true, at * 1_000, 200), (false, (at + took) * 1_000 + 1, 500)]);
    }
    let found = right(&made);
    for (number, (is_right, mispairing)) in found.iter().enumerate() {
        match number % 8 {
            0 | 1 => assert!(*is_right && *mispairing < 0.2, "{number}: {mispairing}"),
            _ => assert!(*mispairing > 0.1, "{number}: {mispairing}"),
        }
    }
    // Of the calls that are certain nearly all are right.
    let sure = found.iter().filter(|(_, mispairing)| *mispairing <= 0.1);
    assert!(sure.clone().filter(|(is_right, _)| *is_right).count() * 20 >= sure.count() * 19);
}

#[test]
fn responses_in_order_of_receipt_stay_in_order() {
    // A server that works sequentially: a short call waits for the long one that came before it.
    let (mut at, mut free) = (0, 0);
    let mut made = Vec::new();
    for number in 0..400_i64 {
        at += if number % 2 == 0 { 2_000 } else { 300 };
        let (took, sizes) = if number % 4 < 2 { (900, [300, 600]) } else { (100, [200, 500]) };
        let (took, sizes) = if number % 2 == 1 {
            (1_000 - took, [500 - sizes[0], 1_100 - sizes[1]])
        } else {
            (took, sizes)
        };
        free = at.max(free) + took;
        made.push([(true, at * 1_000, sizes[0]), (false, free * 1_000, sizes[1])]);
    }
    let found = right(&made);
    assert!(found.iter().all(|(is_right, mispairing)| *is_right && *mispairing == 0.0));
}

#[test]
fn few_concurrent_calls_are_uncertain() {
    let found = right(&overlapping(8, |number| if number % 2 == 0 { 5_000 } else { 10 }));
    assert!(found.iter().all(|(_, mispairing)| *mispairing >= 0.5), "{found:?}");
}

#[test]
fn occasional_crossing_messages_show_concurrent_calls() {
    let mut fixture = Fixture::new();
    let mut add = |is_request: bool, at: i64| {
        let sent = match is_request {
            true => fixture.send("c", "a", at, at + 50),
            false => fixture.send("a", "c", at, at + 50).accepting(),
        };
        sent.on(1).bytes(if is_request { 300 } else { 500 });
    };
    for round in 0..300 {
        let at = 10_000 * round;
        add(true, at);
        add(false, at + 1_000);
        if round % 10 == 0 {
            // The second request is under way at the same time as the response to the first.
            add(true, at + 980);
            add(false, at + 2_000);
        }
    }
    let trace = fixture.trace();
    let times = trace.messages().map(|message| message.sort_time());
    let mut rows: Vec<(i64, MessageId)> = times.zip(MessageId::ids()).collect();
    assert!(is_multiplexed_flow(&trace, &mut rows));
}
