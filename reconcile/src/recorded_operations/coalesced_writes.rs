//! Coalesced writes: commands that a client sends in one call on behalf of several requests that it
//! serves. An event loop reads the requests of many clients, and writes the resulting commands
//! together. One read may bring all answers, so that it never sends again before these arrive
//! ([`super::interleaved`]). Two facts distinguish its commands from a pipeline, which has one
//! cause:
//!
//! - No call has more commands than requests wait, though at times fewer requests wait than there
//!   are commands in the largest call.
//! - Each command is also sent alone at times.

use message_trace::PathError;
use out_of_core::{NameId, SpillableVec};
use protocols::MessageRole;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::recorded_operations::operation::RecordedOperation;
use crate::tuning::{MIN_SENT_ALONE, MIN_SENT_TOGETHER, SENT_TOGETHER_PER_EXCEPTION};

/// Counts of the commands that a flow's client sends.
#[derive(Debug, Default)]
struct SentCommands {
    /// Number of times that each command is the only one of its call, by its name.
    alone: FxHashMap<NameId, usize>,
    /// Number of times that each command is in a call with others, by its name.
    coalesced: FxHashMap<NameId, usize>,
    /// Number of calls with several commands, by the number of these and the number of waiting
    /// requests.
    calls: FxHashMap<(usize, usize), usize>,
}

impl SentCommands {
    /// Adds a call with these commands, sent while `waiting` requests wait.
    fn add_call(&mut self, names: &[NameId], waiting: usize) {
        let counts = if names.len() > 1 { &mut self.coalesced } else { &mut self.alone };
        names.iter().for_each(|name| *counts.entry(*name).or_default() += 1);
        if names.len() > 1 {
            *self.calls.entry((names.len(), waiting)).or_default() += 1;
        }
    }

    /// Whether each command of a call has its own cause.
    fn serves_several(&self) -> bool {
        let all: usize = self.coalesced.values().sum();
        let is_alone =
            |name: &NameId| self.alone.get(name).is_some_and(|count| *count >= MIN_SENT_ALONE);
        let never: usize =
            self.coalesced.iter().filter(|(name, _)| !is_alone(name)).map(|(_, count)| count).sum();
        let most = self.calls.keys().map(|(commands, _)| *commands).max().unwrap_or(0);
        // If many requests always wait, no call could have more commands, whatever causes them.
        let tested = self.calls.iter().filter(|((_, waiting), _)| *waiting < most);
        let beyond = tested.clone().filter(|((commands, waiting), _)| commands > waiting);
        let beyond: usize = beyond.map(|(_, count)| count).sum();
        let tested: usize = tested.map(|(_, count)| count).sum();
        tested >= MIN_SENT_TOGETHER
            && beyond * SENT_TOGETHER_PER_EXCEPTION <= tested
            && never * SENT_TOGETHER_PER_EXCEPTION <= all
    }
}

/// A request that the log's process serves, the response to one, or a command that it sends.
#[derive(Clone, Copy)]
struct ServerEvent {
    ticks: u64,
    flow: u32,
    is_received: bool,
    /// Number of bytes in the call before the message.
    at: u32,
    role: MessageRole,
    name: NameId,
    call: Option<u64>,
}

impl ServerEvent {
    fn from_operation(of: &RecordedOperation) -> ServerEvent {
        let RecordedOperation { ticks, flow, at, role, name, call, .. } = *of;
        ServerEvent { ticks, flow, is_received: of.is_received(), at, role, name, call }
    }

    /// The time and the flow, which are the same for all operations that one call moves.
    fn call_key(&self) -> (u64, u32, bool) {
        (self.ticks, self.flow, self.is_received)
    }

    /// Whether the event is a request that the log's process serves, or the response.
    fn is_served(&self) -> bool {
        matches!(
            (self.role, self.is_received),
            (MessageRole::Request, true) | (MessageRole::Response, false)
        )
    }

    /// Whether the event is a command that the log's process sends, without an id.
    fn is_sent(&self) -> bool {
        self.role == MessageRole::Request && !self.is_received && self.call.is_none()
    }
}

/// The flows of a log on which commands without ids are sent together for several requests, sorted.
/// `operations` are the log's, in any order.
///
/// # Errors
/// Fails if a temporary file cannot be written.
pub(super) fn find_coalesced_flows(
    operations: &SpillableVec<RecordedOperation>,
) -> Result<Vec<u32>, PathError> {
    let events = operations
        .iter()
        .map(ServerEvent::from_operation)
        .filter(|of| of.is_served() || of.is_sent());
    let mut events = SpillableVec::collect(operations.pool(), events)?;
    events.sort_by_key(|of| (of.call_key(), of.at))?;
    let mut waiting = WaitingRequests::default();
    let mut sent: FxHashMap<u32, SentCommands> = FxHashMap::default();
    let mut begin = 0;
    while let Some(first) = events.get(begin) {
        let end = events.end_where(begin, |of| of.call_key() == first.call_key());
        let call = events.slice(begin..end);
        let names: Vec<NameId> = call.iter().filter(|of| of.is_sent()).map(|of| of.name).collect();
        if !names.is_empty() {
            sent.entry(first.flow).or_default().add_call(&names, waiting.len());
        }
        call.iter().filter(|of| of.is_served()).for_each(|of| waiting.take_event(of));
        begin = end;
    }
    let mut flows: Vec<u32> =
        sent.into_iter().filter(|(_, sent)| sent.serves_several()).map(|(flow, _)| flow).collect();
    flows.sort_unstable();
    Ok(flows)
}

/// The requests that wait for their responses.
#[derive(Debug, Default)]
struct WaitingRequests {
    /// Requests with ids, by flow and id.
    with_ids: FxHashSet<(u32, u64)>,
    /// Number of requests without ids, by flow.
    others: FxHashMap<u32, usize>,
    /// Sum of the numbers in `others`.
    all_others: usize,
}

impl WaitingRequests {
    /// Records a request, or the response to one.
    fn take_event(&mut self, of: &ServerEvent) {
        let others = self.others.entry(of.flow).or_default();
        match (of.role == MessageRole::Request, of.call) {
            (true, Some(id)) => {
                self.with_ids.insert((of.flow, id));
            }
            (false, Some(id)) => {
                self.with_ids.remove(&(of.flow, id));
            }
            (true, None) => (*others, self.all_others) = (*others + 1, self.all_others + 1),
            (false, None) if *others > 0 => {
                (*others, self.all_others) = (*others - 1, self.all_others - 1);
            }
            (false, None) => {}
        }
    }

    fn len(&self) -> usize {
        self.with_ids.len() + self.all_others
    }
}

#[cfg(test)]
mod tests {
    use out_of_core::MemoryPool;
    use socket_log::encode::Direction;

    use super::*;

    /// The coalesced flows of a process that serves requests on flow 1 and sends commands on flow
    /// 7. `+` is a request and `-` a response to it, `a` and `b` are commands; each word is a call.
    fn coalesced_flows(words: &str, has_ids: bool) -> Vec<u32> {
        let mut operations = Vec::new();
        let (mut begun, mut ended) = (0, 0);
        for (ticks, word) in (10..).zip(words.split(' ')) {
            for (at, letter) in (0..).zip(word.chars()) {
                let (flow, direction, role, count) = match letter {
                    '+' => (1, Direction::Receive, MessageRole::Request, &mut begun),
                    '-' => (1, Direction::Send, MessageRole::Response, &mut ended),
                    _ => (7, Direction::Send, MessageRole::Request, &mut 0),
                };
                *count += 1;
                let call = (flow == 1 && has_ids).then_some(*count);
                let name = NameId::from_index(letter as usize);
                operations.push(RecordedOperation {
                    role,
                    call,
                    name,
                    ..RecordedOperation::from_place(flow, direction, ticks, at)
                });
            }
        }
        // In any order.
        operations.reverse();
        find_coalesced_flows(&SpillableVec::collect(&MemoryPool::default(), operations).unwrap())
            .unwrap()
    }

    /// Repeats each of these a number of times, one after the other.
    fn often(all: &[&str]) -> String {
        all.iter().map(|words| [*words; 40].join(" ")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn commands_that_are_also_sent_alone_have_a_cause_each() {
        for has_ids in [false, true] {
            let mixed = often(&["+++ aba ---", "+ a -", "+ b -", "++ ab a --"]);
            assert_eq!(coalesced_flows(&mixed, has_ids), [7]);
        }
    }

    #[test]
    fn a_pipeline_has_more_commands_than_requests_wait_or_none_alone() {
        assert_eq!(coalesced_flows(&often(&["+ aba -", "+ a -", "+ b -"]), true), [0; 0]);
        // One call with several commands at a time of many waiting requests is enough.
        assert_eq!(
            coalesced_flows(&often(&["+++ aba ---", "+ aba -", "+ a -", "+ b -"]), true),
            [0; 0]
        );
        let without_b = ["++++ abab ----", "++ ab --", "+ a -"];
        assert_eq!(coalesced_flows(&often(&without_b), true), [0; 0], "never b alone");
        assert_eq!(coalesced_flows(&often(&[&without_b[..], &["+ b -"]].concat()), true), [7]);
        assert_eq!(coalesced_flows("+++ aba --- + a - + b -", true), [0; 0], "too few");
        assert_eq!(coalesced_flows(&often(&["+ a -", "+ b -"]), true), [0; 0], "none together");
        // There are always more waiting requests than commands in any call.
        let busy = format!("++++ {}", often(&["+ ab -", "+ a -", "+ b -"]));
        assert_eq!(coalesced_flows(&busy, true), [0; 0]);
    }
}
