//! Row resolution: sets the values of an import's messages that depend on all rows. Numbers of
//! nodes, threads and flows and the directions of conversations do not depend on the order of the
//! rows, and one copy is kept of messages in several files.

use message_trace::table::{self, MessageWriter};
use message_trace::{DataPath, Endpoint, FROM_ACCEPTING, FROM_CONNECTING, Message, MessageTrace};
use message_trace::{FlowId, NodeId, PathError};

use rustc_hash::FxHashMap;

use crate::conversations::{
    ConversationEnd, ConversationKey, ConversationOutcome, ConversationScope, Conversations,
};
use crate::copies::{ConversationDirection, FileCopies, direction_of_message, time_of};
use crate::tuning::MAX_COPIED_MESSAGES;

/// Code in `Message::direction` of unresolved rows: the sender's side of its conversation, and
/// which values the conversation is to provide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnresolvedDirection(i8);

impl UnresolvedDirection {
    /// Bit: the sender is the second side of its conversation.
    const SECOND_SIDE: i8 = 1;
    /// Bit: the direction is unresolved.
    const DIRECTION: i8 = 2;
    /// Bit: the flow is unresolved.
    const FLOW: i8 = 4;

    /// A message with direction and flow from the table.
    pub(crate) fn resolved(direction: i8) -> UnresolvedDirection {
        UnresolvedDirection(direction)
    }

    /// A message from `side` of a conversation, with unresolved flow and direction.
    pub(crate) fn unresolved_flow_and_direction(side: usize) -> UnresolvedDirection {
        UnresolvedDirection(
            side as i8 & UnresolvedDirection::SECOND_SIDE
                | UnresolvedDirection::DIRECTION
                | UnresolvedDirection::FLOW,
        )
    }

    /// A message with unresolved flow and known direction.
    pub(crate) fn unresolved_flow(direction: i8) -> UnresolvedDirection {
        UnresolvedDirection(direction | UnresolvedDirection::FLOW)
    }

    /// A message from `side` of a conversation, with known flow and unresolved direction.
    pub(crate) fn with_known_flow(side: usize) -> UnresolvedDirection {
        UnresolvedDirection(
            side as i8 & UnresolvedDirection::SECOND_SIDE | UnresolvedDirection::DIRECTION,
        )
    }

    /// Encodes the value for storage in place of a direction.
    pub(crate) fn to_code(self) -> i8 {
        self.0
    }

    fn has_bit(self, bit: i8) -> bool {
        self.0 & bit != 0
    }
}

/// Values that depend on all rows.
pub(crate) struct RowResolver<'a> {
    /// Messages that several files contain.
    pub(crate) copies: FileCopies,
    /// Number of the first row of each file.
    pub(crate) files: &'a [u64],
    /// Final number of each node, by its provisional number.
    pub(crate) nodes: Vec<NodeId>,
    /// Final number of each thread without a numeric id, by its provisional number: -1, -2, and so
    /// on.
    pub(crate) threads: Vec<i32>,
    pub(crate) conversations: &'a Conversations,
    /// Inferred facts of each conversation, by its index.
    pub(crate) outcomes: Vec<ConversationOutcome>,
    /// Number of the first flow that the table does not name.
    pub(crate) first_flow: FlowId,
}

impl RowResolver<'_> {
    /// Whether no message changes.
    pub(crate) fn is_as_written(&self) -> bool {
        self.outcomes.is_empty()
            && self.copies.is_empty()
            && self.nodes.iter().zip(0..).all(|(number, place)| number.index() == place)
            && self.threads.iter().zip(1..).all(|(number, place)| *number == -place)
    }

    /// Writes the messages of the table `from`, resolved, to the table `to`.
    pub(crate) fn write_resolved(&self, from: &DataPath, to: &DataPath) -> Result<(), PathError> {
        let other_times = self.times_of_copies(from)?;
        let mut writer = MessageWriter::create(to)?;
        let mut number = 0;
        for batch in table::read_batches(from)? {
            let rows = MessageTrace::from_batch(from.as_path(), &batch?, self.nodes.len())?;
            for id in rows.ids() {
                let mut message = rows.message(id);
                let endpoints = [message.src_endpoint, message.dst_endpoint];
                let endpoints = endpoints.map(|id| rows.endpoint(id));
                let at = number;
                number += 1;
                if self.is_left_out(&message, endpoints, at) == Some(true) {
                    continue;
                }
                if let Some(times) = other_times.get(&at) {
                    times.fill_message(&mut message);
                }
                self.resolve_message(&mut message, endpoints);
                let mut number = |endpoint: Option<&Endpoint>| match endpoint {
                    Some(endpoint) => writer.intern(endpoint),
                    None => writer.unnamed_endpoint(),
                };
                let numbers = endpoints.map(&mut number);
                [message.src_endpoint, message.dst_endpoint] = numbers;
                writer.push(&message, rows.call_id(id))?;
            }
        }
        writer.finish()
    }

    /// Whether the row with this number is a copy that is left out, as
    /// [`FileCopies::is_left_out`] decides.
    fn is_left_out(
        &self,
        message: &Message,
        endpoints: [Option<&Endpoint>; 2],
        number: u64,
    ) -> Option<bool> {
        if self.copies.is_empty() {
            return None;
        }
        self.copies.is_left_out(&direction_between(message, endpoints), self.file_of(number))
    }

    /// File of a row.
    fn file_of(&self, number: u64) -> u32 {
        self.files.partition_point(|first| *first <= number).saturating_sub(1) as u32
    }

    /// Times from copies of messages, by the number of the row that is kept.
    fn times_of_copies(&self, from: &DataPath) -> Result<FxHashMap<u64, ImportedTimes>, PathError> {
        let mut times = FxHashMap::default();
        if self.copies.is_empty() || self.copies.messages > MAX_COPIED_MESSAGES {
            return Ok(times);
        }
        // Messages of each direction and file in the order of time, the kept ones first.
        let mut all = Vec::new();
        let mut directions = FxHashMap::default();
        let mut number = 0;
        for batch in table::read_batches(from)? {
            let rows = MessageTrace::from_batch(from.as_path(), &batch?, self.nodes.len())?;
            for message in rows.messages() {
                let endpoints = [message.src_endpoint, message.dst_endpoint];
                let endpoints = endpoints.map(|id| rows.endpoint(id));
                if let Some(is_left_out) = self.is_left_out(&message, endpoints, number) {
                    let next = directions.len() as u32;
                    let direction =
                        *directions.entry(direction_between(&message, endpoints)).or_insert(next);
                    let file = (is_left_out, self.file_of(number));
                    let place = (direction, file, time_of(&message), message.bytes, number);
                    all.push((place, ImportedTimes::from_message(&message)));
                }
                number += 1;
            }
        }
        all.sort_unstable();
        for of_direction in all.chunk_by(|(one, _), (other, _)| one.0 == other.0) {
            let mut of_files = of_direction.chunk_by(|(one, _), (other, _)| one.1 == other.1);
            let Some(kept) = of_files.next() else { continue };
            for copies in of_files {
                for (((.., number), _), (_, other)) in kept.iter().zip(copies) {
                    times.entry(*number).or_insert_with(ImportedTimes::default).fill_from(other);
                }
            }
        }
        Ok(times)
    }

    /// Sets the flow, direction, nodes and threads of a message to their final values.
    fn resolve_message(&self, message: &mut Message, endpoints: [Option<&Endpoint>; 2]) {
        let unresolved = UnresolvedDirection(message.direction);
        let side = usize::from(unresolved.has_bit(UnresolvedDirection::SECOND_SIDE));
        let place = if unresolved.has_bit(UnresolvedDirection::FLOW) {
            u32::try_from(message.flow.number()).ok()
        } else if unresolved.has_bit(UnresolvedDirection::DIRECTION) {
            let nothing = Endpoint::Other(String::new());
            let of =
                |node, at: usize| ConversationEnd::new(node, endpoints[at].unwrap_or(&nothing));
            let (from, to) = (of(message.src, 0), of(message.dst, 1));
            self.conversations.find_index(
                &ConversationKey::from_ends(ConversationScope::Flow(message.flow), from, to).0,
            )
        } else {
            None
        };
        let outcome = place.and_then(|place| self.outcomes.get(place as usize));
        let outcome = outcome.copied().unwrap_or_default();
        if unresolved.has_bit(UnresolvedDirection::FLOW) {
            message.flow = self.first_flow.advanced_by(i64::from(outcome.number));
        }
        let is_connecting = match unresolved.has_bit(UnresolvedDirection::DIRECTION) {
            true => side == outcome.connecting,
            false => side == 0,
        };
        message.direction = if is_connecting { FROM_CONNECTING } else { FROM_ACCEPTING };
        let node = |node: NodeId| self.nodes.get(node.index()).copied().unwrap_or(node);
        (message.src, message.dst) = (node(message.src), node(message.dst));
        let thread = |tid: i32| {
            let place = usize::try_from(-1 - i64::from(tid)).ok();
            place.and_then(|place| self.threads.get(place)).copied().unwrap_or(tid)
        };
        message.src_tid = message.src_tid.map(thread);
        message.dst_tid = message.dst_tid.map(thread);
    }
}

fn direction_between(
    message: &Message,
    endpoints: [Option<&Endpoint>; 2],
) -> ConversationDirection {
    let nothing = Endpoint::Other(String::new());
    direction_of_message(message, endpoints.map(|endpoint| endpoint.unwrap_or(&nothing)))
}

/// Times of a message, in the order of the table's columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ImportedTimes([Option<i64>; 6]);

impl ImportedTimes {
    fn from_message(message: &Message) -> ImportedTimes {
        let Message { send_first, send_last, recv_first, recv_last, send_ts, recv_ts, .. } =
            *message;
        ImportedTimes([send_first, send_last, recv_first, recv_last, send_ts, recv_ts])
    }

    /// Fills in times that are unknown so far.
    fn fill_from(&mut self, other: &ImportedTimes) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own = own.or(other));
    }

    /// Fills in the times of each end of a message that has none.
    fn fill_message(&self, message: &mut Message) {
        let ImportedTimes(own) = ImportedTimes::from_message(message);
        let ImportedTimes([send_first, send_last, recv_first, recv_last, send_ts, recv_ts]) = *self;
        if [own[0], own[1], own[4]].iter().all(Option::is_none) {
            (message.send_first, message.send_last) = (send_first, send_last);
            message.send_ts = send_ts;
        }
        if [own[2], own[3], own[5]].iter().all(Option::is_none) {
            (message.recv_first, message.recv_last) = (recv_first, recv_last);
            message.recv_ts = recv_ts;
        }
    }
}
