//! Operations of a log: the heads in it, given to the protocols flow by flow.

use crate::{Class, Conversation, Piece, Place, Said, Speaker};
use rustc_hash::FxHashMap;
use socket_log::encode::{Direction, Role};
use socket_log::layout::head;
use socket_log::{Log, Record};

use crate::operations::entry::Entry;
use crate::operations::in_order;
use crate::operations::tuning::MAX_CONVERSATIONS;

/// Operations that a log's heads tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Operations, in the order of their times.
    pub entries: Vec<Entry>,
    /// Number of heads that are blank: what they told is in a file beside the log.
    pub blank: u64,
}

/// Operations of the messages in `log`.
pub fn of_log(log: &Log) -> Told {
    let mut flows = Flows::default();
    let wanted = |entry: &socket_log::Entry| {
        let record = &entry.record;
        matches!(record, Record::Head(_) | Record::Endpoints { .. })
    };
    in_order::for_each(log, wanted, |entry| flows.take(&entry));
    flows.finish();
    // The one of a message may be known only when the next one comes.
    flows.entries.sort_by_key(|entry| {
        let place = entry.operation.place;
        (place.ticks, entry.flow, place.at)
    });
    Told { entries: flows.entries, blank: flows.blank }
}

/// Flows of a log.
#[derive(Default)]
struct Flows {
    /// Which end of each flow the process is.
    roles: FxHashMap<u32, Role>,
    talks: FxHashMap<u32, Talk>,
    /// Number of heads so far, and of blank ones.
    heads: u64,
    blank: u64,
    entries: Vec<Entry>,
    found: Vec<Said>,
}

/// What is said on one flow.
struct Talk {
    conversation: Conversation,
    /// Whether it is plain text that is encrypted on the flow.
    is_plain: bool,
    /// Direction in which the client's messages go.
    from_client: Direction,
    /// Number of the latest head.
    latest: u64,
    /// Whether the latest head of each direction was not blank.
    is_taken: [bool; 2],
}

impl Flows {
    fn take(&mut self, entry: &socket_log::Entry) {
        match &entry.record {
            Record::Endpoints { flow, role: role @ (Role::Connect | Role::Accept), .. } => {
                self.roles.insert(*flow, *role);
            }
            Record::Head(head) if self.is_blank(head) => {
                self.blank += 1;
                if let Some(talk) = self.talks.get_mut(&head.flow) {
                    talk.is_taken[index(head.direction)] = false;
                }
            }
            Record::Head(head) => self.head(entry.ticks, head),
            _ => {}
        }
    }

    /// Whether names were put in the place of a head: all its bytes are zeros. Bytes may be zeros
    /// by themselves, where they go on with some that were taken: a length of nothing, in a buffer
    /// of its own.
    fn is_blank(&self, head: &socket_log::Head) -> bool {
        let goes_on = || {
            let talk = self.talks.get(&head.flow);
            head.continues && talk.is_some_and(|talk| talk.is_taken[index(head.direction)])
        };
        head.bytes.iter().all(|byte| *byte == 0) && !goes_on()
    }

    fn head(&mut self, ticks: u64, head: &socket_log::Head) {
        self.heads += 1;
        if self.talks.len() >= MAX_CONVERSATIONS && !self.talks.contains_key(&head.flow) {
            self.forget_the_most_silent();
        }
        let role = self.roles.get(&head.flow);
        let talk = self.talks.entry(head.flow).or_insert_with(|| Talk {
            conversation: Conversation::new(),
            is_plain: head.plain,
            from_client: from_client(role, head),
            latest: 0,
            is_taken: [false; 2],
        });
        talk.latest = self.heads;
        talk.is_taken[index(head.direction)] = true;
        if head.plain && !talk.is_plain {
            // What was said before led to encryption, and what follows begins anew.
            talk.is_plain = true;
            let mut before = std::mem::take(&mut talk.conversation);
            before.finish(&mut self.found);
            let found = self.found.drain(..);
            self.entries.extend(found.map(|said| talk.entry(head.flow, said)));
        }
        let is_client = head.direction == talk.from_client;
        let piece = Piece {
            speaker: if is_client { Speaker::Client } else { Speaker::Server },
            class: class(head.class),
            bytes: &head.bytes,
            continues: head.continues,
            begins_turn: !head.continues,
            cut: head.cut,
            datagram: head.datagram,
            place: Place { ticks, at: head.offset },
        };
        talk.conversation.take(&piece, &mut self.found);
        let found = self.found.drain(..);
        self.entries.extend(found.map(|said| talk.entry(head.flow, said)));
    }

    /// Takes what is known of messages that never became whole.
    fn finish(&mut self) {
        let mut talks: Vec<(u32, Talk)> = self.talks.drain().collect();
        talks.sort_unstable_by_key(|(flow, _)| *flow);
        for (flow, mut talk) in talks {
            talk.conversation.finish(&mut self.found);
            let found = self.found.drain(..);
            self.entries.extend(found.map(|said| talk.entry(flow, said)));
        }
    }

    /// Forgets half of the conversations: those that were silent for longest.
    fn forget_the_most_silent(&mut self) {
        let mut latest: Vec<u64> = self.talks.values().map(|talk| talk.latest).collect();
        let middle = latest.len() / 2;
        let (_, middle, _) = latest.select_nth_unstable(middle);
        let middle = *middle;
        let (kept, forgotten) = self.talks.drain().partition(|(_, talk)| talk.latest > middle);
        self.talks = forgotten;
        self.finish();
        self.talks = kept;
    }
}

impl Talk {
    /// What was said on a flow, with the direction in which whoever said it sends.
    fn entry(&self, flow: u32, said: Said) -> Entry {
        let direction = match said.speaker {
            Speaker::Client => self.from_client,
            Speaker::Server => other(self.from_client),
        };
        Entry { flow, direction, operation: said.operation }
    }
}

/// Place of a direction among both.
fn index(direction: Direction) -> usize {
    usize::from(direction == Direction::Receive)
}

/// Direction in which the client's messages go on a flow: away from the side that connected. Where
/// that is not known, whoever speaks first is taken for the client, unless it is an answer.
fn from_client(role: Option<&Role>, first: &socket_log::Head) -> Direction {
    match role {
        Some(Role::Connect) => Direction::Send,
        Some(Role::Accept) => Direction::Receive,
        _ if first.bytes.starts_with(b"HTTP/") => other(first.direction),
        _ => first.direction,
    }
}

fn other(direction: Direction) -> Direction {
    match direction {
        Direction::Send => Direction::Receive,
        Direction::Receive => Direction::Send,
    }
}

fn class(class: u8) -> Class {
    match class {
        head::HTTP1 => Class::Http1,
        head::HTTP2 => Class::Http2,
        _ => Class::Other,
    }
}
