//! Operations of a log: passes its snippets to the protocols, flow by flow.

use crate::{Conversation, FlowSnippet, FlowSpeaker, LogPosition, SnippetRule, SpokenOperation};
use rustc_hash::FxHashMap;
use socket_log::encode::{Direction, FlowRole};
use socket_log::layout::snippet;
use socket_log::{LogRecord, SocketLog};

use crate::operations::entry::OperationEntry;
use crate::operations::in_order;
use crate::operations::tuning::MAX_CONVERSATIONS;

/// Operations recognised from a log's snippets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecognisedOperations {
    /// Operations, in the order of their times.
    pub entries: Vec<OperationEntry>,
    /// Number of blank snippets; the operations of blank snippets are in a file next to the log.
    pub blank: u64,
}

/// Operations of the messages in `log`.
pub fn operations_of_log(log: &SocketLog) -> RecognisedOperations {
    let mut flows = SnippetFlows::default();
    let wanted = |entry: &socket_log::LogEntry| {
        let record = &entry.record;
        matches!(record, LogRecord::Head(_) | LogRecord::Endpoints { .. })
    };
    in_order::for_each_in_order(log, wanted, |entry| flows.process_entry(&entry));
    flows.finish_flows();
    // The operation of a message may become known only with the next message.
    flows.entries.sort_by_key(|entry| {
        let place = entry.operation.place;
        (place.ticks, entry.flow, place.at)
    });
    RecognisedOperations { entries: flows.entries, blank: flows.blank }
}

/// Flows of a log.
#[derive(Default)]
struct SnippetFlows {
    /// Which end of each flow the process is.
    roles: FxHashMap<u32, FlowRole>,
    talks: FxHashMap<u32, FlowTranscript>,
    /// Number of snippets so far that are not blank.
    snippets: u64,
    /// Number of blank snippets so far.
    blank: u64,
    entries: Vec<OperationEntry>,
    operations: Vec<SpokenOperation>,
}

/// Conversation of one flow.
struct FlowTranscript {
    conversation: Conversation,
    /// Whether the conversation is the plaintext of an encrypted flow.
    is_plain: bool,
    /// Direction of the client's messages.
    from_client: Direction,
    /// Number of the latest snippet.
    latest: u64,
    /// Whether the latest snippet of each direction was not blank.
    is_taken: [bool; 2],
}

impl SnippetFlows {
    fn process_entry(&mut self, entry: &socket_log::LogEntry) {
        match &entry.record {
            LogRecord::Endpoints {
                flow,
                role: role @ (FlowRole::Connect | FlowRole::Accept),
                ..
            } => {
                self.roles.insert(*flow, *role);
            }
            LogRecord::Head(head) if self.is_blank_snippet(head) => {
                self.blank += 1;
                if let Some(talk) = self.talks.get_mut(&head.flow) {
                    talk.is_taken[direction_index(head.direction)] = false;
                }
            }
            LogRecord::Head(head) => self.process_snippet(entry.ticks, head),
            _ => {}
        }
    }

    /// Whether a snippet was blanked: all its bytes are zeros. Zeros may also be data if they
    /// continue bytes that were taken: a zero length that was sent from a buffer of its own.
    fn is_blank_snippet(&self, head: &socket_log::Snippet) -> bool {
        let goes_on = || {
            let talk = self.talks.get(&head.flow);
            head.continues
                && talk.is_some_and(|talk| talk.is_taken[direction_index(head.direction)])
        };
        head.bytes.iter().all(|byte| *byte == 0) && !goes_on()
    }

    fn process_snippet(&mut self, ticks: u64, head: &socket_log::Snippet) {
        self.snippets += 1;
        if self.talks.len() >= MAX_CONVERSATIONS && !self.talks.contains_key(&head.flow) {
            self.evict_least_recent();
        }
        let role = self.roles.get(&head.flow);
        let talk = self.talks.entry(head.flow).or_insert_with(|| FlowTranscript {
            conversation: Conversation::new(),
            is_plain: head.plain,
            from_client: from_client(role, head),
            latest: 0,
            is_taken: [false; 2],
        });
        talk.latest = self.snippets;
        talk.is_taken[direction_index(head.direction)] = true;
        if head.plain && !talk.is_plain {
            // The earlier part led to encryption, and the plaintext is a new conversation.
            talk.is_plain = true;
            let mut before = std::mem::take(&mut talk.conversation);
            before.finish_conversation(&mut self.operations);
            let found = self.operations.drain(..);
            self.entries.extend(found.map(|said| talk.to_entry(head.flow, said)));
        }
        let is_client = head.direction == talk.from_client;
        let piece = FlowSnippet {
            speaker: if is_client { FlowSpeaker::Client } else { FlowSpeaker::Server },
            class: snippet_rule(head.class),
            bytes: &head.bytes,
            continues: head.continues,
            begins_turn: !head.continues,
            cut: head.cut,
            datagram: head.datagram,
            place: LogPosition { ticks, at: head.offset },
        };
        talk.conversation.add_snippet(&piece, &mut self.operations);
        let found = self.operations.drain(..);
        self.entries.extend(found.map(|said| talk.to_entry(head.flow, said)));
    }

    /// Collects what is known of incomplete messages.
    fn finish_flows(&mut self) {
        let mut talks: Vec<(u32, FlowTranscript)> = self.talks.drain().collect();
        talks.sort_unstable_by_key(|(flow, _)| *flow);
        for (flow, mut talk) in talks {
            talk.conversation.finish_conversation(&mut self.operations);
            let found = self.operations.drain(..);
            self.entries.extend(found.map(|said| talk.to_entry(flow, said)));
        }
    }

    /// Evicts half of the conversations: those that have been silent for the longest time.
    fn evict_least_recent(&mut self) {
        let mut latest: Vec<u64> = self.talks.values().map(|talk| talk.latest).collect();
        let middle = latest.len() / 2;
        let (_, middle, _) = latest.select_nth_unstable(middle);
        let middle = *middle;
        let (kept, forgotten) = self.talks.drain().partition(|(_, talk)| talk.latest > middle);
        self.talks = forgotten;
        self.finish_flows();
        self.talks = kept;
    }
}

impl FlowTranscript {
    /// Converts an operation of a flow to an entry, with the direction of its sender.
    fn to_entry(&self, flow: u32, said: SpokenOperation) -> OperationEntry {
        let direction = match said.speaker {
            FlowSpeaker::Client => self.from_client,
            FlowSpeaker::Server => opposite_direction(self.from_client),
        };
        OperationEntry { flow, direction, operation: said.operation }
    }
}

/// Index of a direction.
fn direction_index(direction: Direction) -> usize {
    usize::from(direction == Direction::Receive)
}

/// Direction of the client's messages on a flow: away from the side that connected. If that side is
/// not known, the first sender counts as the client, unless its message is a response.
fn from_client(role: Option<&FlowRole>, first: &socket_log::Snippet) -> Direction {
    match role {
        Some(FlowRole::Connect) => Direction::Send,
        Some(FlowRole::Accept) => Direction::Receive,
        _ if first.bytes.starts_with(b"HTTP/") => opposite_direction(first.direction),
        _ => first.direction,
    }
}

fn opposite_direction(direction: Direction) -> Direction {
    match direction {
        Direction::Send => Direction::Receive,
        Direction::Receive => Direction::Send,
    }
}

fn snippet_rule(class: u8) -> SnippetRule {
    match class {
        snippet::HTTP1 => SnippetRule::Http1,
        snippet::HTTP2 => SnippetRule::Http2,
        _ => SnippetRule::Other,
    }
}
