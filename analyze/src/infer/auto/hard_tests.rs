//! Systems that are not plain call and return: retries, nodes that collect messages before they
//! send one, and work that no request asks for. docs/accuracy.md states how much of them is found.

use std::collections::HashMap;

use super::tests::{MS, infer, lot, parents};
use crate::fixture::Fixture;
use message_trace::MessageId;

/// For messages of each kind: how many have their true cause as the likeliest one, and how many
/// there are.
type CorrectCounts = HashMap<&'static str, (usize, usize)>;

/// A trace with the known cause of each message.
#[derive(Default)]
struct RetryTrace {
    flows: i64,
    /// For each message its sending time, sender, receiver, connection, and whether it is a
    /// response.
    sent: Vec<(i64, &'static str, &'static str, i64, bool)>,
    lost: Vec<i64>,
    /// Whether all messages are datagrams.
    datagrams: bool,
    /// For each message its sending time, which is unique, the sending time of its cause, and its
    /// kind.
    truth: Vec<(i64, Option<i64>, &'static str)>,
}

/// A call: its ends, its connection, and when its request was sent.
#[derive(Clone, Copy)]
struct Call {
    from: &'static str,
    to: &'static str,
    flow: i64,
    sent: i64,
}

/// The caller and the callee.
type CallerAndCallee = (&'static str, &'static str);

/// Latency of a message, in nanoseconds.
const NETWORK: i64 = MS / 10;

impl RetryTrace {
    /// A call at about that `time`, caused by the message sent at `cause`, over a connection of its
    /// own.
    fn call(
        &mut self,
        ends: CallerAndCallee,
        time: i64,
        cause: Option<i64>,
        what: &'static str,
    ) -> Call {
        self.call_on(ends, time, cause, what, None)
    }

    /// A call as by [`RetryTrace::call`], but on the given connection, if any.
    fn call_on(
        &mut self,
        (from, to): CallerAndCallee,
        time: i64,
        cause: Option<i64>,
        what: &'static str,
        flow: Option<i64>,
    ) -> Call {
        self.flows += 1;
        let (sent, flow) = (self.at(time), flow.unwrap_or(self.flows));
        self.sent.push((sent, from, to, flow, false));
        self.truth.push((sent, cause, what));
        Call { from, to, flow, sent }
    }

    /// Makes the message that was sent at the time `sent` lost.
    fn lose(&mut self, sent: i64) {
        self.lost.push(sent);
    }

    /// The response to `call`. Returns the time at which it was sent.
    fn answer(&mut self, call: Call, time: i64, cause: i64, what: &'static str) -> i64 {
        let sent = self.at(time);
        self.sent.push((sent, call.to, call.from, call.flow, true));
        self.truth.push((sent, Some(cause), what));
        sent
    }

    /// Returns the first time from `time` on at which no other message was sent.
    fn at(&self, time: i64) -> i64 {
        (time..).find(|time| self.truth.iter().all(|(sent, ..)| sent != time)).unwrap()
    }

    /// Infers links, and counts the right ones.
    fn right(self) -> CorrectCounts {
        let mut fixture = Fixture::new();
        for (sent, from, to, flow, answers) in self.sent {
            let message = fixture.send(from, to, sent, sent + NETWORK).on(flow);
            if self.datagrams {
                message.udp();
            }
            if answers {
                message.accepting().ports(80, 40_000);
            }
            if self.lost.contains(&sent) {
                message.lost();
            }
        }
        let trace = fixture.trace();
        let parents = parents(&infer(&trace));
        let sent = |message: MessageId| trace.message(message).send_ts.unwrap();
        let found: HashMap<i64, Option<i64>> =
            trace.ids().map(|row| (sent(row), parents[row.index()].map(sent))).collect();
        let mut right = CorrectCounts::new();
        for (sent, cause, what) in self.truth {
            let (count, all) = right.entry(what).or_default();
            *count += usize::from(found[&sent] == cause);
            *all += 1;
        }
        right
    }
}

/// How the first attempt of a retry fails, and where the second one goes.
#[derive(Clone, Copy, Debug)]
enum RetryScenario {
    /// The store responds `after` ms after the first attempt, if at all; the second attempt goes to
    /// `other` over a connection of its own.
    Late { other: &'static str, after: Option<i64> },
    /// A datagram is lost; the second one goes to the same store from the same socket.
    Lost,
    /// The response is lost; the second datagram goes to the same store from the same socket.
    AnswerLost,
}

/// Requests about every 7 ms. Each asks a store, and again after 20 ms if that has not responded,
/// which happens every tenth time.
fn retries(trouble: RetryScenario) -> CorrectCounts {
    let datagrams = matches!(trouble, RetryScenario::Lost | RetryScenario::AnswerLost);
    let mut made = RetryTrace { datagrams, ..RetryTrace::default() };
    for number in 0..300 {
        let begin = 7 * MS * number + lot(number, 3 * MS);
        let request = made.call(("client", "web"), begin, None, "request");
        let time = begin + MS + lot(number + 1, MS / 5);
        let first = made.call(("web", "store"), time, Some(request.sent), "first try");
        let took = 2 * MS + lot(number + 2, MS);
        if number % 10 != 3 {
            let last = made.answer(first, first.sent + took, first.sent, "answer");
            let time = last + NETWORK + MS / 2 + lot(number, MS / 5);
            made.answer(request, time, last, "response");
            continue;
        }
        let time = first.sent + 20 * MS + lot(number, MS / 50);
        let other = if let RetryScenario::Late { other, .. } = trouble { other } else { "store" };
        match trouble {
            RetryScenario::Late { after: Some(after), .. } => {
                let time = first.sent + after * MS + lot(number, MS);
                made.answer(first, time, first.sent, "late answer");
            }
            RetryScenario::Late { after: None, .. } => {}
            RetryScenario::Lost => made.lose(first.sent),
            RetryScenario::AnswerLost => {
                let answer = made.answer(first, first.sent + took, first.sent, "lost answer");
                made.lose(answer);
            }
        }
        let flow = if let RetryScenario::Late { .. } = trouble { None } else { Some(first.flow) };
        let again = made.call_on(("web", other), time, Some(request.sent), "second try", flow);
        let last = made.answer(again, again.sent + took, again.sent, "second answer");
        let time = last + NETWORK + MS / 2 + lot(number, MS / 5);
        made.answer(request, time, last, "response after two tries");
    }
    made.right()
}

#[test]
fn a_retry_is_for_the_same_request_and_a_late_response_for_the_first_attempt() {
    let late = |other, after| RetryScenario::Late { other, after };
    for trouble in [
        late("store", None),
        late("store", Some(21)),
        late("store", Some(30)),
        late("store#2", None),
        late("store#2", Some(21)),
        late("store#2", Some(30)),
        RetryScenario::Lost,
        RetryScenario::AnswerLost,
    ] {
        for (what, (right, all)) in retries(trouble) {
            assert_eq!(right, all, "{trouble:?}: {what}");
        }
    }
}

/// Three messages of one request meet at a node that then sends one.
fn joined() -> CorrectCounts {
    let mut made = RetryTrace::default();
    for number in 0..300 {
        let begin = 5 * MS * number + lot(number, 3 * MS);
        let parts = ["a", "b", "c"].map(|part| {
            let out = made.call(("front", part), begin, None, "out");
            let time = begin + MS + lot(number + part.len() as i64 + out.sent, 3 * MS);
            made.call((part, "sum"), time, Some(out.sent), "part")
        });
        let last = parts.iter().map(|part| part.sent).max().unwrap();
        made.call(
            ("sum", "sink"),
            last + NETWORK + MS / 5 + lot(number, MS / 10),
            Some(last),
            "joined",
        );
    }
    made.right()
}

/// A log that writes the data of four requests to a disk, and then answers all four.
fn batches() -> CorrectCounts {
    let mut made = RetryTrace::default();
    for batch in 0..100 {
        let begin = 20 * MS * batch;
        let requests = [0, 1, 2, 3].map(|at| {
            made.call(
                ("client", "log"),
                begin + at * 2 * MS + lot(4 * batch + at, MS),
                None,
                "request",
            )
        });
        let last = requests[3].sent;
        let write = made.call(
            ("log", "disk"),
            last + NETWORK + MS / 5 + lot(batch, MS / 10),
            Some(last),
            "write",
        );
        let written =
            made.answer(write, write.sent + 2 * MS + lot(batch, MS), write.sent, "written");
        for (place, request) in requests.into_iter().enumerate() {
            let what = if place == 3 { "response of the last" } else { "response of others" };
            let time = written + NETWORK + MS / 10 * (1 + place as i64) + lot(batch, MS / 20);
            made.answer(request, time, written, what);
        }
    }
    made.right()
}

/// Requests about every `gap` ms that each ask a store; and every 10 ms the server sends a health
/// check to `target`, independently of its requests.
fn pings(target: &'static str, gap: i64) -> CorrectCounts {
    let mut made = RetryTrace::default();
    for number in 0..300 {
        let begin = gap * MS * number + lot(number, gap * MS);
        let request = made.call(("client", "web"), begin, None, "request");
        let call = made.call(
            ("web", "store"),
            begin + MS + lot(number + 1, MS / 5),
            Some(request.sent),
            "call",
        );
        let back = made.answer(call, call.sent + 2 * MS + lot(number + 2, MS), call.sent, "answer");
        made.answer(request, back + NETWORK + MS / 2 + lot(number, MS / 5), back, "response");
    }
    for number in 0..30 * gap {
        let ping =
            made.call(("web", target), 10 * MS * number + lot(number, MS / 50), None, "ping");
        made.answer(ping, ping.sent + MS / 2 + lot(number, MS / 10), ping.sent, "pong");
    }
    made.right()
}

#[test]
fn a_message_that_joins_several_is_caused_by_the_last_one() {
    let right = joined();
    assert_eq!(right["joined"], (300, 300));
    // Each of the parts is made of one message within one or two milliseconds, and the next message
    // comes every five.
    assert!(right["part"].0 > 850, "{right:?}");
}

#[test]
fn a_batch_is_for_the_request_that_filled_it_and_the_others_have_no_calls() {
    let right = batches();
    for what in ["request", "write", "written", "response of the last"] {
        assert_eq!(right[what].0, right[what].1, "{what}");
    }
    // A message has one cause, and a call one request that it is made for: that the other requests
    // waited for the batch, too, cannot be expressed. Their own requests are treated as the cause.
    assert_eq!(right["response of others"], (0, 300));
}

#[test]
fn calls_of_a_timer_are_for_no_request() {
    for gap in [20, 6, 3] {
        for (what, (right, all)) in pings("registry", gap) {
            assert_eq!(right, all, "{gap}: {what}");
        }
        // If a timer sends the same requests as a request does, only its interval distinguishes
        // them, and that is not examined: timer calls that fall within a request are attributed to
        // it. The calls of requests are found all the same.
        let right = pings("store", gap);
        let (pings, all) = right["ping"];
        assert!(gap < 20 || pings as f64 > 0.95 * all as f64, "{gap}: {right:?}");
        for what in ["request", "call", "answer", "response", "pong"] {
            assert!(right[what].0 as f64 > 0.95 * right[what].1 as f64, "{gap} {what}: {right:?}");
        }
    }
}
