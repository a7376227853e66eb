//! Calls on one connection, by hand and at random.

use proptest::prelude::*;

use super::*;
use crate::fixture::Fixture;

/// A message of connection 1: whether it is a request, its time and its size. The one that asks is "c", the other "a".
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
    let calls = Calls::of(&trace);
    (trace, calls)
}

/// The times of the requests and responses of all calls; `None` is none.
fn times((trace, calls): &(MessageTrace, Calls)) -> Vec<(Option<i64>, Option<i64>)> {
    let sent = |row: Option<usize>| row.and_then(|row| trace.send_ts(row));
    (0..calls.len()).map(|call| (sent(calls.request(call)), sent(calls.response(call)))).collect()
}

/// So many rounds, each 1000 later, of these rows.
fn rounds(count: i64, round: &[Row]) -> Vec<Row> {
    let later = |number: i64| {
        round.iter().map(move |(is_request, at, bytes)| (*is_request, at + 1_000 * number, *bytes))
    };
    (0..count).flat_map(later).collect()
}

#[test]
fn a_ping_before_each_request_takes_no_answer() {
    let found = calls(&rounds(100, &[(true, 0, 17), (true, 100, 300), (false, 200, 500)]));
    for number in 0..100 {
        let at = 1_000 * number;
        let expected = [(Some(at), None), (Some(at + 100), Some(at + 200))];
        assert_eq!(times(&found)[2 * number as usize..][..2], expected);
    }
    assert!((0..found.1.len()).all(|call| found.1.doubt(call) == 0.0));
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

/// Two calls open at once, the second of which is asked while the first is open, and both answered.
const TWO: [Row; 4] = [(true, 0, 300), (true, 100, 300), (false, 200, 500), (false, 300, 500)];

#[test]
fn what_is_open_together_goes_in_order_and_is_doubtful() {
    let found = calls(&rounds(100, &TWO));
    for (number, pair) in times(&found).chunks(2).enumerate() {
        let at = 1_000 * number as i64;
        assert_eq!(pair, [(Some(at), Some(at + 200)), (Some(at + 100), Some(at + 300))]);
    }
    // Of two that were open the first answer may have been to either, and the other one to the other.
    assert_eq!([found.1.doubt(0), found.1.doubt(1)], [0.5, 0.5]);
}

#[test]
fn nothing_shifts_what_is_behind() {
    // Trailers and window updates now and then, and a request that is never answered in every tenth round.
    let mut rows = rounds(200, &TWO);
    rows.extend(rounds(200, &[(true, 210, 13), (false, 310, 11)]).chunks(2).step_by(7).flatten());
    rows.extend(rounds(200, &[(true, 150, 300)]).into_iter().step_by(10));
    let found = calls(&rows);
    let round = |at: i64| at.div_euclid(1_000);
    let pairs: Vec<_> = times(&found).into_iter().filter_map(|(one, other)| one.zip(other)).collect();
    assert_eq!(pairs.len(), 400, "all answers but the small ones");
    let strangers = pairs.iter().filter(|(request, answer)| round(*request) != round(*answer)).count();
    assert_eq!(strangers, 0);
}

#[test]
fn calls_with_ids_are_sure() {
    let (trace, calls) = crate::calls::pairing::tests::calls(&[
        ("c", "a", "x", 0, 1),
        ("c", "a", "y", 2, 3),
        ("a", "c", "y", 4, 5),
        ("a", "c", "x", 6, 7),
    ]);
    assert!(doubts(&trace, &calls).is_empty());
}

proptest! {
    #[test]
    fn the_least_aheadby(values in prop::collection::vec(-50i64..50, 0..400)) {
        let expected: Vec<i64> = (0..values.len())
            .map(|place| *values[place..values.len().min(place + AHEAD + 1)].iter().min().unwrap())
            .collect();
        prop_assert_eq!(least_ahead(&values), expected);
    }

    /// Whatever was sent, each message is of one call, and requests are answered later.
    #[test]
    fn each_message_is_of_one_call(
        rows in prop::collection::vec((any::<bool>(), 0i64..100_000, 1i64..400), 150..400),
    ) {
        let (trace, calls) = calls(&rows);
        let messages: usize = (0..calls.len()).map(|call| calls.messages(call)).sum();
        prop_assert_eq!(messages, trace.len());
        for call in 0..calls.len() {
            prop_assert!((0.0..1.0).contains(&calls.doubt(call)));
        }
    }
}
