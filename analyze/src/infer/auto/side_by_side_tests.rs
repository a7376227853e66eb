use message_trace::{FROM_CONNECTING, OperationRole};

use super::*;
use crate::fixture::Fixture;
use crate::infer::Links;
use crate::infer::auto::tests::{MS, infer, lot, parents};

const ASKS: OperationRole = OperationRole::Request;
const ANSWERS: OperationRole = OperationRole::Response;

#[test]
fn messages_of_one_system_call_are_a_nanosecond_apart() {
    let mut trace = Fixture::new();
    // Two connections, one after the other; the third message of the first one is received later.
    for (flow, send, recv, is_told) in [
        (1, 10, 50, true),
        (1, 10, 50, true),
        (1, 10, 60, true),
        (1, 11, 60, true),
        (2, 20, 70, true),
        (2, 20, 70, false),
    ] {
        let message = trace.send("x", "s", send, recv).on(flow);
        if is_told {
            message.tells(ASKS, None);
        }
    }
    let all = SyscallBatches::from_trace(&trace.trace());
    let times = |row: usize| {
        let row = MessageId::from_index(row);
        [all.sent_time(row, 1000), all.received_time(row, 1000)]
    };
    assert_eq!(
        (0..4).map(times).collect::<Vec<_>>(),
        [[1000, 1000], [1001, 1001], [1002, 1000], [1000, 1001]]
    );
    assert_eq!([4, 5].map(times), [[1000; 2]; 2], "messages without operations are unchanged");
    assert_eq!(
        [0, 1, 2, 3, 5].map(MessageId::from_index).map(|row| all.is_sent_with_another(row)),
        [false, true, true, false, false]
    );
    assert_eq!(SyscallBatches::default().sent_time(MessageId::from_index(3), 7), 7);
}

/// An event loop that reads all events that have arrived, and writes all resulting messages
/// together: for each request a question of the first name to a server, and a second one when that
/// is answered. All questions go over one connection, with control messages in between. Returns the
/// request of each question, by its row. With two `threads` either of them acts, and the request
/// that was read last often proceeds first.
fn event_loop(requests: u32, threads: i64) -> (MessageTrace, Vec<(MessageId, u32)>) {
    let mut trace = Fixture::new();
    // Events that have arrived at the loop: time, request, and number of its responses so far.
    let mut come: Vec<(i64, u32, u64)> =
        (0..requests).map(|at| (i64::from(at) * MS + lot(at.into(), MS), at, 0)).collect();
    let mut now = 0;
    while !come.is_empty() {
        come.sort_unstable();
        now = come[0].0.max(now) + lot(now, 2 * MS);
        let read = come.partition_point(|(at, ..)| *at <= now);
        let mut batch: Vec<_> = come.drain(..read).collect();
        let written = now + MS / 10 + lot(now + 2, MS);
        let answered = written + 3 * MS + lot(now + 1, 5 * MS);
        let thread = |number: i64| 1 + 10 * lot(now + number, threads) as i32;
        for (number, (_, request, answers)) in (0..).zip(&batch) {
            let (flow, port) = (i64::from(*request) + 10, 1_000 + *request as u16);
            if *answers == 0 {
                let came = now + number * MS / 100;
                let sent = trace.send("x", "web", came - MS / 10, came).on(flow);
                let sent = sent.threads(2, thread(number)).ports(port, 80);
                sent.tells(ASKS, None).named(Some(1), false);
            } else {
                let back = trace.send("back", "web", now - MS / 10, now).on(1);
                let back = back.threads(3, thread(number)).ports(80, 40_000).accepting();
                back.tells(ANSWERS, Some(u64::from(*request) * 2 + answers - 1));
            }
        }
        if threads > 1 && lot(now, 2) == 0 {
            batch.rotate_right(1);
        }
        for (number, (_, request, answers)) in (0..).zip(batch) {
            let (flow, port) = (i64::from(request) + 10, 1_000 + request as u16);
            if answers == 2 {
                let done = written + number * MS / 100;
                let sent = trace.send("web", "x", done, done + MS / 10).on(flow);
                let sent = sent.threads(thread(number + 50), 2).ports(80, port).accepting();
                sent.tells(ANSWERS, None);
                continue;
            }
            let id = u64::from(request) * 2 + answers;
            let asked = trace.send("web", "back", written, written + MS / 10).on(1);
            let asked = asked.threads(thread(-1), 3).tells(ASKS, Some(id));
            asked.named(Some(2 + answers as u32), false).bytes(1_000 + id as i64);
            come.push((answered, request, answers + 1));
        }
        // A window update.
        trace.send("web", "back", written, written + MS / 10).on(1).threads(1, 3).bytes(9);
        now = written;
    }
    let trace = trace.trace();
    let questions = trace.ids().filter(|row| trace.bytes(*row) >= 1_000);
    let questions = questions.map(|row| (row, ((trace.bytes(row) - 1_000) / 2) as u32)).collect();
    (trace, questions)
}

#[test]
fn coalesced_writes_of_an_event_loop_follow_the_order_of_its_reads() {
    let (trace, questions) = event_loop(400, 1);
    let links = infer(&trace);
    let right = right(&trace, &questions, &links).count();
    assert!(100 * right >= 99 * questions.len(), "{right} of {}", questions.len());
    let parents = parents(&links);
    let own = trace.ids().filter(|row| trace.bytes(*row) == 9);
    let own: Vec<MessageId> = own.filter(|row| trace.direction(*row) == FROM_CONNECTING).collect();
    assert!(!own.is_empty() && own.iter().all(|row| parents[row.index()].is_none()));
}

#[test]
fn coalesced_writes_of_two_threads_do_not_go_to_one_request() {
    let (trace, questions) = event_loop(400, 2);
    let links = infer(&trace);
    let found: Vec<MessageId> = right(&trace, &questions, &links).collect();
    // With one delay counted for all calls of a write, 291 of 800 are right.
    assert!(2 * found.len() > questions.len(), "{} of {}", found.len(), questions.len());
    let is_sure = |row: MessageId| links.parents(row).any(|(_, probability)| probability >= 0.9);
    let sure = questions.iter().filter(|(row, _)| is_sure(*row)).count();
    let right = found.iter().filter(|row| is_sure(**row)).count();
    assert!(10 * right >= 9 * sure, "{right} of {sure} sure calls");
}

/// The rows of the questions that are assigned to their requests.
fn right<'a>(
    trace: &'a MessageTrace,
    questions: &'a [(MessageId, u32)],
    links: &Links,
) -> impl Iterator<Item = MessageId> + 'a {
    let parents = parents(links);
    let of = move |row: MessageId| match trace.flow(row).number() {
        1 => questions.iter().find(|(_, request)| {
            trace.call_number(row).is_some() && *request == id_of(trace, row) / 2
        }),
        flow => questions.iter().find(|(_, request)| i64::from(*request) + 10 == flow),
    };
    questions.iter().filter_map(move |(row, request)| {
        let parent = parents[row.index()].and_then(of);
        parent.is_some_and(|(_, parent)| parent == request).then_some(*row)
    })
}

/// The id of the call that the message of that row belongs to.
fn id_of(trace: &MessageTrace, row: MessageId) -> u32 {
    trace.call_id(row).and_then(|id| id.split_once('/')?.1.parse().ok()).unwrap_or(0)
}
