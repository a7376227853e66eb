//! Many calls on one connection, from a front server with callers on connections of their own: each
//! is a request and an answer, and connections that take turns are unaffected.

use crate::common::{Outcome, System, accept, connect, log};

const BACK: &str = "10.0.0.2:50051";
const MS: u64 = 1_000_000;

/// A front server with `callers` that each send again 1 ms after their answer, and the messages on
/// its one connection to a back server. The head of each request is followed by its body, of each
/// answer by its trailer.
fn front(callers: u32, count: usize) -> Outcome {
    let system = System::new();
    let (mut front, mut back) = (log(10, "front"), log(20, "back"));
    connect(&mut front, 100, 1, 11, "10.0.0.1:40000", BACK);
    accept(&mut back, 200, 1, 12, BACK, "10.0.0.1:40000");
    let mut events: Vec<(u64, u32, bool)> = Vec::new();
    for caller in 0..callers {
        let peer = format!("10.0.0.9:{}", 1_000 + caller);
        accept(&mut front, 300, 2 + caller, 20 + u64::from(caller), "10.0.0.1:80", &peer);
        events.push((MS + 100_000 * u64::from(caller), caller, false));
    }
    // The calls take up to 8 ms, pseudo-randomly.
    let mut state = 7_u64;
    for _ in 0..2 * count {
        let next = (0..events.len()).min_by_key(|place| events[*place]).unwrap();
        let (at, caller, is_answer) = events.swap_remove(next);
        if is_answer {
            back.send(at, 1, 70).send(at + 30_000, 1, 11);
            front.receive(at + 40_000, 1, 81).send(at + 50_000, 2 + caller, 20);
            events.push((at + MS, caller, false));
        } else {
            front.receive(at, 2 + caller, 40).send(at + 10_000, 1, 90).send(at + 20_000, 1, 25);
            back.receive(at + 30_000, 1, 115);
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            events.push((at + MS + (state >> 33) % (8 * MS), caller, true));
        }
    }
    system.add("one", "a", &front).add("one", "b", &back).reconcile()
}

/// Number of messages from the front to the back, and back, with their numbers of parts.
fn messages(outcome: &Outcome) -> [(usize, i32); 2] {
    [("front", "back"), ("back", "front")].map(|(from, to)| {
        let name = |node| outcome.trace.nodes.get(node).unwrap().command.as_str();
        let all = || outcome.trace.messages().filter(|m| (name(m.src), name(m.dst)) == (from, to));
        (all().count(), all().map(|m| m.parts).sum())
    })
}

#[test]
fn calls_that_are_open_together_are_separated() {
    let outcome = front(8, 800);
    assert_eq!(outcome.counts.multiplexed, 1);
    let [(requests, request_parts), (answers, answer_parts)] = messages(&outcome);
    // Heads and bodies stay together, answers and trailers too. A request of another caller in the
    // 10 us between head and body makes a false boundary.
    assert!(
        (800..=820).contains(&requests) && (795..=800).contains(&answers),
        "{requests} {answers}"
    );
    // A piece that belongs to two messages is a part of both.
    let parts = request_parts + answer_parts;
    assert!((3_200..=3_300).contains(&parts), "{parts}");
}

#[test]
fn one_call_at_a_time_takes_turns() {
    let outcome = front(1, 300);
    assert_eq!(outcome.counts.multiplexed, 0);
    assert_eq!(messages(&outcome), [(300, 600), (300, 600)]);
}
