//! Brokers and workers in handwritten traces: producers put work into a queue, and workers get it
//! and do it. Also systems that look like a queue and are none.

use super::queue_story::{
    ALL, NETWORK, Story, StoryFlow, US, popping_workers, popping_workers_of_jobs,
};
use super::tests::{MS, lot};

#[test]
fn the_response_to_a_blocking_pop_is_caused_by_the_push() {
    let pushes: Vec<i64> =
        (0..120).map(|at| 40 * MS * at + lot(at, 30 * MS) + at / 10 * 1200 * MS).collect();
    popping_workers(&pushes, 1).assert_right(1.0, &ALL);
    popping_workers(&pushes, 4).assert_right(1.0, &ALL);
}

#[test]
fn a_push_may_be_as_long_as_a_request_for_work() {
    let pushes: Vec<i64> =
        (0..120).map(|at| 40 * MS * at + lot(at, 30 * MS) + at / 10 * 1200 * MS).collect();
    popping_workers_of_jobs(&pushes, 2, |_| 32).assert_right(1.0, &ALL);
}

#[test]
fn queued_jobs_are_delivered_in_order() {
    // Ten at a time for two workers, and some single jobs.
    let burst = |at: i64| {
        100 * MS * (at / 14) + if at % 14 < 10 { at % 14 * 300 * US } else { at % 14 * 7 * MS }
    };
    let pushes: Vec<i64> = (0..280).map(|at| 2 * MS + burst(at) + lot(at, 100 * US)).collect();
    popping_workers(&pushes, 2).assert_right(0.97, &ALL[..8]);
}

#[test]
fn a_message_pushed_to_a_worker_is_caused_by_the_one_at_the_broker() {
    let mut story = Story::default();
    // Jobs are pushed to a worker only after it has subscribed.
    let subscribed = story.ask(StoryFlow("worker", "broker", 9), -40 * MS, 30, None, "subscribe");
    story.reply(StoryFlow("worker", "broker", 9), -39 * MS, 12, subscribed, "subscribed");
    for at in 0..150 {
        let begin = 30 * MS * at + lot(at, 20 * MS);
        let (from, bytes) = (["shop#1", "shop#2"][at as usize % 2], 90 + lot(at, 180));
        let pushed = story.ask(StoryFlow(from, "broker", at % 2), begin, bytes, None, "push");
        let time = begin + NETWORK + 300 * US + lot(at, 200 * US);
        let on = StoryFlow("worker", "broker", 9);
        let given = story.reply(on, time, bytes + 45, pushed, "delivery");
        let work = time + NETWORK + 300 * US + lot(at + 3, 100 * US);
        let (last, done) =
            story.call(StoryFlow("worker", "store", 8), work, 2 * MS + lot(at + 4, MS), given);
        story.ask(on, done + 100 * US, 21, Some(last), "done");
    }
    story.assert_right(1.0, &["push", "delivery", "work", "answer", "done"]);
}

#[test]
fn a_message_that_a_subscriber_reads_late_is_caused_by_its_publisher() {
    let mut story = Story::default();
    let on = StoryFlow("reader", "broker", 9);
    let mut free = 0;
    for at in 0..300 {
        // Jobs come in bursts, faster than the subscriber processes them.
        let begin = 400 * MS * (at / 20) + 2 * MS * (at % 20) + lot(at, MS);
        let push = story.ask(StoryFlow("shop", "broker", 1), begin, 24, None, "push");
        let given = begin + NETWORK + 10 * US + lot(at + 1, 10 * US);
        let event = story.reply(on, given, 24, push, "delivery");
        story.reply(StoryFlow("shop", "broker", 1), given + 5 * US, 4, push, "pushed");
        let read = free.max(given + NETWORK) + 100 * US;
        story.messages[event].read = Some(read);
        let (found, then) =
            story.call(StoryFlow("reader", "store", 8), read + 50 * US, 2 * MS, event);
        let (noted, then) =
            story.call(StoryFlow("reader", "cache", 7), then + 50 * US, 2 * MS, found);
        free = then + 100 * US;
        story.ask(on, free, 4, Some(noted), "done");
    }
    story.assert_right(0.99, &["push", "pushed", "delivery", "work", "answer"]);
}

#[test]
fn deliveries_held_back_until_an_acknowledgement_keep_their_order() {
    let mut story = Story::default();
    let on = StoryFlow("reader", "broker", 9);
    let mut free = 0;
    let mut acknowledged: Vec<i64> = Vec::new();
    for at in 0..300 {
        // Two of the bursts are longer than the number of jobs that may be unacknowledged.
        let burst = 400 * MS * (at / 20);
        let begin = burst + if at / 20 % 7 == 2 { 20 * US } else { 5 * MS } * (at % 20);
        let push = story.ask(StoryFlow("shop", "broker", 1), begin, 24, None, "push");
        let allowed =
            acknowledged.len().checked_sub(8).map_or(0, |place| acknowledged[place] + NETWORK);
        let given = allowed.max(begin + NETWORK) + 5 * US;
        let event = story.reply(on, given, 24, push, "delivery");
        let read = free.max(given + NETWORK) + 20 * US;
        story.messages[event].read = Some(read);
        let (found, then) =
            story.call(StoryFlow("reader", "store", 8), read + 20 * US, 2 * MS, event);
        free = then + 20 * US;
        story.ask(on, free, 4, Some(found), "done");
        acknowledged.push(free);
    }
    story.assert_right(1.0, &["push", "delivery", "answer"]);
    // The first call of the trace has no cause.
    story.assert_right(0.99, &["work"]);
}

#[test]
fn acknowledgements_count_from_when_the_broker_reads_them() {
    // The broker wakes every 5 ms, and first hands out new jobs. Acknowledgements were sent long
    // before.
    let mut story = Story::default();
    let on = StoryFlow("reader", "broker", 9);
    let mut free = 0;
    let mut acknowledged: Vec<usize> = Vec::new();
    for at in 0..150 {
        let wakes = 5 * MS * at;
        let mut now = wakes;
        for of_wake in 0..1 + lot(at, 4) {
            let from = lot(at + of_wake, 2);
            let on_shop = StoryFlow(["shop#1", "shop#2"][from as usize], "broker", 20 + from);
            let sent = wakes - lot(at + of_wake + 1, MS) - MS;
            let push = story.ask(on_shop, sent, 24, None, "push");
            now += 10 * US;
            story.messages[push].read = Some(now);
            let event = story.reply(on, now + 3 * US, 24, push, "delivery");
            let read = free.max(now + NETWORK) + 20 * US;
            story.messages[event].read = Some(read);
            let (found, then) =
                story.call(StoryFlow("reader", "store", 8), read + 20 * US, 300 * US, event);
            free = then + 20 * US;
            acknowledged.push(story.ask(on, free, 4, Some(found), "done"));
        }
        acknowledged.retain(|done| {
            let done = &mut story.messages[*done];
            let is_there = done.sent + NETWORK < wakes;
            now += if is_there { US } else { 0 };
            done.read = if is_there { Some(now) } else { done.read };
            !is_there
        });
    }
    story.assert_right(0.98, &["push", "delivery", "work", "answer"]);
}

#[test]
fn a_worker_may_delegate_jobs_to_its_own_processes() {
    let mut story = Story::default();
    let on = StoryFlow("worker#0", "broker", 9);
    story.ask(on, 0, 32, None, "poll");
    for at in 0..150 {
        let begin = MS + 30 * MS * at + lot(at, 20 * MS);
        let bytes = 90 + lot(at, 180);
        let pushed = story.ask(StoryFlow("shop", "broker", 1), begin, bytes, None, "push");
        let time = begin + NETWORK + 30 * US + lot(at, 30 * US);
        story.reply(StoryFlow("shop", "broker", 1), time + 10 * US, 4, pushed, "pushed");
        let given = story.reply(on, time, bytes - 11, pushed, "delivery");
        story.ask(on, time + NETWORK + 50 * US, 32, None, "poll");
        let (child, flow) = (["worker#1", "worker#2"][at as usize % 2], 20 + at % 2);
        let work = time + NETWORK + 400 * US + lot(at + 3, 100 * US);
        story.call(StoryFlow(child, "store", flow), work, 2 * MS + lot(at + 4, MS), given);
    }
    story.assert_right(0.98, &["push", "pushed", "delivery", "poll", "work", "answer"]);
}

#[test]
fn an_overloaded_server_is_no_broker() {
    // Eight clients that each send the next request once they have a response; one is served at a
    // time, the first that asked. Half of them never ask for the same as the others.
    let mut story = Story::default();
    let names: Vec<String> = (0..8).map(|client| format!("client#{client}")).collect();
    let bytes = |client: i64| if client % 2 == 0 { 50 } else { 500 };
    let mut asked: Vec<(i64, usize)> = Vec::new();
    for (flow, name) in (0..).zip(&names) {
        asked.push((
            flow * US,
            story.ask(StoryFlow(name, "web", flow), flow * US, bytes(flow), None, "request"),
        ));
    }
    let mut free = 0;
    for number in 0..400_i64 {
        let next = (0..8).min_by_key(|at| asked[*at].0).unwrap();
        let on = StoryFlow(&names[next], "web", next as i64);
        free = free.max(asked[next].0 + NETWORK) + MS + lot(number, MS);
        story.reply(on, free, 70, asked[next].1, "response");
        let again = free + NETWORK + 50 * US + lot(number, 20 * US);
        asked[next] = (again, story.ask(on, again, bytes(next as i64), None, "request"));
    }
    story.assert_right(1.0, &["request", "response"]);
}

#[test]
fn a_client_that_waits_for_a_lock_is_answered_by_the_server() {
    // Two nodes that each take a lock, hold it for a while, and release it, at which point the
    // other gets it.
    let mut story = Story::default();
    let mut free = 0;
    for number in 0..200_i64 {
        let name = ["one", "other"][number as usize % 2];
        let on = StoryFlow(name, "locks", number % 2);
        let begin = 20 * MS * (number / 2) + number % 2 * MS + lot(number, MS / 2);
        let take = story.ask(on, begin, 30, None, "take");
        let taken = free.max(begin + NETWORK) + 30 * US + lot(number, 10 * US);
        story.reply(on, taken, 12, take, "taken");
        let release = taken + NETWORK + 4 * MS + lot(number, 2 * MS);
        let released = story.ask(on, release, 20, None, "release");
        free = release + NETWORK;
        story.reply(on, free + 20 * US, 5, released, "released");
    }
    story.assert_right(1.0, &["take", "taken", "release", "released"]);
}

/// A broker that pushes jobs to a worker, which has four processes of its own do them, up to four
/// at a time. Each reports in the end that it is done.
fn pooled(every: i64, jobs: i64) -> Story {
    let mut story = Story::default();
    let on = StoryFlow("worker#0", "broker", 9);
    let subscribed = story.ask(on, -40 * MS, 30, None, "subscribe");
    story.reply(on, -39 * MS, 12, subscribed, "subscribed");
    let mut free = [0; 4];
    // The end of each job; the job four places before a new one has ended by then.
    let mut done: Vec<i64> = Vec::new();
    for at in 0..jobs {
        let begin = every * at + lot(at, every);
        let pushed = story.ask(StoryFlow("shop", "broker", 1), begin, 528, None, "push");
        let mut ends = done.clone();
        ends.sort_unstable();
        let allowed = ends.len().checked_sub(4).map_or(0, |place| ends[place] + NETWORK);
        let time = allowed.max(begin + NETWORK) + 300 * US + lot(at, 100 * US);
        let given = story.reply(on, time, 540, pushed, "delivery");
        let child = (0..4).min_by_key(|child| free[*child]).unwrap_or(0);
        let name = format!("worker#{}", child + 1);
        let [store, ledger, cache] = [("store", 20), ("ledger", 30), ("cache", 40)]
            .map(|(to, flow)| StoryFlow(&name, to, flow + child as i64));
        let start = free[child].max(time + NETWORK) + 900 * US + lot(at + 3, 900 * US);
        let (read, then) = story.call(store, start, MS / 2 + lot(at + 4, MS), given);
        let (written, then) =
            story.call(ledger, then + 2 * MS + lot(at, MS), MS / 2 + lot(at + 5, MS), read);
        let (noted, then) = story.call(cache, then + 200 * US, 50 * US + lot(at + 6, MS), written);
        free[child] = then;
        story.ask(on, then + 500 * US, 21, Some(noted), "done");
        done.push(then + 500 * US);
    }
    story
}

#[test]
fn work_of_a_pool_is_for_the_job_in_fifo_order() {
    pooled(20 * MS, 300).assert_right(0.98, &["push", "delivery", "work", "answer"]);
    pooled(3 * MS, 300).assert_right(0.9, &["push", "delivery", "work", "answer"]);
}

#[test]
fn few_jobs_are_unsolicited_though_each_seems_to_answer_a_report() {
    for every in [4, 5, 6, 8, 10, 20] {
        pooled(every * MS, 100).assert_right(0.9, &["push", "delivery", "work", "answer"]);
    }
}

#[test]
fn one_way_messages_cause_calls_with_responses() {
    // A node is notified of work, and asks two others about it; the second over a connection made
    // for that.
    let mut story = Story::default();
    for at in 0..300 {
        let begin = 8 * MS * at + lot(at, 12 * MS);
        let notified = story.ask(StoryFlow("door", "keeper", 1), begin, 2, None, "told");
        let asks = begin + NETWORK + 100 * US + lot(at + 1, 60 * US);
        let (answer, then) = story.call(
            StoryFlow("keeper", "names", 2),
            asks,
            100 * US + lot(at + 2, 400 * US),
            notified,
        );
        let out = StoryFlow("keeper", "carrier", 100 + at);
        let (ready, then) = story.call(out, then + 40 * US, 200 * US + lot(at + 3, 9 * MS), answer);
        story.call(out, then + 20 * US, 2 * MS + lot(at + 4, 20 * MS), ready);
    }
    story.assert_right(0.97, &["told", "work", "answer"]);
}
