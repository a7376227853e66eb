//! Stories: traces for tests of queues. They consist of messages between brokers, producers and
//! workers, each with its known cause.

use std::collections::HashMap;

use super::tests::{MS, infer, lot, parents};
use crate::fixture::Fixture;

/// A microsecond, in nanoseconds.
pub(super) const US: i64 = 1000;
/// Latency of a message, in nanoseconds.
pub(super) const NETWORK: i64 = 20 * US;

/// A trace with the known cause of each message.
#[derive(Default)]
pub(super) struct Story {
    pub(super) messages: Vec<StoryMessage>,
}

/// A message of a story, with its connection and the side that accepted it.
pub(super) struct StoryMessage {
    from: String,
    to: String,
    flow: i64,
    accepting: bool,
    pub(super) sent: i64,
    /// Time at which the message was read, in nanoseconds, if the reader is late.
    pub(super) read: Option<i64>,
    bytes: i64,
    pub(super) cause: Option<usize>,
    what: &'static str,
}

/// A connection from one node to the other.
#[derive(Clone, Copy)]
pub(super) struct StoryFlow<'a>(pub(super) &'a str, pub(super) &'a str, pub(super) i64);

impl Story {
    /// Adds a message from the connecting side.
    pub(super) fn ask(
        &mut self,
        on: StoryFlow,
        sent: i64,
        bytes: i64,
        cause: Option<usize>,
        what: &'static str,
    ) -> usize {
        self.add_message(on, false, sent, bytes, cause, what)
    }

    /// Adds a message from the accepting side.
    pub(super) fn reply(
        &mut self,
        on: StoryFlow,
        sent: i64,
        bytes: i64,
        cause: usize,
        what: &'static str,
    ) -> usize {
        self.add_message(on, true, sent, bytes, Some(cause), what)
    }

    pub(super) fn add_message(
        &mut self,
        StoryFlow(client, server, flow): StoryFlow,
        accepting: bool,
        sent: i64,
        bytes: i64,
        cause: Option<usize>,
        what: &'static str,
    ) -> usize {
        let (from, to) = if accepting { (server, client) } else { (client, server) };
        let (from, to) = (from.to_owned(), to.to_owned());
        self.messages.push(StoryMessage {
            from,
            to,
            flow,
            accepting,
            sent,
            read: None,
            bytes,
            cause,
            what,
        });
        self.messages.len() - 1
    }

    /// Adds a call that is answered after `took`. Returns the number of the response, and when it
    /// arrived.
    pub(super) fn call(
        &mut self,
        on: StoryFlow,
        sent: i64,
        took: i64,
        cause: usize,
    ) -> (usize, i64) {
        let call = self.ask(on, sent, 60, Some(cause), "work");
        let answer = self.reply(on, sent + NETWORK + took, 9, call, "answer");
        (answer, sent + 2 * NETWORK + took)
    }

    /// For messages of each kind: how many have their true cause as the likeliest one, and how many
    /// there are.
    fn correct_counts(&self) -> HashMap<&'static str, (usize, usize)> {
        let mut fixture = Fixture::new();
        let mut order: Vec<usize> = (0..self.messages.len()).collect();
        order.sort_by_key(|at| {
            (self.messages[*at].sent, self.messages[*at].flow, self.messages[*at].accepting)
        });
        for message in order.iter().map(|at| &self.messages[*at]) {
            let read = message.read.unwrap_or(message.sent + NETWORK);
            let sent = fixture.send(&message.from, &message.to, message.sent, read);
            sent.on(message.flow).bytes(message.bytes).threads(1, 1);
            if message.accepting {
                sent.accepting().ports(80, 40_000);
            }
        }
        let parents = parents(&infer(&fixture.trace()));
        let mut right: HashMap<&'static str, (usize, usize)> = HashMap::new();
        for (row, at) in order.iter().enumerate() {
            let message = &self.messages[*at];
            let (count, all) = right.entry(message.what).or_default();
            let found = parents[row].map(|cause| order[cause.index()]);
            *count += usize::from(found == message.cause);
            *all += 1;
        }
        right
    }

    /// Asserts that at least this share of the messages of these kinds has the right cause.
    pub(super) fn assert_right(&self, least: f64, kinds: &[&str]) {
        let right = self.correct_counts();
        for kind in kinds {
            let (count, all) = right[kind];
            assert!(count as f64 >= least * all as f64 && all > 0, "{kind}: {right:?}");
        }
    }
}

/// A worker that waits for the response to a pop, for a second at most, and then works for some
/// milliseconds.
struct PoppingWorker {
    name: String,
    flow: i64,
    /// Time at which the worker asked, and the message.
    asked: (i64, usize),
}

/// Producers that push to a broker at these times, and workers that pop. Returns the story.
pub(super) fn popping_workers(pushes: &[i64], workers: usize) -> Story {
    popping_workers_of_jobs(pushes, workers, |number| 70 + lot(number, 180))
}

/// The story of [`popping_workers`] with pushes of these lengths in bytes, by their numbers.
pub(super) fn popping_workers_of_jobs(
    pushes: &[i64],
    workers: usize,
    length: impl Fn(i64) -> i64,
) -> Story {
    let mut story = Story::default();
    let mut idle: Vec<PoppingWorker> = Vec::new();
    for worker in 0..workers {
        let (name, flow) = (format!("worker#{worker}"), 100 + worker as i64);
        let asked =
            story.ask(StoryFlow(&name, "broker", flow), worker as i64 * US, 32, None, "poll");
        idle.push(PoppingWorker { name, flow, asked: (worker as i64 * US, asked) });
    }
    // The worker that asked first gets the next push.
    for (number, push) in (0..).zip(pushes) {
        let (from, bytes) = (["shop#1", "shop#2"][number as usize % 2], length(number));
        let pushed = story.ask(StoryFlow(from, "broker", number % 2), *push, bytes, None, "push");
        let at = push + NETWORK;
        story.reply(StoryFlow(from, "broker", number % 2), at + 40 * US, 4, pushed, "pushed");
        let Some(next) = (0..idle.len()).min_by_key(|at| idle[*at].asked.0) else { break };
        let worker = &mut idle[next];
        let on = StoryFlow(&worker.name, "broker", worker.flow);
        // At times nothing comes for a second.
        while worker.asked.0 + NETWORK + 1000 * MS < at {
            let empty = worker.asked.0 + NETWORK + 1000 * MS + lot(number, MS);
            story.reply(on, empty, 5, worker.asked.1, "nothing");
            let again = empty + NETWORK + 60 * US;
            worker.asked = (again, story.ask(on, again, 32, None, "poll"));
        }
        // Immediately, if the push came before the poll.
        let at = at.max(worker.asked.0 + NETWORK) + 30 * US + lot(number, 30 * US);
        let given = story.reply(on, at, bytes - 11, pushed, "delivery");
        let begin = at + NETWORK + 200 * US + lot(number + 9, 100 * US);
        let store = StoryFlow(&worker.name, "store", worker.flow + 100);
        let (last, done) = story.call(store, begin, 2 * MS + lot(number + 5, 2 * MS), given);
        // The result goes to the broker on the same connection.
        let result = story.ask(on, done + 100 * US, 40, Some(last), "result");
        story.reply(on, done + 130 * US, 5, result, "stored");
        let again = done + 300 * US;
        worker.asked = (again, story.ask(on, again, 32, None, "poll"));
    }
    story
}

/// The kinds of messages of that story.
pub(super) const ALL: [&str; 9] =
    ["push", "pushed", "delivery", "work", "answer", "result", "stored", "poll", "nothing"];
