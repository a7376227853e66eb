//! Activity of a thread between two of its calls on one socket: before it sends again, whether a
//! new message reached it on another flow, so that the send may be about something else; before it
//! receives again, whether it began to send on another flow, so that the bytes received so far were
//! a message. If many calls share one connection, these are the boundaries between them.

use rustc_hash::FxHashMap;

use crate::indices::SocketIndex;
use crate::tuning::MAX_FLOWS_OF_A_THREAD;

/// The flows of the thread of the calls that are being read. A log has them thread by thread, chunk
/// by chunk; when another thread's chunk begins the state is cleared, so a boundary may be missed
/// there.
#[derive(Debug, Default)]
pub(crate) struct ThreadActivity {
    tid: i32,
    flows: FxHashMap<SocketIndex, ThreadFlow>,
    /// Number of messages that the thread has begun to send, and to receive.
    begun: [u32; 2],
}

/// One of the thread's flows.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadFlow {
    /// The direction of its latest call: 0 sent, 1 received.
    direction: Option<usize>,
    /// Messages that have begun on this flow.
    begun: [u32; 2],
    /// By direction: the number of messages on other flows, plus one, at the latest call of that
    /// direction (sent: messages that arrived; received: messages that the thread sent). 0: no call
    /// in that direction yet.
    others: [u32; 2],
}

impl ThreadActivity {
    /// Adds a thread's next call that moved bytes of a stream. Returns whether the thread did
    /// something else since its last call in the same direction on this flow. A message begins if
    /// the thread's previous call on its flow was in the other direction, or there was none.
    pub(crate) fn add_call(&mut self, tid: i32, socket: SocketIndex, sent: bool) -> bool {
        if tid != self.tid || self.flows.len() >= MAX_FLOWS_OF_A_THREAD {
            self.flows.clear();
            (self.tid, self.begun) = (tid, [0; 2]);
        }
        let flow = self.flows.entry(socket).or_default();
        let direction = usize::from(!sent);
        if flow.direction != Some(direction) {
            flow.direction = Some(direction);
            flow.begun[direction] += 1;
            self.begun[direction] += 1;
        }
        let others = self.begun[1 - direction] - flow.begun[1 - direction] + 1;
        let before = std::mem::replace(&mut flow.others[direction], others);
        before != 0 && before != others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flags of calls, each a socket and whether it sent, of one thread.
    fn flags(calls: &[(usize, bool)]) -> Vec<bool> {
        let mut elsewhere = ThreadActivity::default();
        let flag = |(socket, sent): &(usize, bool)| {
            elsewhere.add_call(7, SocketIndex::from_index(*socket), *sent)
        };
        calls.iter().map(flag).collect()
    }

    #[test]
    fn a_new_message_on_another_flow_sets_the_flag() {
        // A request on 1 makes the thread send on 2, twice; a request on 3, once more.
        let calls = [(1, false), (2, true), (2, true), (3, false), (2, true)];
        assert_eq!(flags(&calls), [false, false, false, false, true]);
        // The bytes that the thread passed on before it received more were a message.
        assert_eq!(
            flags(&[(1, false), (1, false), (2, true), (1, false)]),
            [false, false, false, true]
        );
        // An answer on its own flow is not a message of another flow.
        assert_eq!(flags(&[(2, true), (2, false), (2, true)]), [false; 3]);
    }

    #[test]
    fn the_rest_of_a_message_is_not_a_new_one() {
        // A body that is passed on piece by piece counts once.
        let body = [(1, false), (2, true), (1, false), (2, true), (1, false), (2, true)];
        assert_eq!(flags(&body), [false, false, true, false, false, false]);
        // The thread answered on 1 in between, so the next bytes there are new.
        let next = [(1, false), (2, true), (1, true), (1, false), (2, true)];
        assert!(flags(&next)[4]);
    }

    #[test]
    fn each_thread_is_tracked_separately() {
        let mut elsewhere = ThreadActivity::default();
        let calls = [(7, 2, true), (8, 1, false), (7, 2, true)];
        let calls = calls.map(|(tid, socket, sent)| (tid, SocketIndex::from_index(socket), sent));
        assert!(!calls.iter().any(|(tid, socket, sent)| elsewhere.add_call(*tid, *socket, *sent)));
    }
}
