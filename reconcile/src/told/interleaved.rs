//! Connections that many causes share though their protocol has no ids: a client that asks again
//! while others still wait for their answers, as those of an event loop do. What one call sends
//! there is of as many causes as it has requests. Where a client waits for all answers before it
//! asks again, what it sends at once is one pipeline, which one thread made.

use protocols::Role;
use rustc_hash::FxHashMap;

use crate::told::operation::Operation;
use crate::tuning::{ASKED_PER_AGAIN, MIN_ASKED_AGAIN};

/// The flows of a log on which requests are sent while others wait, sorted. `operations` are those
/// of the log, in any order.
pub(super) fn flows<'a>(operations: impl Iterator<Item = &'a Operation>) -> Vec<u32> {
    // Of each flow, when its client asked, and when it heard of an answer.
    let mut heard: FxHashMap<u32, Vec<(u64, bool)>> = FxHashMap::default();
    for operation in operations.filter(|operation| operation.call.is_none()) {
        let asks = match (operation.role, operation.is_received()) {
            (Role::Request, false) => true,
            (Role::Response, true) => false,
            _ => continue,
        };
        heard.entry(operation.flow).or_default().push((operation.ticks, asks));
    }
    let mut flows: Vec<u32> = heard
        .into_iter()
        .filter_map(|(flow, mut events)| {
            events.sort_unstable();
            // One call that asks for several things is one.
            events.dedup();
            let asked = events.iter().filter(|(_, asks)| *asks).count();
            let again = events.windows(2).filter(|pair| pair.iter().all(|(_, asks)| *asks)).count();
            (again >= MIN_ASKED_AGAIN && again * ASKED_PER_AGAIN >= asked).then_some(flow)
        })
        .collect();
    flows.sort_unstable();
    flows
}

#[cfg(test)]
mod tests {
    use socket_log::encode::Direction;

    use super::*;

    /// What is said on flow 7, a letter an operation: `q` asks, `a` answers, and what follows a
    /// space is of another call.
    fn said(words: &str, is_client: bool, call: Option<u64>) -> Vec<u32> {
        let mut operations = Vec::new();
        for (ticks, word) in (10..).zip(words.split(' ')) {
            for (at, letter) in (0..).zip(word.chars()) {
                let asks = letter == 'q';
                let direction = match asks == is_client {
                    true => Direction::Send,
                    false => Direction::Receive,
                };
                operations.push(Operation {
                    role: if asks { Role::Request } else { Role::Response },
                    call,
                    ..Operation::at(7, direction, ticks, at)
                });
            }
        }
        flows(operations.iter())
    }

    #[test]
    fn who_asks_again_before_the_answer_asks_for_several() {
        let interleaved = "qq q aaa q q a a ".repeat(20);
        let interleaved = interleaved.trim_end();
        assert_eq!(said(interleaved, true, None), [7]);
        // A server reads all that has come before it answers, whoever asked.
        assert_eq!(said(interleaved, false, None), [0; 0]);
        assert_eq!(said(interleaved, true, Some(3)), [0; 0]);
    }

    #[test]
    fn a_pipeline_that_is_waited_for_is_of_one_cause() {
        let waited = "qqq aaa q a qq a a ".repeat(20);
        assert_eq!(said(waited.trim_end(), true, None), [0; 0]);
        // Answers that were not kept, or one command that was sent in parts, are no sign of it.
        let some = format!("{}q q a q q a", waited.repeat(3));
        assert_eq!(said(&some, true, None), [0; 0]);
        assert_eq!(said("q q q q", true, None), [0; 0]);
    }
}
