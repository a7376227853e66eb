//! Queues that are hardly ever empty, in handwritten traces.

use super::queue_story::{ALL, NETWORK, Story, StoryFlow, US, popping_workers};
use super::tests::{MS, lot};

#[test]
fn a_busy_worker_receives_pushes_in_fifo_order() {
    // The queue is hardly ever empty: jobs of a burst wait, and only the very first one was
    // awaited.
    let pushes: Vec<i64> = (0..150).map(|at| 3000 * MS + 2 * MS * at + lot(at, MS)).collect();
    popping_workers(&pushes, 1).assert_right(1.0, &ALL[..7]);
}

/// A broker that answers each push with the current length of the queue, so that responses become
/// longer. Two producers push 250 jobs, two at a time, and make a lookup after each; a worker that
/// has waited gets the jobs one by one. `late` is the delay with which the broker notifies the
/// worker of the first job.
fn counted(late: i64) -> Story {
    let mut story = Story::default();
    let worker = StoryFlow("worker#1", "broker", 100);
    let mut asked = (0, story.ask(worker, 0, 32, None, "poll"));
    let mut pushed: Vec<(i64, usize)> = Vec::new();
    for number in 0..250 {
        let name = ["shop#1", "shop#2"][number % 2];
        let on = StoryFlow(name, "broker", number as i64 % 2);
        let sent = 500 * MS + (number / 2) as i64 * MS + (number % 2) as i64 * 20 * US;
        let sent = sent + lot(number as i64, 10 * US);
        let push = story.ask(on, sent, 925, None, "push");
        let digits = if number < 10 {
            1
        } else if number < 100 {
            2
        } else {
            3
        };
        story.reply(on, sent + NETWORK + 10 * US, 3 + digits, push, "pushed");
        let look = story.ask(on, sent + 200 * US, 58, None, "look");
        story.reply(on, sent + 220 * US + NETWORK, 62, look, "seen");
        pushed.push((sent + NETWORK, push));
    }
    let mut first = late;
    for (came, push) in pushed {
        let at = came.max(asked.0 + NETWORK) + 20 * US + std::mem::take(&mut first);
        let given = story.reply(worker, at, 914, push, "delivery");
        let begin = at + NETWORK + 200 * US + lot(at, 100 * US);
        let (_, done) =
            story.call(StoryFlow("worker#1", "store", 7), begin, MS + lot(at + 1, MS), given);
        let again = done + 100 * US;
        asked = (again, story.ask(worker, again, 32, None, "poll"));
    }
    let empty = asked.0 + 1000 * MS;
    story.reply(worker, empty, 5, asked.1, "nothing");
    story
}

#[test]
fn pushes_with_growing_responses_are_one_kind() {
    counted(0).assert_right(1.0, &["push", "pushed", "delivery", "work", "answer"]);
}

#[test]
fn a_broker_may_read_several_pushes_before_it_notifies_a_worker() {
    counted(80 * US).assert_right(1.0, &["push", "pushed", "delivery", "work", "answer"]);
}
